"""Queries of derivatives over the columns that manifests declare, for each engine, also through other derivatives."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.dialect.check import check_columns
from airflow_provider_odf.manifest.load import load
from tests.manifests import derived, polled

TYPED = "schema: [id BIGINT, city STRING]"
COLUMNS = "offset, op, system_time, event_time, id, city"
ENGINES = ("datafusion", "flink", "risingwave")


def problems(folder: Path, *queries: tuple[str, str], schema: str = TYPED) -> list[str]:
    """Return the problems of derivatives, each of the one before and the first one of the root."""
    read = f"{{kind: Csv, header: true, {schema}}}"
    (folder / "prices.yaml").write_text(polled("prices", '{kind: Url, url: "file:///in.csv"}', read))
    source = "prices"
    for number, (engine, query) in enumerate(queries):
        sql = f'{{kind: Sql, engine: {engine}, query: "{query}"}}'
        text = derived(f"d{number}", f"{{datasetRef: {source}, alias: t}}", sql)
        (folder / f"d{number}.yaml").write_text(text)
        source = f"d{number}"
    loaded = load([folder])
    assert loaded.problems == ()
    return [str(problem).removeprefix(f"{folder}/") for problem in check_columns(loaded.manifests)]


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("spark", "column cty does not exist (did you mean `city`?)"),
        ("flink", f"column cty does not exist (columns: {COLUMNS})"),
        ("risingwave", f"column cty does not exist (columns: {COLUMNS})"),
        (
            "datafusion",
            "No field named cty. The columns are t.offset, t.op, t.system_time, t.event_time, t.id, t.city. "
            "(did you mean `t.city`?)",
        ),
    ],
)
def test_a_column_that_the_input_does_not_declare(tmp_path: Path, engine: str, message: str) -> None:
    place = {"datafusion": 77, "flink": 72, "risingwave": 77, "spark": 72}[engine]
    assert problems(tmp_path, (engine, "SELECT event_time, cty FROM t")) == [f"d0.yaml:9:{place}: {message}"]


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("flink", "function uper is not supported by the flink translation"),
        ("risingwave", "function uper is not supported by the risingwave translation"),
        ("datafusion", "Invalid function 'uper'. (did you mean `upper`?)"),
    ],
)
def test_an_unknown_function(tmp_path: Path, engine: str, message: str) -> None:
    (problem,) = problems(tmp_path, (engine, "SELECT event_time, uper(city) AS c FROM t"))
    assert message in problem


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_of_a_derivative_are_those_of_its_query(tmp_path: Path, engine: str) -> None:
    """The system columns are there without being selected."""
    first = (engine, "SELECT event_time, id AS number FROM t")
    assert problems(tmp_path, first, ("datafusion", "SELECT event_time, op, number + 1 AS n FROM t")) == []
    (problem,) = problems(tmp_path, first, ("datafusion", "SELECT event_time, id FROM t"))
    assert "No field named id." in problem
    (problem,) = problems(tmp_path, first, ("spark", "SELECT event_time, id FROM t"))
    assert problem.endswith("column id does not exist (known: event_time, number, offset, op, system_time)")


@pytest.mark.parametrize("engine", ENGINES)
def test_without_types_only_a_run_knows(tmp_path: Path, engine: str) -> None:
    """A CSV without schema has the columns of its files, and a query of Spark has types that only Spark knows."""
    assert problems(tmp_path, (engine, "SELECT event_time, cty FROM t"), schema="separator: ';'") == []
    spark = ("spark", "SELECT event_time, id FROM t")
    assert problems(tmp_path, spark, (engine, "SELECT event_time, cty FROM t")) == []

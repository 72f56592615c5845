"""Problems of a transform's queries that need neither its inputs nor Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.dialect.check import check
from airflow_provider_odf.manifest.load import load

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: report
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        {inputs}
      transform:
        kind: Sql
        engine: {engine}
        queries:
          - alias: Step-1
            query: |
              {first}
          - query: >-
              {last}
"""
INPUTS = "[{datasetRef: com.acme.Orders}, {datasetRef: acme/parts, alias: p}]"
FIRST = 'SELECT * FROM "com.acme.Orders"'
ENGINES = ("spark", "datafusion", "flink", "risingwave")


def problems(folder: Path, engine: str, last: str, first: str = FIRST, inputs: str = INPUTS) -> list[str]:
    quoted = first.replace('"', "`"), last.replace('"', "`")
    first, last = quoted if engine in ("spark", "flink") else (first, last)
    file = folder / "report.yaml"
    file.write_text(MANIFEST.format(inputs=inputs, engine=engine, first=first, last=last))
    loaded = load([file], known=lambda ref: True)
    assert loaded.problems == ()
    return [str(problem).removeprefix(f"{file}:") for problem in check(loaded.manifests)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "query",
    [
        'SELECT * FROM "Step-1" AS x JOIN p ON x.id = p.id',
        'WITH a AS (SELECT * FROM "Step-1"), now AS (SELECT * FROM a) SELECT now.uuid AS random, "now" FROM now',
        "SELECT 'now() from nowhere' AS a FROM p WHERE id IN (SELECT id FROM \"com.acme.Orders\") -- rand()",
    ],
)
def test_queries_without_problems(tmp_path: Path, engine: str, query: str) -> None:
    assert problems(tmp_path, engine, query) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT id, Now( ) AS at FROM p", "18:26: Now has another value in each run"),
        ("SELECT CURRENT_DATE AS day, id FROM p", "18:22: CURRENT_DATE has another value in each run"),
        ("SELECT max(id + random()) AS x FROM p", "18:31: random has another value in each run"),
    ],
)
def test_values_of_the_run(tmp_path: Path, engine: str, query: str, problem: str) -> None:
    advice = " (take times and values from the data, or quote the name if it is a column)"
    assert problems(tmp_path, engine, query) == [problem + advice]


@pytest.mark.parametrize(
    ("engine", "unknown", "dotted"),
    [
        ("spark", "table Part does not exist", "18:60: table com.acme.Orders does not exist"),
        ("flink", "table Part does not exist", "18:60: table com.acme.Orders does not exist"),
        ("risingwave", "table part does not exist", "18:60: table com.acme.orders does not exist"),
        ("datafusion", "table 'Part' not found", "18:69: table 'com.acme.Orders' not found"),
    ],
)
def test_unknown_tables(tmp_path: Path, engine: str, unknown: str, dotted: str) -> None:
    tables = "" if engine == "datafusion" else " (tables: com.acme.orders, p, step-1)"
    assert problems(tmp_path, engine, "SELECT * FROM Part") == [f"18:29: {unknown}{tables}"]
    advice = "" if engine == "datafusion" else " (quote a name with dots as a whole)"
    query = "SELECT id FROM p WHERE id IN (SELECT id FROM com.acme.Orders)"
    assert problems(tmp_path, engine, query) == [dotted + advice]


def test_the_place_is_in_the_query_that_is_wrong(tmp_path: Path) -> None:
    assert problems(tmp_path, "spark", "SELECT * FROM p", "SELECT id\n              FROM `Step-1`") == [
        "17:20: table Step-1 does not exist (tables: com.acme.orders, p)"
    ]


@pytest.mark.parametrize(
    ("engine", "problem"),
    [
        ("datafusion", ["18:30: Expected: ), found: FROM"]),
        ("flink", ["18:30: Expecting ) at 'FROM'"]),
        ("risingwave", ["18:30: Expecting ) at 'FROM'"]),
        ("spark", ["18:22: '(' is not closed (close the bracket)"]),
    ],
)
def test_syntax(tmp_path: Path, engine: str, problem: list[str]) -> None:
    assert problems(tmp_path, engine, "SELECT (id + 1 FROM p") == problem


def test_names_of_inputs_that_only_a_store_knows(tmp_path: Path) -> None:
    inputs = f"[{{datasetRef: 'did:odf:fed01{'ab' * 32}'}}, {{datasetRef: 'file:///data/parts', alias: p}}]"
    assert problems(tmp_path, "spark", "SELECT * FROM x", "SELECT * FROM y", inputs) == []
    inputs = inputs.replace("'}", "', alias: y}", 1)
    assert problems(tmp_path, "spark", "SELECT * FROM x", "SELECT * FROM y", inputs) == [
        "18:29: table x does not exist (tables: p, step-1, y)"
    ]


def test_an_alias_that_is_an_input(tmp_path: Path) -> None:
    inputs = "[{datasetRef: com.acme.orders, alias: STEP-1}, {datasetRef: acme/parts, alias: p}]"
    assert problems(tmp_path, "spark", "SELECT * FROM p", "SELECT * FROM p", inputs) == [
        "15:20: alias Step-1 is already in use (choose another: aliases are case-insensitive)"
    ]


def test_the_examples_of_the_reference() -> None:
    loaded = load([Path(__file__).parents[1] / "reference_manifests"], known=lambda ref: True)
    assert len(loaded.manifests) == 11
    assert check(loaded.manifests) == []

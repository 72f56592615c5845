"""Each row that a derivative takes back is there, whatever evaluation makes the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import SqlQueryStep
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived
from tests.engine.transform.test_transform import day, person, reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERIES = {
    "row-wise": ("spark", "SELECT event_time, id, {name} AS name FROM people"),
    "union": (
        "spark",
        "SELECT event_time, id, {name} AS name FROM people UNION ALL SELECT event_time, v, sensor FROM readings",
    ),
    "join": ("spark", "SELECT p.event_time, p.id, {name} AS name FROM people p JOIN readings r ON r.v = p.id"),
    "DataFusion": ("datafusion", "SELECT event_time, id, {name} AS name FROM people"),
}  # fmt: skip


def _derived(spark: SparkSession, work: Path, kind: str, **inputs: Polled) -> Derived:
    engine, query = QUERIES[kind]
    of = Derived.of(spark, work / kind, query.format(name="name"), **inputs)
    of.engine = engine
    return of


@pytest.mark.usefixtures("form")
def test_a_row_that_is_not_there(spark: SparkSession, tmp_path: Path, people: Polled, readings: Polled) -> None:
    """The functions of a query may have other values in another release of Spark."""
    people.poll([person(1, "ann"), person(2, "bob")])
    readings.poll([reading(1, "a", 1)])
    derived = {kind: _derived(spark, tmp_path, kind, people=people, readings=readings) for kind in QUERIES}
    for of in derived.values():
        of.step()
    people.poll([person(1, "anna"), person(2, "bob")])
    for kind, of in derived.items():
        before = of.records
        of.queries = (SqlQueryStep(QUERIES[kind][1].format(name="upper(name)")),)
        with pytest.raises(InvalidQuery) as refusal:
            of.step()
        assert str(refusal.value) == (
            "transform: the new records take back a row that dataset derived does not have: (event_time=2024-04-01 "
            "00:00:00, id=1, name=ANN). So the query gave another result for the same rows of its inputs before. "
            "Nothing was written. If the query depends on more than these rows, change it; if another release of Spark "
            "computes it otherwise, keep it. Then run `odf reset derived` to compute all rows again"
        ), kind
        assert of.records == before, kind
        of.queries = (SqlQueryStep(QUERIES[kind][1].format(name="name")),)
        of.step()
        assert {row[1:] for row in of.rows} == {(1, "anna"), *([(2, "bob")] if kind != "join" else []),
                                                *([(1, "a")] if kind == "union" else [])}  # fmt: skip


def test_rows_that_come_and_go_within_a_run(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    """A derivative that sleeps gets several versions of a row at once, and takes back what the same slice adds."""
    of = Derived.of(spark, tmp_path / "d", "SELECT event_time, id, name FROM people", people=people)
    people.poll([person(1, "ann")])
    of.step()
    people.poll([person(1, "bob"), person(2, "eve")])
    people.poll([person(1, "ann")])
    people.poll([person(1, "bob")])
    of.step()
    assert of.evaluation == "row-wise"
    assert {row[1:] for row in of.rows} == {(1, "bob")}


def test_only_rows_of_their_event_times_are_read(
    spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled
) -> None:
    """Slices with other event times are pruned by their statistics, so that their pages are never read."""
    of = Derived.of(
        spark,
        tmp_path / "d",
        "SELECT event_time, sensor AS name FROM readings UNION ALL SELECT event_time, name FROM people",
        readings=readings,
        people=people,
    )
    people.poll([person(1, "ann")])
    readings.poll([reading(1, "a", 1)])
    of.step()
    readings.poll([reading(2, "b", 1)])
    of.step()
    spoiled = Path(of.history[1].path)
    content = spoiled.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    spoiled.write_bytes(b"PAR1" + bytes(len(content) - footer - 4) + content[-footer:])
    people.poll([person(1, "anna")])
    of.step()
    spoiled.write_bytes(content)
    assert set(of.rows) == {(day(1), "a"), (day(2), "b"), (of.records[-1][1][0], "anna")}

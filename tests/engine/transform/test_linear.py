"""Derivatives whose queries are linear in their new records: the other rows of an input are not read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived, Record
from tests.engine.transform.test_transform import day, person, reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOIN = "SELECT r.event_time, r.sensor, p.name FROM readings r JOIN people p ON p.id = r.v"

LINEAR: dict[str, tuple[str, list[Record]]] = {
    "join": (JOIN, [("+A", (day(3), "a", "bob")), ("+A", (day(3), "c", "bob"))]),
    "join that shows no key": (
        "SELECT r.event_time, upper(p.name) AS name FROM readings r JOIN people p ON p.id + 1 = r.v + 1",
        [("+A", (day(3), "BOB")), ("+A", (day(3), "BOB"))],
    ),
    "groups": (
        "SELECT max(event_time) AS event_time, sensor, count(*) AS `sum(odf:count)`, sum(v) AS total, min(v) AS least, "
        "count_if(v > 1) AS many FROM readings GROUP BY sensor",
        [
            ("-C", (day(1), "a", 1, 1, 1, 0)),
            ("+C", (day(3), "a", 2, 3, 1, 1)),
            ("+A", (day(3), "c", 1, 2, 2, 1)),
        ],
    ),
    "groups of a join, renamed": (
        "SELECT event_time, who AS name, n FROM (SELECT p.name AS who, count(1) AS n, max(r.event_time) AS event_time "
        "FROM readings r JOIN people p ON p.id = r.v GROUP BY p.name)",
        [("-C", (day(2), "bob", 1)), ("+C", (day(3), "bob", 3))],
    ),
    "one row": (
        "SELECT max(event_time) AS event_time, count(*) AS n FROM readings",
        [("-C", (day(2), 2)), ("+C", (day(3), 4))],
    ),
    "distinct": (
        "SELECT DISTINCT date_trunc('day', event_time) AS event_time, v FROM readings WHERE v > 0",
        [("+A", (day(3), 2))],
    ),
}


@pytest.mark.usefixtures("form")
def test_new_records_are_enough(spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled) -> None:
    """The slice with earlier records is spoiled after the first step."""
    people.poll([person(1, "ann"), person(2, "bob")])
    readings.poll([reading(1, "a", 1), reading(2, "b", 2)])
    inputs = {"readings": readings, "people": people}
    derived = {
        name: Derived.of(
            spark, tmp_path / f"d{n}", query, **{alias: of for alias, of in inputs.items() if alias in query}
        )
        for n, (name, (query, _)) in enumerate(LINEAR.items())
    }
    first = {}
    for name, of in derived.items():
        of.step()
        first[name] = len(of.records)
    spoiled = Path(readings.history[0].path)
    content = spoiled.read_bytes()
    spoiled.write_bytes(bytes(len(content)))
    readings.poll([reading(3, "a", 2), reading(3, "c", 2)])
    for name, of in derived.items():
        of.step()
        assert of.evaluation == "keyed", name
        assert of.records[first[name] :] == LINEAR[name][1], name


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        pytest.param(
            "SELECT max(event_time) AS event_time, sensor, sum(v / 4D) AS total FROM readings GROUP BY sensor",
            {(day(3), "a", 0.75): 1, (day(2), "b", 0.5): 1},
            id="sum of floating-point numbers",
        ),
        pytest.param(
            "SELECT max(event_time) AS event_time, sensor, try_sum(v) AS total FROM readings GROUP BY sensor",
            {(day(3), "a", 3): 1, (day(2), "b", 2): 1},
            id="try_sum",
        ),
        pytest.param(
            "SELECT max(event_time) AS event_time, sensor, avg(v) AS mean FROM readings GROUP BY sensor",
            {(day(3), "a", 1.5): 1, (day(2), "b", 2.0): 1},
            id="mean",
        ),
        pytest.param(
            "SELECT max(event_time) AS event_time, sensor, count(DISTINCT v % 1) AS n FROM readings GROUP BY sensor",
            {(day(3), "a", 1): 1, (day(2), "b", 1): 1},
            id="distinct values",
        ),
        pytest.param(
            "SELECT max(event_time) AS event_time, sensor, count(*) AS n FROM readings GROUP BY sensor "
            "HAVING count(*) > 1",
            {(day(3), "a", 2): 1},
            id="having",
        ),
        pytest.param(
            "SELECT max(event_time) AS event_time, sensor, sensor AS again, count(*) AS n FROM readings "
            "GROUP BY sensor, v",
            {(day(1), "a", "a", 1): 1, (day(2), "b", "b", 1): 1, (day(3), "a", "a", 1): 1},
            id="group that the result does not show",
        ),
        pytest.param(
            "SELECT a.event_time, a.sensor, b.v FROM readings a LEFT JOIN readings b ON b.v = a.v + 1",
            {(day(1), "a", 2): 2, (day(2), "b", None): 1, (day(3), "a", None): 1},
            id="joined with itself",
        ),
    ],
)
def test_other_queries_read_all_rows(
    spark: SparkSession, tmp_path: Path, readings: Polled, query: str, rows: dict[Any, int]
) -> None:
    of = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "a", 1), reading(2, "b", 2)])
    of.step()
    readings.poll([reading(3, "a", 2)])
    of.step()
    assert of.rows == Counter(rows)


def test_the_other_branches_of_a_union_do_not_count_twice(
    spark: SparkSession, tmp_path: Path, people: Polled, readings: Polled
) -> None:
    """What new records add to a union is not the union over them: other branches have their rows already."""
    joined = "SELECT r.event_time, r.sensor FROM readings r JOIN (SELECT explode(array(1, 2)) AS v) t ON t.v = r.v"
    both = f"{joined} UNION ALL SELECT event_time, name FROM people"
    rows = Derived.of(spark, tmp_path / "d", both, readings=readings, people=people)
    count = f"SELECT max(event_time) AS event_time, count(*) AS n FROM ({both})"
    total = Derived.of(spark, tmp_path / "t", count, readings=readings, people=people)
    people.poll([person(1, "ann")])
    readings.poll([reading(1, "a", 1), reading(1, "x", 9)])
    rows.step(), total.step()
    readings.poll([reading(3, "b", 2)])
    rows.step(), total.step()
    assert rows.rows == Counter({(day(1), "ann"): 1, (day(1), "a"): 1, (day(3), "b"): 1})
    assert total.rows == Counter({(day(3), 3): 1})


@pytest.mark.usefixtures("form")
def test_records_that_take_rows_back(spark: SparkSession, tmp_path: Path, people: Polled, readings: Polled) -> None:
    """Rows of a join vanish and change with those of one side, also if both sides have new records."""
    joined = Derived.of(spark, tmp_path / "d", JOIN, readings=readings, people=people)
    groups = Derived.of(
        spark,
        tmp_path / "g",
        "SELECT max(event_time) AS event_time, name, count(*) AS n FROM people GROUP BY name",
        people=people,
    )
    people.poll([person(1, "ann"), person(2, "bob"), person(3, "bob")])
    readings.poll([reading(1, "a", 1), reading(2, "b", 2), reading(2, "c", 3)])
    joined.step(), groups.step()
    people.poll([person(1, "anna"), person(2, "bob")])
    readings.poll([reading(3, "d", 1), reading(3, "e", 3)])
    joined.step(), groups.step()
    assert joined.records[3:] == [
        ("-C", (day(1), "a", "ann")),
        ("+C", (day(1), "a", "anna")),
        ("-R", (day(2), "c", "bob")),
        ("+A", (day(3), "d", "anna")),
    ]
    assert groups.rows == Counter({(day(2), "anna", 1): 1, (day(1), "bob", 1): 1})


def test_rows_that_a_query_leaves_out_cannot_make_its_key_fail(
    spark: SparkSession, tmp_path: Path, readings: Polled
) -> None:
    query = "SELECT max(event_time) AS event_time, abs(v) AS size, avg(v) AS mean FROM readings WHERE v > -9 GROUP BY 2"
    derived = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "a", 1)])
    derived.step()
    readings.poll([reading(2, "a", -(2**63)), reading(2, "a", -1)])
    derived.step()
    assert derived.rows == Counter([(day(2), 1, 0.0)])

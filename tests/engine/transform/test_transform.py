"""Transforms of derivatives: their records, evaluation and refusals, on Spark."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_odf.protocol import MergeStrategy, SqlQueryStep
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("form")]

UTC = dt.UTC


def day(number: int) -> dt.datetime:
    return dt.datetime(2024, 4, number, tzinfo=UTC)


def person(id_: int, name: str) -> dict[str, Any]:
    return {"id": id_, "name": name}


def reading(number: int, sensor: str, v: int) -> dict[str, Any]:
    return {"event_time": f"2024-04-{number:02}T00:00:00Z", "sensor": sensor, "v": v}


def test_row_wise_query_carries_operations(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    upper = Derived.of(spark, tmp_path / "d", "SELECT event_time, id, upper(name) AS name FROM people", people=people)
    people.poll([person(1, "ann"), person(2, "bob")])
    upper.step()
    people.poll([person(1, "ann"), person(2, "bill"), person(3, "cy")])
    upper.step()
    people.poll([person(1, "ann"), person(3, "cy")])
    upper.step()
    assert upper.evaluation == "row-wise"
    assert upper.records == [
        ("+A", (day(1), 1, "ANN")),
        ("+A", (day(1), 2, "BOB")),
        ("-C", (day(1), 2, "BOB")),
        ("+C", (day(2), 2, "BILL")),
        ("+A", (day(2), 3, "CY")),
        ("-R", (day(2), 2, "BILL")),
    ]
    assert upper.rows == Counter({(day(1), 1, "ANN"): 1, (day(2), 3, "CY"): 1})


def test_row_wise_query_that_shows_one_side_of_a_correction(
    spark: SparkSession, tmp_path: Path, people: Polled
) -> None:
    """A filter lets a row appear or vanish by a correction; an explosion changes how many rows it gives."""
    short = Derived.of(
        spark,
        tmp_path / "d",
        "SELECT event_time, id, letter FROM people LATERAL VIEW explode(split(name, '')) AS letter WHERE name <> 'x'",
        people=people,
    )
    people.poll([person(1, "ab"), person(2, "x"), person(3, "c"), person(4, "x")])
    short.step()
    people.poll([person(1, "abc"), person(2, "d"), person(3, "x"), person(4, "x")])
    short.step()
    old, new = day(1), day(2)
    assert short.records == [
        ("+A", (old, 1, "a")),
        ("+A", (old, 1, "b")),
        ("+A", (old, 3, "c")),
        ("-C", (old, 1, "a")),
        ("+C", (new, 1, "a")),
        ("-C", (old, 1, "b")),
        ("+C", (new, 1, "b")),
        ("+A", (new, 1, "c")),
        ("+A", (new, 2, "d")),
        ("-R", (old, 3, "c")),
    ]


def test_a_correction_that_the_query_does_not_show_adds_nothing(
    spark: SparkSession, tmp_path: Path, people: Polled
) -> None:
    ids = Derived.of(spark, tmp_path / "d", "SELECT DATE'2024-01-01' AS event_time, id FROM people", people=people)
    people.poll([person(1, "ann")])
    ids.step()
    people.poll([person(1, "anna")])
    assert ids.step().slice is None


def test_a_query_that_names_op_gets_the_raw_records(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    raw = Derived.of(spark, tmp_path / "d", "SELECT op, event_time, name FROM people WHERE op <> 2", people=people)
    people.poll([person(1, "ann")])
    raw.step()
    people.poll([person(1, "anna")])
    raw.step()
    assert raw.records == [("+A", (day(1), "ann")), ("+C", (day(2), "anna"))]


def test_a_star_within_a_query_does_not_name_op(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    names = Derived.of(
        spark, tmp_path / "d", "SELECT event_time, name FROM (SELECT * FROM people) WHERE id > 0", people=people
    )
    people.poll([person(1, "ann")])
    names.step()
    people.poll([])
    names.step()
    assert names.records == [("+A", (day(1), "ann")), ("-R", (day(1), "ann"))]


def test_union_is_in_the_order_of_inputs_and_offsets(
    spark: SparkSession, tmp_path: Path, people: Polled, readings: Polled
) -> None:
    union = Derived.of(
        spark,
        tmp_path / "d",
        "SELECT event_time, name FROM people UNION ALL SELECT event_time, sensor FROM readings",
        readings=readings,
        people=people,
    )
    people.poll([person(1, "ann")])
    readings.poll([reading(2, "b", 0), reading(1, "a", 0)])
    union.step()
    assert union.records == [("+A", (day(1), "a")), ("+A", (day(2), "b")), ("+A", (day(1), "ann"))]


GROUPS = "SELECT max(event_time) AS event_time, sensor, count(*) AS n, sum(v) AS total FROM readings GROUP BY sensor"


def test_groups_that_new_records_touch_are_corrected(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    groups = Derived.of(spark, tmp_path / "d", GROUPS, readings=readings)
    readings.poll([reading(1, "a", 1), reading(2, "b", 2)])
    groups.step()
    readings.poll([reading(3, "a", 10), reading(3, "c", 7)])
    groups.step()
    assert groups.evaluation == "keyed"
    assert groups.reason == "new records are found in the result by sensor"
    assert groups.records == [
        ("+A", (day(1), "a", 1, 1)),
        ("+A", (day(2), "b", 1, 2)),
        ("-C", (day(1), "a", 1, 1)),
        ("+C", (day(3), "a", 2, 11)),
        ("+A", (day(3), "c", 1, 7)),
    ]


def test_a_group_that_loses_its_rows_vanishes(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    query = "SELECT max(event_time) AS event_time, name, count(*) AS n FROM people GROUP BY name"
    names = Derived.of(spark, tmp_path / "d", query, people=people)
    people.poll([person(1, "ann"), person(2, "bob")])
    names.step()
    people.poll([person(1, "bob"), person(2, "bob")])
    names.step()
    assert names.rows == Counter({(day(2), "bob", 2): 1})
    assert names.records[2:] == [
        ("-R", (day(1), "ann", 1)),
        ("-C", (day(1), "bob", 1)),
        ("+C", (day(2), "bob", 2)),
    ]


def test_join_corrects_the_rows_of_a_changed_dimension(
    spark: SparkSession, tmp_path: Path, people: Polled, readings: Polled
) -> None:
    joined = Derived.of(
        spark,
        tmp_path / "d",
        "SELECT r.event_time, r.sensor, p.name FROM readings r LEFT JOIN people p ON p.id = r.v",
        readings=readings,
        people=people,
    )
    readings.poll([reading(1, "a", 1), reading(2, "b", 2), reading(3, "c", 9)])
    people.poll([person(1, "ann"), person(2, "bob")])
    joined.step()
    people.poll([person(1, "anna"), person(2, "bob"), person(9, "zoe")])
    joined.step()
    assert joined.evaluation == "keyed"
    assert joined.records[3:] == [
        ("-C", (day(1), "a", "ann")),
        ("+C", (day(1), "a", "anna")),
        ("-C", (day(3), "c", None)),
        ("+C", (day(3), "c", "zoe")),
    ]


def test_a_changed_query_writes_the_difference(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    totals = Derived.of(spark, tmp_path / "d", GROUPS, readings=readings)
    readings.poll([reading(1, "a", 1), reading(2, "b", 2)])
    totals.step()
    totals.queries = (SqlQueryStep(GROUPS.replace("FROM readings", "FROM readings WHERE sensor <> 'b'")),)
    totals.is_query_new = True
    readings.poll([reading(3, "a", 10)])
    totals.step()
    assert totals.records[2:] == [
        ("-R", (day(2), "b", 1, 2)),
        ("-C", (day(1), "a", 1, 1)),
        ("+C", (day(3), "a", 2, 11)),
    ]


def test_a_row_wise_query_that_changes_is_compared_with_all_rows(
    spark: SparkSession, tmp_path: Path, readings: Polled
) -> None:
    hot = Derived.of(spark, tmp_path / "d", "SELECT event_time, v FROM readings WHERE v > 1", readings=readings)
    readings.poll([reading(1, "a", 1), reading(2, "b", 2), reading(3, "c", 3)])
    hot.step()
    hot.queries, hot.is_query_new = (SqlQueryStep("SELECT event_time, v FROM readings WHERE v <> 2"),), True
    hot.step()
    assert hot.records[2:] == [("+A", (day(1), 1)), ("-R", (day(2), 2))]


def test_a_row_wise_query_of_other_inputs_takes_back_the_rows_of_those_before(
    spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled
) -> None:
    readings.poll([{"event_time": "2024-04-01T00:00:00Z", "sensor": "a", "v": 1}])
    people.poll([{"id": 1, "name": "ann"}])
    names = Derived.of(spark, tmp_path / "d", "SELECT event_time, sensor AS name FROM readings", readings=readings)
    names.step()
    names.inputs = {"people": people}
    names.queries, names.is_query_new = (SqlQueryStep("SELECT event_time, name FROM people"),), True
    names.step()
    assert sorted((op, row[1]) for op, row in names.records) == [("+A", "a"), ("+A", "ann"), ("-R", "a")]
    people.poll([{"id": 1, "name": "bob"}])
    names.step()
    assert [row[1] for row in names.rows.elements()] == ["bob"]


def test_a_changelog_whose_retractions_have_no_values(spark: SparkSession, tmp_path: Path) -> None:
    """The source retracts a row by its key alone: the derivative takes back the row that was there."""
    stream = Polled(
        spark,
        tmp_path / "s",
        "op STRING; event_time TIMESTAMP; id BIGINT; name STRING",
        MergeStrategy("ChangelogStream", ("id",)),
    )
    upper = Derived.of(spark, tmp_path / "u", "SELECT event_time, id, upper(name) AS name FROM s", s=stream)
    names = Derived.of(
        spark,
        tmp_path / "n",
        "SELECT max(event_time) AS event_time, name, count(*) AS n FROM s GROUP BY name",
        s=stream,
    )
    time = "2024-04-01T00:00:00Z"
    stream.poll([{"op": "+A", "event_time": time, "id": n, "name": name} for n, name in enumerate(["a", "b", "b"])])
    upper.step()
    names.step()
    stream.poll([{"op": "-R", "event_time": time, "id": 1, "name": None}])
    upper.step()
    names.step()
    assert upper.rows == Counter({(day(1), 0, "A"): 1, (day(1), 2, "B"): 1})
    assert upper.records[-1] == ("-R", (day(1), 1, "B"))
    assert names.rows == Counter({(day(1), "a", 1): 1, (day(1), "b", 1): 1})


def test_datafusion_carries_added_and_retracted_rows(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    query = "SELECT event_time, id, upper(name) AS name FROM people WHERE name <> 'x'"
    upper = Derived.of(spark, tmp_path / "d", query, people=people)
    upper.engine = "datafusion"
    people.poll([person(2, "bob"), person(1, "ann")])
    upper.step()
    people.poll([person(1, "anna"), person(2, "x")])
    upper.step()
    assert upper.evaluation == "row-wise"
    assert upper.records == [
        ("+A", (day(1), 1, "ANN")),
        ("+A", (day(1), 2, "BOB")),
        ("-R", (day(1), 1, "ANN")),
        ("-R", (day(1), 2, "BOB")),
        ("+A", (day(2), 1, "ANNA")),
    ]


def test_datafusion_computes_other_queries_as_a_whole(
    spark: SparkSession, tmp_path: Path, people: Polled, readings: Polled
) -> None:
    query = (
        "SELECT max(r.event_time) AS event_time, p.name, count(*) AS n FROM readings r JOIN people p ON p.id = r.v "
        "GROUP BY p.name"
    )
    names = Derived.of(spark, tmp_path / "d", query, readings=readings, people=people)
    names.engine = "datafusion"
    people.poll([person(1, "ann"), person(2, "bob")])
    readings.poll([reading(1, "a", 1), reading(2, "a", 2)])
    names.step()
    readings.poll([reading(3, "a", 1)])
    names.step()
    assert names.evaluation == "whole"
    assert names.rows == Counter({(day(3), "ann", 2): 1, (day(2), "bob", 1): 1})


def test_datafusion_query_that_names_op(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    raw = Derived.of(spark, tmp_path / "d", "SELECT op, event_time, name FROM people", people=people)
    raw.engine = "datafusion"
    people.poll([person(1, "ann")])
    raw.step()
    people.poll([person(1, "anna")])
    raw.step()
    assert raw.records == [("+A", (day(1), "ann")), ("-C", (day(1), "ann")), ("+C", (day(2), "anna"))]


def test_a_table_joined_with_itself_by_other_values(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    """Each change is found in both places that the query reads it in."""
    query = "SELECT a.event_time, a.v, b.v AS next, b.sensor FROM readings a JOIN readings b ON b.v = a.v + 1"
    pairs = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "a", 1), reading(2, "b", 3)])
    pairs.step()
    readings.poll([reading(3, "c", 2)])
    pairs.step()
    assert pairs.evaluation == "keyed"
    assert pairs.rows == Counter({(day(1), 1, 2, "c"): 1, (day(3), 2, 3, "b"): 1})


def test_a_key_that_some_rows_do_not_have(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    """The query filters out sensors that are no numbers before it converts them."""
    query = (
        "SELECT max(event_time) AS event_time, CAST(sensor AS BIGINT) AS number, count(*) AS n FROM readings "
        "WHERE sensor RLIKE '^[0-9]+$' GROUP BY CAST(sensor AS BIGINT)"
    )
    numbers = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "7", 1), reading(1, "x", 1)])
    numbers.step()
    readings.poll([reading(2, "07", 1), reading(2, "y", 1)])
    numbers.step()
    assert numbers.evaluation == "keyed"
    assert numbers.rows == Counter({(day(2), 7, 2): 1})


def test_a_changed_query_that_spells_columns_in_another_case(
    spark: SparkSession, tmp_path: Path, readings: Polled
) -> None:
    totals = Derived.of(spark, tmp_path / "d", GROUPS, readings=readings)
    readings.poll([reading(1, "a", 1)])
    totals.step()
    totals.queries = (SqlQueryStep(GROUPS.replace("sensor,", "sensor AS Sensor,").replace("total", "Total")),)
    totals.is_query_new = True
    totals.step()
    readings.poll([reading(3, "a", 10)])
    totals.step()
    assert totals.records == [("+A", (day(1), "a", 1, 1)), ("-C", (day(1), "a", 1, 1)), ("+C", (day(3), "a", 2, 11))]


def test_sums_of_constants_beside_rows(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    constants = (
        "(SELECT max(x) FROM VALUES ('a'), ('b') AS t(x)) AS x, (SELECT avg(y) FROM VALUES (1), (2) AS t(y)) AS y"
    )
    derived = Derived.of(spark, tmp_path / "d", f"SELECT event_time, name, {constants} FROM people", people=people)
    people.poll([person(1, "ann"), person(2, "bob")])
    derived.step()
    people.poll([person(1, "anna"), person(2, "bob")])
    derived.step()
    assert {row[1:] for row in derived.rows} == {("anna", "b", 1.5), ("bob", "b", 1.5)}

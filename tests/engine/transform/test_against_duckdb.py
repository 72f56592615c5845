"""Random queries over inputs that grow, change and shrink: after each step, the rows of a derivative are those that
DuckDB computes from the current rows of its inputs, and its history takes back only what was there. Queries with
functions that only Spark has are compared with Spark's own result over the current rows. All can be computed again."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from airflow_provider_odf.protocol import MergeStrategy
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived, net, records
from tests.engine.transform.queries import random_query, random_spark_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STEPS = 4
_TIME = pa.timestamp("us")


@pytest.mark.spark
def test_queries(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, tmp_path, seed=1, count=4)


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 125))
def test_many_queries(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check(spark, tmp_path, seed=seed, count=40)


@pytest.mark.long
@pytest.mark.spark
def test_queries_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    check_spark(spark, tmp_path, seed=1, count=2)


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.parametrize("seed", range(200, 215))
def test_many_queries_of_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_spark(spark, tmp_path, seed=seed, count=40)


def check_spark(spark: SparkSession, work: Path, *, seed: int, count: int) -> None:
    r = Random(seed)
    readings, people = _inputs(spark, work)
    derived = [
        Derived.of(spark, work / f"d{n}", random_spark_query(r), readings=readings, people=people) for n in range(count)
    ]
    for step in range(_STEPS):
        if step != 2:
            readings.poll([*_readings(r)])
        if step != 3:
            people.poll([*_people(r)])
        for number, of in enumerate(derived):
            if step % 2 == 0:  # what is wrong stays wrong in the next step
                of.step()
                continue
            again = dataclasses.replace(of, work=work / f"again{number}-{step}")
            whole = Derived(spark, work / f"whole{number}-{step}", of.inputs, of.queries)
            hashes = [s.slice and s.slice.logical_hash for s in (of.step(), again.step())]
            whole.step()
            place = f"seed {seed}, step {step}, {of.evaluation} ({of.reason}): {of.queries[0].query}"
            assert net(_comparable(of)) == net(_comparable(whole)), place
            assert hashes[0] == hashes[1], place


def _comparable(of: Derived) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the records with NaN as text, which is otherwise not equal to itself."""
    return [(op, tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row)) for op, row in of.records]


def _inputs(spark: SparkSession, work: Path) -> tuple[Polled, Polled]:
    return (
        Polled(spark, work / "readings", "event_time TIMESTAMP; sensor STRING; v BIGINT", MergeStrategy("Append")),
        Polled(spark, work / "people", "id BIGINT; name STRING", MergeStrategy("Snapshot", ("id",))),
    )


def check(spark: SparkSession, work: Path, *, seed: int, count: int) -> None:
    r = Random(seed)
    readings, people = _inputs(spark, work)
    queries = [random_query(r, r.choice([1, 2, 2, 3])).sql for _ in range(count)]
    derived = [
        Derived.of(spark, work / f"d{n}", sql, readings=readings, people=people) for n, sql in enumerate(queries)
    ]
    for step in range(_STEPS):
        if step != 2:  # In this step only people change, and in the next one only readings.
            readings.poll([*_readings(r)])
        if step != 3:
            people.poll([*_people(r)])
        expected = _computed(queries, {"readings": readings, "people": people})
        for sql, of, rows in zip(queries, derived, expected, strict=True):
            of.step()
            assert _naive(of.rows) == rows, f"seed {seed}, step {step}, {of.evaluation} ({of.reason}): {sql}"


def _readings(r: Random) -> Iterator[dict[str, Any]]:
    for _ in range(r.randrange(1, 7)):
        time = dt.datetime(2024, 4, r.randrange(1, 5), r.randrange(3), tzinfo=dt.UTC)
        yield {
            "event_time": time.isoformat(),
            "sensor": r.choice(["a", "b", "c", None]),
            "v": r.choice([*range(6), None]),
        }


def _people(r: Random) -> Iterator[dict[str, Any]]:
    for id_ in r.sample(range(7), r.randrange(1, 6)):
        yield {"id": id_, "name": r.choice(["a", "b", "c", "d", None])}


def _computed(queries: list[str], inputs: dict[str, Polled]) -> list[Counter[tuple[Any, ...]]]:
    types = {
        "readings": pa.schema([("event_time", _TIME), ("sensor", pa.string()), ("v", pa.int64())]),
        "people": pa.schema([("event_time", _TIME), ("id", pa.int64()), ("name", pa.string())]),
    }
    with duckdb.connect() as db:
        for name, of in inputs.items():
            rows = [*_naive(net(records(of.history, of.vocab))).elements()]
            columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), types[name], strict=True)]
            db.register(name, pa.table(columns, schema=types[name]))
        return [Counter(_times(row) for row in db.execute(sql).fetchall()) for sql in queries]


def _naive(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({_times(row): number for row, number in rows.items()})


def _times(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        v.replace(tzinfo=None) if isinstance(v, dt.datetime) else dt.datetime.combine(v, dt.time())
        if isinstance(v, dt.date) else v
        for v in row
    )  # fmt: skip

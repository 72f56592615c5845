"""Derivatives of ``engine: datafusion``: after each step, their rows are those that the package ``datafusion`` computes
by itself from all current rows of the inputs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datafusion
import pyarrow as pa
import pytest

from tests.engine.conftest import Polled, Row
from tests.engine.transform.derived import Derived, net, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TIME = pa.timestamp("ms", "UTC")
_SCHEMAS = {
    "readings": pa.schema([("event_time", _TIME), ("sensor", pa.string()), ("v", pa.int64())]),
    "people": pa.schema([("event_time", _TIME), ("id", pa.int64()), ("name", pa.string())]),
}
QUERIES = {
    "filter": "select event_time, upper(name) as name, id % 2 = 0 as even from people where id <> 3",
    "union": "select event_time, sensor as k, v from readings where v > 1 "
    "union all select event_time, name, id from people",
    "groups": "select max(event_time) as event_time, sensor, count(*) as n, sum(v) as v, min(v) as m from readings "
    "group by sensor having count(*) > 1",
    "rollup": "select max(event_time) as event_time, sensor, v % 2 as odd, count(*) as n from readings "
    "group by rollup(sensor, v % 2)",
    "join": "select r.event_time, r.v, p.name from readings r left join people p on r.v = p.id",
    "subquery": "select event_time, sensor, v from readings where v in (select id from people) "
    "and v >= (select avg(id) from people)",
    "window": "select event_time, sensor, v, sum(v) over (partition by sensor order by event_time, v) as total, "
    "dense_rank() over (order by v) as place from readings",
    "top": "select event_time, id, name from people order by name desc nulls last, id limit 3",
    "numbered": "select event_time, id, name, n from "
    "(select *, row_number() over (order by name, id) as n from people) where n <= 2",
    "arrays": "select max(event_time) as event_time, sensor, array_to_string(array_agg(v order by v), '/') as v "
    "from readings group by sensor",
    "except": "select event_time, v as x from readings except select event_time, id from people",
}


@pytest.mark.long
@pytest.mark.spark
def test_rows_are_those_of_the_package(spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled) -> None:
    inputs = {"readings": readings, "people": people}
    derived = {name: _derived(spark, tmp_path / name, sql, inputs) for name, sql in QUERIES.items()}
    for step, (new, list_) in enumerate(_STEPS):
        readings.poll([_reading(*values) for values in new])
        people.poll([{"id": id_, "name": name} for id_, name in list_])
        _check(derived, inputs, f"step {step}")


@pytest.mark.spark
@pytest.mark.torture
def test_so_are_those_of_queries_that_workers_run(
    spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_provider_odf.records import files

    monkeypatch.setattr(files, "SMALL", -1)
    (new, list_), *_ = _STEPS
    readings.poll([_reading(*values) for values in new])
    people.poll([{"id": id_, "name": name} for id_, name in list_])
    inputs = {"readings": readings, "people": people}
    _check(
        {name: _derived(spark, tmp_path / name, QUERIES[name], inputs) for name in ("union", "join")}, inputs, "large"
    )


_STEPS: list[tuple[list[tuple[int, str | None, int | None]], list[tuple[int, str | None]]]] = [
    (
        [(1, "a", 1), (2, "a", 2), (1, "b", 2), (3, None, None), (3, "b", 5)],
        [(1, "ann"), (2, None), (3, "cy"), (4, "di")],
    ),
    (
        [(1, "a", 2), (1, "a", 2), (0, "c", 4), (2, None, 3)],
        [(1, "ann"), (2, "bob"), (4, "ann"), (5, None), (6, "zoe")],
    ),
]


def _derived(spark: SparkSession, work: Path, sql: str, inputs: dict[str, Polled]) -> Derived:
    derived = Derived.of(spark, work, sql, **inputs)
    derived.engine = "datafusion"
    return derived


def _check(derived: dict[str, Derived], inputs: dict[str, Polled], what: str) -> None:
    context = _context(inputs)
    for name, of in derived.items():
        of.step()
        assert _comparable(of.rows.elements()) == _computed(context, QUERIES[name]), f"{name}, {what}"


def _reading(day: int, sensor: str | None, v: int | None) -> Row:
    return {"event_time": f"2024-04-{day + 1:02}T00:00:00Z", "sensor": sensor, "v": v}


def _context(inputs: dict[str, Polled]) -> datafusion.SessionContext:
    context = datafusion.SessionContext()
    for name, of in inputs.items():
        rows = [*net(records(of.history, of.vocab)).elements()]
        columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), _SCHEMAS[name], strict=True)]
        context.register_record_batches(name, [pa.table(columns, schema=_SCHEMAS[name]).to_batches()])
    return context


def _computed(context: datafusion.SessionContext, sql: str) -> Counter[str]:
    table = context.sql(sql).to_arrow_table()
    return _comparable(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _comparable(rows: Any) -> Counter[str]:
    return Counter(map(repr, rows))

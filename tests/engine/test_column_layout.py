"""Columns of new rows: system columns, event times, keys and types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import DatasetVocabulary

from .cities import CITIES, SEATTLE, sql

pytestmark = pytest.mark.spark

Make = Callable[..., Any]


def test_renamed_system_columns_and_times_cut_to_milliseconds(polled: Make) -> None:
    vocab = DatasetVocabulary("seq", "change", "recorded", "Measured")
    data = polled("measured TIMESTAMP; x BIGINT; seen TIMESTAMP", "Ledger", "measured", vocab=vocab)
    row = {"measured": "2024-01-01T00:00:00.1239Z", "x": 1, "seen": "1969-12-31T23:59:59.9999Z"}
    data.poll([row])
    assert data.table().schema.names == ["seq", "change", "recorded", "Measured", "x", "seen"]
    assert data.records("Measured", "seen") == [
        ("+A", "2024-01-01T00:00:00.123000+00:00", "1969-12-31T23:59:59.999000+00:00")
    ]
    assert data.poll([row]).slices == ((),)


def test_event_times_that_are_missing_are_the_sources(polled: Make, form: str) -> None:
    data = polled("event_time TIMESTAMP; k BIGINT", "Snapshot", "k")
    data.poll([{"k": 1, "event_time": "2024-04-03T00:00:00Z"}, {"k": 2}])
    data.poll([{"k": 1}, {"k": 2}])
    data.poll([{"k": 1, "event_time": "2024-04-04T00:00:00Z"}])
    assert [(op, k, time[:10]) for op, k, time in data.records("k", "event_time")] == [
        ("+A", 1, "2024-04-03"),
        ("+A", 2, "2024-04-01"),
        ("-C", 1, "2024-04-03"),
        ("+C", 1, "2024-04-04"),
        ("-R", 2, "2024-04-01"),
    ]


@pytest.mark.parametrize("kind", ["ChangelogStream", "UpsertStream"])
def test_the_operation_is_no_key(polled: Make, kind: str) -> None:
    data = polled("op INT; k BIGINT", kind, "op")
    with pytest.raises(InvalidQuery, match="column op is not in the data"):
        data.poll([{"op": 0, "k": 1}])


@pytest.mark.parametrize("kind", ["Snapshot", "Ledger", "UpsertStream"])
def test_null_keys_are_refused(polled: Make, form: str, kind: str) -> None:
    data = polled(CITIES, kind, "country", "city")
    message = (
        r"poll-1-0\.json: the primary key column city is null in (1 row|2 rows), such as \(.*country=US, city=None, pop"
    )
    with pytest.raises(InvalidQuery, match=message):
        data.poll([SEATTLE, {"country": "US", "population": 5}, {"country": "US", "population": 5}])
    assert list((data.work / "data").glob("*")) == []


def test_columns_declared_not_null_are_required(polled: Make, form: str) -> None:
    data = polled("k BIGINT NOT NULL; v STRING", "Append")
    data.poll([{"k": 1}])
    assert [f.nullable for f in data.table().schema] == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS offset, city FROM input", "column offset has the name of a system column"),
        (
            "SELECT city, 1 AS System_Time FROM input",
            "if the dataset has no data yet, rename the system column with SetVocab.systemTimeColumn",
        ),
        ("SELECT city, 1 AS op FROM input", "`op AS op_1`"),
        ("SELECT city, 1 AS a, 2 AS A FROM input", "columns A, a have the same name, ignoring case"),
        (
            "SELECT city, 2019 AS event_time FROM input",
            "event time column event_time must be DATE or TIMESTAMP, not INT",
        ),
        (
            "SELECT country FROM input",
            "Snapshot.primaryKey: column city is not in the data: known: country, event_time",
        ),
        ("SELECT array(1) AS city FROM input", "city is a list or a struct, which cannot be a key"),
        ("SELECT city, map('a', 1) AS tags FROM input", "column tags is of type map.*`element_at\\(tags, 'key'\\)"),
        ("SELECT city, array(struct(1 AS a)) AS l FROM input", "column l is a list of structs.*`to_json\\(l\\) AS l`"),
        ("SELECT city, NULL AS n FROM input", "column n is of type void.*`cast\\(n AS STRING\\) AS n`"),
        ("SELECT city, struct(map('a', 1) AS m) AS s FROM input", "column s.m is of type map"),
        ("SELECT city, INTERVAL '1' DAY AS i FROM input", "column i is of type interval day.*extract"),
    ],
)
def test_what_a_slice_cannot_hold(polled: Make, query: str, message: str) -> None:
    data = polled(CITIES, "Snapshot", "city", preprocess=sql(query))
    with pytest.raises(InvalidQuery, match=message):
        data.poll([SEATTLE])
    assert not (data.work / "data").exists()


def test_every_type_that_a_slice_can_hold(polled: Make, form: str) -> None:
    query = """SELECT k, CAST(1 AS TINYINT) AS i8, CAST(2 AS SMALLINT) AS i16, 3 AS i32, CAST(1.5 AS FLOAT) AS f32,
        CAST(2.5 AS DOUBLE) AS f64, true AS flag, DATE'2024-01-02' AS day, CAST(1.25 AS DECIMAL(9, 2)) AS price,
        CAST(1 AS DECIMAL(38, 6)) AS big, X'00FF' AS blob, array('a', NULL) AS words, array(array(1L)) AS deep,
        TIMESTAMP_NTZ'2024-01-02 03:04:05.678901' AS naive, named_struct('x', 1, 'y', array(2)) AS pair,
        CAST(NULL AS STRUCT<x: INT>) AS nothing, TIME'01:02:03.000004' AS clock, array(DATE'2024-01-01') AS days
        FROM input"""
    data = polled("k BIGINT", "Snapshot", "k", preprocess=sql(query))
    data.poll([{"k": 1}])
    expected = pa.schema(
        [
            ("k", pa.int64()), ("i8", pa.int8()), ("i16", pa.int16()), ("i32", pa.int32()), ("f32", pa.float32()),
            ("f64", pa.float64()), ("flag", pa.bool_()), ("day", pa.date32()), ("price", pa.decimal128(9, 2)),
            ("big", pa.decimal128(38, 6)), ("blob", pa.binary()), ("words", pa.list_(pa.string())),
            ("deep", pa.list_(pa.list_(pa.int64()))), ("naive", pa.timestamp("ms", "UTC")),
            ("pair", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.int32()))])),
            ("nothing", pa.struct([("x", pa.int32())])), ("clock", pa.time64("us")), ("days", pa.list_(pa.date32())),
        ]
    )  # fmt: skip
    table = data.table()
    assert table.select(expected.names).cast(expected).schema.equals(expected)
    assert [str(f.type) for f in table.schema][4:] == [str(f.type).replace("<item:", "<element:") for f in expected]
    assert table["naive"].to_pylist() == [dt.datetime(2024, 1, 2, 3, 4, 5, 678000, dt.UTC)]
    assert table["words"].to_pylist() == [["a", None]]
    assert data.poll([{"k": 1}]).slices == ((),)
    assert [op for op, _ in (data.poll([{"k": 2}]), data.records("k"))[1]] == ["+A", "-R", "+A"]

"""Every type that a DDL schema knows, in every reader."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.manifest.ddl_parser import parse

pytestmark = pytest.mark.spark
UTC = dt.UTC
TIME = dt.datetime(2026, 5, 1, 10, 0, 0, 123456, tzinfo=UTC)

TYPES = [
    ("BOOLEAN", "True", True),
    ("BOOL", "false", False),
    ("TINYINT", "-128", -128),
    ("TINYINT UNSIGNED", "255", 255),
    ("SMALLINT", "-32768", -32768),
    ("SMALLINT UNSIGNED", "65535", 65535),
    ("INT", "-2147483648", -(2**31)),
    ("INTEGER", "2147483647", 2**31 - 1),
    ("INT UNSIGNED", "4294967295", 2**32 - 1),
    ("BIGINT", "-9223372036854775808", -(2**63)),
    ("BIGINT UNSIGNED", "18446744073709551615", Decimal(2**64 - 1)),
    ("FLOAT", "1.5", 1.5),
    ("REAL", "-0.25", -0.25),
    ("DOUBLE", "1e300", 1e300),
    ("DOUBLE PRECISION", "0.1", 0.1),
    ("DECIMAL(38,2)", "-12345678901234567890.50", Decimal("-12345678901234567890.50")),
    ("NUMERIC(5)", "12345", Decimal(12345)),
    ("DATE", "2026-05-01", dt.date(2026, 5, 1)),
    ("TIME", "10:00:00.123456", dt.time(10, 0, 0, 123456)),
    ("TIME(3)", "10:00:00.123", dt.time(10, 0, 0, 123000)),
    ("TIMESTAMP", "2026-05-01T12:00:00.123456+02:00", TIME),
    ("TIMESTAMP(3) WITH TIME ZONE", "2026-05-01T10:00:00.123456Z", TIME),
    ("TIMESTAMP WITHOUT TIME ZONE", "2026-05-01 10:00:00.123456", TIME),
    ("TIMESTAMP_NTZ", "2026-05-01T10:00:00.123456", TIME),
    ("DATETIME", "2026-05-01", dt.datetime(2026, 5, 1, tzinfo=UTC)),
    ("STRING", " é ", " é "),
    ("VARCHAR(3)", "漢字", "漢字"),
    ("UUID", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
]
NAMES = [f"c{i}" for i, _ in enumerate(TYPES)]
EXPECTED = dict(zip(NAMES, (value for _, _, value in TYPES), strict=True))
TEXTS = dict(zip(NAMES, (text for _, text, _ in TYPES), strict=True))
POINT = {"type": "Point", "coordinates": [1, 2]}
FEATURE = {"type": "Feature", "properties": TEXTS, "geometry": POINT}


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: [text] for name, text in TEXTS.items()}), buffer)
    return buffer.getvalue()


CONTENTS = {
    "Csv": ",".join(TEXTS.values()),
    "Json": json.dumps([TEXTS]),
    "NdJson": json.dumps(TEXTS),
    "GeoJson": json.dumps({"type": "FeatureCollection", "features": [FEATURE]}),
    "NdGeoJson": json.dumps(FEATURE),
    "EsriShapefile": json.dumps(FEATURE),
    "Parquet": parquet(),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_texts(read, kind: str) -> None:
    columns = [parse(f"{name} {ddl}")[0].column for name, (ddl, _, _) in zip(NAMES, TYPES, strict=True)]
    frame = read(kind, CONTENTS[kind], [f"{c.name} {c.type}" for c in columns]).frame
    assert frame.toArrow().to_pylist() == [EXPECTED]


@pytest.mark.parametrize(
    ("ddl", "value", "expected"),
    [
        ("BINARY", "AQI=", b"\x01\x02"),
        ("ARRAY<DECIMAL(4,2)>", [1.5, None, "2.25"], [Decimal("1.50"), None, Decimal("2.25")]),
        ("ARRAY<ARRAY<TIMESTAMP>>", [["2026-05-01T10:00:00.123456Z"], []], [[TIME], []]),
        ("STRUCT<a: DATE, `b c`: BIGINT UNSIGNED NOT NULL>", {"A": "2026-05-01", "b c": 7},
         {"a": dt.date(2026, 5, 1), "b c": Decimal(7)}),
        ("MAP<STRING, STRUCT<x: TIME(3)>>", {"k": {"x": "10:00:00.5"}}, [("k", {"x": dt.time(10, 0, 0, 500000)})]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["NdJson", "NdGeoJson"])
def test_nested_values(read, kind: str, ddl: str, value: object, expected: object) -> None:
    content = {"v": value} if kind == "NdJson" else {**FEATURE, "properties": {"v": value}}
    (definition,) = parse(f"v {ddl}")
    frame = read(kind, json.dumps(content), [f"v {definition.column.type}"]).frame
    assert frame.toArrow().to_pylist() == [{"v": expected}]


def test_binary_is_the_bytes_of_a_text_where_no_json_is(rows) -> None:
    assert rows("Csv", "é\n", ["v BINARY"]) == [("é".encode(),)]


@pytest.mark.parametrize("kind", ["Csv", "NdJson", "Parquet"])
def test_a_time_finer_than_its_type_is_refused(refusal_of, kind: str) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"v": ["10:00:00.1234"]}), buffer)
    content = {"Csv": "10:00:00.1234\n", "NdJson": '{"v": "10:00:00.1234"}', "Parquet": buffer.getvalue()}[kind]
    assert refusal_of(kind, content, ["v TIME(3)"]).endswith(" 1, column v: '10:00:00.1234' is not a TIME(3)")


def test_a_time_of_parquet_finer_than_its_type_is_refused(rows, refusal_of) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"v": [dt.time(10, 0, 0, 123000), dt.time(10, 0, 0, 123400)]}), buffer)
    assert rows("Parquet", buffer.getvalue(), ["v TIME(4)"])[1] == (dt.time(10, 0, 0, 123400),)
    message = "row 2, column v: '10:00:00.1234' is not a TIME(3)"
    assert refusal_of("Parquet", buffer.getvalue(), ["v TIME(3)"]).endswith(message)

"""Columns of sources with names that a reader might give to its own."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

NAMES = (
    "__row",
    "__place",
    "__problem",
    "__label",
    "_metadata",
    "_corrupt_record",
    "_c0",
    "c0",
    "col",
    "value",
    "raw0",
)
ROWS = [{name: f"{name} {number}" for name in NAMES} for number in range(2)]


def csv() -> bytes:
    return "\n".join(",".join(values) for values in (NAMES, *(row.values() for row in ROWS))).encode()


def ndjson() -> bytes:
    return "\n".join(map(json.dumps, ROWS)).encode()


def geojson() -> bytes:
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]}, "properties": row} for row in ROWS
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "data"), [("Csv", csv), ("NdJson", ndjson), ("GeoJson", geojson), ("Parquet", parquet)]
)
def test_columns_keep_their_values(read, kind: str, data) -> None:
    options = {"header": True} if kind == "Csv" else {}
    frame = read(kind, data(), [f"{name} STRING" for name in NAMES], **options).frame
    assert frame.select(*(f"`{name}`" for name in NAMES)).toArrow().to_pylist() == ROWS

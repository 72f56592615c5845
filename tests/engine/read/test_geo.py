"""ReadStep::GeoJson, NdGeoJson and EsriShapefile."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from airflow_provider_odf.engine.read import source

from .features import GOOD, POINT_TEXT, collection, feature, lines

pytestmark = pytest.mark.spark
LABEL = "https://example.com/data"

STATIONS = (
    '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"id": 1, "name": "Main"}, '
    '"geometry": {"type": "Point", "coordinates": [-123.1, 49.25]}}, {"type": "Feature", "properties": {"id": 2, '
    '"name": "Burrard"}, "geometry": {"type": "Point", "coordinates": [-123.12, 49.28]}}]}'
)
MAIN = '{"coordinates":[-123.1,49.25],"type":"Point"}'
BURRARD = '{"coordinates":[-123.12,49.28],"type":"Point"}'


def test_collection_with_a_schema(read) -> None:
    frame = read("GeoJson", STATIONS, ["id BIGINT NOT NULL", "name STRING", "geometry STRING"]).frame
    assert [tuple(r) for r in frame.collect()] == [(1, "Main", MAIN), (2, "Burrard", BURRARD)]
    assert [f.nullable for f in frame.schema] == [False, True, True]


def test_columns_left_out_are_told_the_geometry_among_them(read) -> None:
    notice = (f"{LABEL}: ignored columns that are not in the schema: name, geometry",)
    assert read("GeoJson", STATIONS, ["id BIGINT"]).notices == notice
    record = feature({"id": 1, "name": "x"})
    assert read("NdGeoJson", lines(record), ["id BIGINT"]).notices == notice
    assert read("EsriShapefile", lines(record), ["id BIGINT"]).notices == notice


def test_without_a_schema_columns_come_by_name_the_geometry_among_them(read) -> None:
    content = json.dumps(
        [feature({"zip": "00101", "id": 7, "area": 1.5, "open": True, "none": None, "at": {"y": 2, "x": 1}})]
    )
    frame = read("GeoJson", f'{{"features": {content}, "type": "FeatureCollection", "crs": {{"x": [1]}}}}\n').frame
    assert [(f.name, f.dataType.simpleString()) for f in frame.schema] == [
        ("area", "double"),
        ("at", "struct<x:bigint,y:bigint>"),
        ("geometry", "string"),
        ("id", "bigint"),
        ("none", "string"),
        ("open", "boolean"),
        ("zip", "string"),
    ]
    assert [tuple(r) for r in frame.collect()] == [(1.5, (1, 2), POINT_TEXT, 7, None, True, "00101")]


def test_lines(rows) -> None:
    text = lines(feature({"a": "x"}), feature({"A": "y", "b": 1}, id=5, bbox=[0, 0, 1, 1]))
    assert rows("NdGeoJson", f"\n{text}", ["a STRING", "b INT"]) == [("x", None), ("y", 1)]


def test_properties_are_coerced_as_values_of_ndjson_are(rows) -> None:
    properties = {
        "n": "1",
        "d": "2024-05-01",
        "s": {"x": [1.50, {"y": 2}]},
        "list": [1, 2.0],
        "bytes": "AQI=",
    }
    declared = ["n BIGINT", "d DATE", "s STRING", "list ARRAY<INT>", "bytes BINARY"]
    expected = (1, dt.date(2024, 5, 1), '{"x":[1.5,{"y":2}]}', [1, 2], bytearray(b"\x01\x02"))
    for kind, content in (("GeoJson", collection(feature(properties))), ("NdGeoJson", lines(feature(properties)))):
        assert rows(kind, content, declared) == [expected]


def test_data_without_features_have_no_rows(rows) -> None:
    assert rows("GeoJson", collection(), ["a INT"]) == []
    assert rows("GeoJson", collection()) == []
    assert rows("NdGeoJson", "\n\n", ["a INT"]) == []


def test_lines_refused(refusal_of) -> None:
    assert refusal_of("NdGeoJson", lines({"type": "Feature", "properties": {}}), ["a INT"]) == (
        f"{LABEL}: line 1: the Feature has no geometry: there is no `geometry`"
    )
    assert refusal_of("NdGeoJson", collection(GOOD), ["a INT"]) == (
        f"{LABEL}: line 1: not a GeoJSON Feature but FeatureCollection: read it with kind GeoJson"
    )
    assert refusal_of("NdGeoJson", lines(GOOD, feature({"a": "x"})), ["a INT"]) == (
        f"{LABEL}: line 2, column a: 'x' is not an INT"
    )


def test_keys_that_differ_only_by_case(rows, refusal_of) -> None:
    content = lines(feature({"A": 1, "a": 2}))
    assert rows("NdGeoJson", content, ["a INT"]) == [(2,)]
    assert (
        refusal_of("NdGeoJson", content)
        == f"{LABEL}: the keys A and a differ only by case: declare a schema with one of them"
    )
    message = refusal_of("NdGeoJson", lines(feature({"A": 1, "AA": 1, "aA": 2})), ["aa INT"])
    assert message == f"{LABEL}: line 1, column aa: the keys AA and aA differ only by case"


def test_records_of_a_shapefile_may_have_no_geometry(rows, refusal_of) -> None:
    content = lines(feature({"a": 1}), feature({"a": 2}, None))
    assert rows("EsriShapefile", content, ["a INT", "geometry STRING"]) == [(1, POINT_TEXT), (2, None)]
    assert refusal_of("EsriShapefile", content, ["geometry STRING NOT NULL"]) == (
        f"{LABEL}: record 2, column geometry: null, but the schema declares NOT NULL"
    )


def test_large_files(read, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces by the workers: lines in several, a collection in one."""
    monkeypatch.setattr(source, "CHUNK_BYTES", 4000)
    monkeypatch.setattr("airflow_provider_odf.engine.read.raw.CHUNK_BYTES", 4000)
    features = [feature({"a": i}) for i in range(100)]
    for kind, content in (("NdGeoJson", lines(*features)), ("GeoJson", collection(*features))):
        assert [r.a for r in read(kind, content).frame.collect()] == list(range(100))

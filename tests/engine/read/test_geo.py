"""ReadStep::GeoJson, NdGeoJson and EsriShapefile."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from airflow_provider_odf.engine.read import geo_features, source
from airflow_provider_odf.engine.read.json_text import decode

pytestmark = pytest.mark.spark
LABEL = "https://example.com/data"

STATIONS = (
    '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"id": 1, "name": "Main"}, '
    '"geometry": {"type": "Point", "coordinates": [-123.1, 49.25]}}, {"type": "Feature", "properties": {"id": 2, '
    '"name": "Burrard"}, "geometry": {"type": "Point", "coordinates": [-123.12, 49.28]}}]}'
)
MAIN = '{"coordinates":[-123.1,49.25],"type":"Point"}'
BURRARD = '{"coordinates":[-123.12,49.28],"type":"Point"}'
POINT: dict[str, Any] = {"type": "Point", "coordinates": [0.0, 0.0]}
POINT_TEXT = '{"coordinates":[0.0,0.0],"type":"Point"}'


def feature(properties: object, geometry: object = POINT, **more: object) -> dict[str, object]:
    return {"type": "Feature", "properties": properties, "geometry": geometry, **more}


def collection(*features: object, **more: object) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features, **more})


def lines(*features: object) -> str:
    return "".join(json.dumps(f) + "\n" for f in features)


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


GOOD = feature({"a": 1})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n", "line 2: not a GeoJSON FeatureCollection: the text is not a JSON object at the end of the text"),
        ("[1]", "line 1: not a GeoJSON FeatureCollection: the text is not a JSON object at '[1]'"),
        ("{}", "not a GeoJSON FeatureCollection: its `type` is missing"),
        ('{"type": "Topology", "features": []}', "not a GeoJSON FeatureCollection: its `type` is Topology"),
        ('{"features": []}', "not a GeoJSON FeatureCollection: its `type` is missing"),
        ('{"features": [], "type": 5}', "not a GeoJSON FeatureCollection: its `type` is '5'"),
        ('{"type": "FeatureCollection"}', "the FeatureCollection has no `features`"),
        (
            '{"type": "FeatureCollection", "features": {}}',
            "line 1: the `features` of the FeatureCollection are not an array at '{}}'",
        ),
        (
            lines(GOOD),
            "a GeoJSON Feature, not a FeatureCollection: read lines of Features with kind NdGeoJson",
        ),
        (collection(GOOD) + "{}", "line 1: text after the end of the FeatureCollection at '{}'"),
        (collection(GOOD, 5), "record 2: not a GeoJSON Feature but '5'"),
        (collection(GOOD, {"a": 1}), "record 2: not a GeoJSON Feature but missing"),
        (
            '{"type": "FeatureCollection", "features": [], "features": []}',
            "line 1: the FeatureCollection has `features` twice at '[]}'",
        ),
        (collection(GOOD)[:-2], "line 1: invalid JSON: expected a comma or ] at the end of the text"),
        (collection(feature({"a": "x"})), "record 1, column a: 'x' is not an INT"),
        (collection(GOOD, feature({})), "record 2, column a: null, but the schema declares NOT NULL"),
        (b'{"type": "FeatureColl\xff"}', "line 1: byte 0xff is not utf-8: set `encoding` to the encoding of the file"),
    ],
)
def test_collection_refused(refusal_of, content: str | bytes, message: str) -> None:
    assert refusal_of("GeoJson", content, ["a INT NOT NULL"]) == f"{LABEL}: {message}"


@pytest.mark.parametrize(
    ("properties", "geometry", "message"),
    [
        (None, POINT, "the Feature has no properties: `properties` is 'null'"),
        ({"a": 1}, None, "the Feature has no geometry: `geometry` is 'null'"),
        ({"a": 1}, [1, 2], "the Feature has no geometry: `geometry` is '[1,2]'"),
        ({"a": 1}, {"coordinates": [1, 2]}, "the Feature has no geometry: `geometry` is '{\"coordinates\":[1,2]}'"),
        ({"Geometry": 1}, POINT, "the Feature has a property Geometry, which is the name of the geometry column"),
        (
            {"a": 1},
            {"type": "Point", "coordinates": json.loads("[" * 600 + "]" * 600)},
            "geometry: values are nested too deeply",
        ),
        (
            {"a": 1},
            {"type": "Point", "coordinates": [float("inf")]},
            "geometry: 'Infinity' is not a number that GeoJSON allows",
        ),
    ],
)
@pytest.mark.parametrize("columns", [["a INT"], None])
def test_feature_refused(refusal_of, properties: object, geometry: object, message: str, columns: object) -> None:
    bad = feature(properties, geometry)
    assert refusal_of("GeoJson", collection(GOOD, bad), columns) == f"{LABEL}: record 2: {message}"
    assert refusal_of("NdGeoJson", lines(GOOD, bad), columns) == f"{LABEL}: line 2: {message}"


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


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.0", "0.0"),
        ("-123.10", "-123.1"),
        ("5", "5"),
        ("-5", "-5"),
        ("-0", "-0.0"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1e2", "100.0"),
        ("1E16", "1e16"),
        ("1.5e+16", "1.5e16"),
        ("1000000000000000.0", "1000000000000000.0"),
        ("0.0001", "0.0001"),
        ("0.00001", "0.00001"),
        ("-0.0000123", "-0.0000123"),
        ("0.00000123", "1.23e-6"),
        ("30.466304779052763", "30.466304779052763"),
        ("0.1000000000000000055", "0.1"),
    ],
)
def test_numbers_of_geometries_have_one_text(number: str, text: str) -> None:
    """As the reference implementation writes them."""
    value, _ = decode(f'{{"type": "Point", "coordinates": [{number}]}}', 0)
    assert geo_features.canonical(value) == f'{{"coordinates":[{text}],"type":"Point"}}'


def test_keys_and_texts_of_geometries() -> None:
    value = {
        "type": "GeometryCollection",
        "geometries": [{"type": "Point", "coordinates": []}],
        "é": 'a"\n\x01ü',
        "Z": None,
    }
    assert geo_features.canonical(value) == (
        '{"Z":null,"geometries":[{"coordinates":[],"type":"Point"}],"type":"GeometryCollection","é":"a\\"\\n\\u0001ü"}'
    )

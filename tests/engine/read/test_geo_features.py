"""Features that are refused, and the canonical text of geometries."""

from __future__ import annotations

import json
import sys

import pytest

from airflow_provider_odf.engine.read import geo
from airflow_provider_odf.engine.read.json_text import decode

from .features import GOOD, POINT, collection, feature, lines

pytestmark = pytest.mark.spark

LABEL = "https://example.com/data"


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
        (collection(GOOD) + "{}", "line 1: unexpected text after the end of the FeatureCollection at '{}'"),
        (collection(GOOD, 5), "record 2: not a GeoJSON Feature but '5'"),
        (collection(GOOD, {"a": 1}), "record 2: not a GeoJSON Feature but missing"),
        (
            '{"type": "FeatureCollection", "features": [], "features": []}',
            "line 1: the FeatureCollection has a duplicate key `features` at '[]}'",
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
        ({"Geometry": 1}, POINT, "the property Geometry has the name of the geometry column: rename it in the source"),
        pytest.param(
            {"a": 1},
            {"type": "Point", "coordinates": json.loads("[" * 600 + "]" * 600)},
            "geometry: values are nested too deeply",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Pythons write it"),
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
    assert geo.canonical(value) == f'{{"coordinates":[{text}],"type":"Point"}}'


def test_keys_and_texts_of_geometries() -> None:
    value = {
        "type": "GeometryCollection",
        "geometries": [{"type": "Point", "coordinates": []}],
        "é": 'a"\n\x01ü',
        "Z": None,
    }
    assert geo.canonical(value) == (
        '{"Z":null,"geometries":[{"coordinates":[],"type":"Point"}],"type":"GeometryCollection","é":"a\\"\\n\\u0001ü"}'
    )

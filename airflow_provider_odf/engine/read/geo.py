"""ReadStep::GeoJson, ReadStep::NdGeoJson and ReadStep::EsriShapefile of the specification.

The properties of a Feature become columns with the coercion of JSON objects. The column ``geometry`` is text. Without a
schema, columns are sorted by name. The coordinator converts a shapefile to lines of Features before the request.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.engine.read import json_text, source
from airflow_provider_odf.engine.read.convert import OpenFile
from airflow_provider_odf.engine.read.json import JsonLines, JsonRecords, open_records
from airflow_provider_odf.engine.read.json_text import TOO_DEEP, JsonText, Number, Records, brief
from airflow_provider_odf.engine.read.source import Chunk, Malformed, excerpt
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import GEOMETRY

_ENCODING = "utf-8"


def open_geojson(step: ReadStep, path: str, label: str) -> OpenFile:
    """Open one file with a FeatureCollection."""
    return open_records(step, FeatureCollection(_ENCODING), path, label)


def open_ndgeojson(step: ReadStep, path: str, label: str) -> OpenFile:
    """Open one file with a Feature on each line."""
    return open_records(step, FeatureLines(_ENCODING), path, label)


def open_shapefile(step: ReadStep, path: str, label: str) -> OpenFile:
    """Open the records of a shapefile: one file with a Feature, or null for a null shape, on each line."""
    return open_records(step, ShapefileRecords(_ENCODING), path, label)


@dataclass(frozen=True)
class FeatureCollection(JsonRecords):
    def objects(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, feature in in_collection(source.texts(chunk, self.encoding)):
            try:
                yield number, record(feature)
            except Malformed as e:
                raise Malformed(e.reason, record=number) from None


@dataclass(frozen=True)
class FeatureLines(JsonLines):
    may_lack_geometry = False

    def objects(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, feature in json_text.on_lines(source.texts(chunk, self.encoding), chunk.first_line):
            try:
                yield line, record(feature, may_lack_geometry=self.may_lack_geometry)
            except Malformed as e:
                raise Malformed(f"{self.unit} {line}: {e.reason}") from None


@dataclass(frozen=True)
class ShapefileRecords(FeatureLines):
    unit = "record"
    may_lack_geometry = True


_LARGEST_INTEGERS = (-(2**63), 2**64)
_EXPONENT = re.compile(r"e([+-])0*")


def in_collection(blocks: Iterable[str]) -> Records:
    """Yield the objects in the ``features`` of a FeatureCollection, numbered from 1.

    :raises Malformed: the text is not JSON, or not a FeatureCollection.
    """
    document = JsonText(blocks)
    if document.peek() != "{":
        raise document.malformed("not a GeoJSON FeatureCollection: the text is not a JSON object")
    kind, is_found = None, False
    for _ in document.members():
        key = document.key()
        if key == "type":
            kind = document.value()
            _expect_collection(kind)
        elif key == "features":
            if is_found:
                raise document.malformed("the FeatureCollection has a duplicate key `features`")
            yield from _features(document)
            is_found = True
        else:
            document.skip()
    _expect_collection(kind)
    if not is_found:
        raise Malformed("the FeatureCollection has no `features`")
    if document.peek():
        raise document.malformed("unexpected text after the end of the FeatureCollection")


def _expect_collection(kind: Any) -> None:
    if kind == "Feature":
        raise Malformed("a GeoJSON Feature, not a FeatureCollection: read lines of Features with kind NdGeoJson")
    if kind != "FeatureCollection":
        raise Malformed(f"not a GeoJSON FeatureCollection: its `type` is {_named(kind)}")


def _features(document: JsonText) -> Records:
    if document.peek() != "[":
        raise document.malformed("the `features` of the FeatureCollection are not an array")
    yield from document.elements()


def record(feature: Any, *, may_lack_geometry: bool = False) -> dict[str, Any]:
    """Return the properties of a Feature, and its geometry as text.

    With ``may_lack_geometry``, a missing geometry is None.

    :raises Malformed: it is not a Feature, has no properties or no geometry, or a property has the name of the
        geometry.
    """
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        kind = _named(feature.get("type")) if isinstance(feature, dict) else brief(feature)
        hint = ": read it with kind GeoJson" if kind == "FeatureCollection" else ""
        raise Malformed(f"not a GeoJSON Feature but {kind}{hint}")
    properties, geometry = feature.get("properties"), feature.get(GEOMETRY)
    if not isinstance(properties, dict):
        raise Malformed(f"the Feature has no properties: {_value_text(feature, 'properties')}")
    if clash := [name for name in properties if name.lower() == GEOMETRY]:
        raise Malformed(f"the property {clash[0]} has the name of the geometry column: rename it in the source")
    if geometry is None and may_lack_geometry:
        return {**properties, GEOMETRY: None}
    if not isinstance(geometry, dict) or not isinstance(geometry.get("type"), str):
        raise Malformed(f"the Feature has no geometry: {_value_text(feature, GEOMETRY)}")
    return {**properties, GEOMETRY: canonical(geometry)}


def _value_text(feature: dict[str, Any], name: str) -> str:
    return f"`{name}` is {brief(feature[name])}" if name in feature else f"there is no `{name}`"


def _named(kind: Any) -> str:
    if kind is None:
        return "missing"
    return kind if isinstance(kind, str) and kind.isalpha() else brief(kind)


def canonical(value: Any) -> str:
    """Return a JSON value as canonical text.

    :raises Malformed: a number that is not valid in JSON or beyond 64-bit numbers, or too deep nesting.
    """
    try:
        return _canonical(value)
    except RecursionError:
        raise Malformed(f"geometry: {TOO_DEEP}") from None


def _canonical(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, Number):
        return _number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    return _string(value)


def _string(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(text: Number) -> str:
    if text.lstrip("-").isdigit() and text != "-0":
        low, high = _LARGEST_INTEGERS
        if len(text) < 19 or (len(text) < 22 and low <= int(text) < high):
            return str(text)
    number = float(text)
    if not math.isfinite(number):
        raise Malformed(f"geometry: {excerpt(text)} is not a number that GeoJSON allows")
    written = repr(number)
    return _exponential(written, number) if "e" in written else written


def _exponential(written: str, number: float) -> str:
    """Return a number with an exponent in its shortest form.

    ``1e-05`` becomes 0.00001. Other exponents have neither a plus sign nor leading zeros.
    """
    if 1e-5 <= abs(number) < 1e-4:
        digits, _, _ = written.lstrip("-").partition("e")
        return ("-" if number < 0 else "") + "0.0000" + digits.replace(".", "")
    return _EXPONENT.sub(lambda match: "e-" if match[1] == "-" else "e", written)

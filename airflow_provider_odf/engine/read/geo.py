"""ReadStep::GeoJson, ReadStep::NdGeoJson and ReadStep::EsriShapefile of the specification.

The properties of a Feature become columns with the coercion of JSON objects. The column ``geometry`` is text. Without a
schema, columns are sorted by name. The coordinator converts a shapefile to lines of Features before the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.engine.read import geo_features, json_values, source
from airflow_provider_odf.engine.read.json import JsonLines, JsonRecords, open_records
from airflow_provider_odf.engine.read.open_file import OpenFile
from airflow_provider_odf.engine.read.problem import Malformed
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.protocol import ReadStep

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
    def of(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, feature in geo_features.in_collection(source.texts(chunk, self.encoding)):
            try:
                yield number, geo_features.record(feature)
            except Malformed as e:
                raise Malformed(e.reason, record=number) from None


@dataclass(frozen=True)
class FeatureLines(JsonLines):
    may_lack_geometry = False

    def of(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, feature in json_values.on_lines(source.texts(chunk, self.encoding), chunk.first_line):
            try:
                yield line, geo_features.record(feature, may_lack_geometry=self.may_lack_geometry)
            except Malformed as e:
                raise Malformed(f"{self.unit} {line}: {e.reason}") from None


@dataclass(frozen=True)
class ShapefileRecords(FeatureLines):
    unit = "record"
    may_lack_geometry = True

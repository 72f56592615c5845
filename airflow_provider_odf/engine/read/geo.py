"""ReadStep::GeoJson, ReadStep::NdGeoJson and ReadStep::EsriShapefile of the specification.

The properties of a Feature become columns, coerced as those of JSON objects are, beside ``geometry``, which is text.
Without a schema, columns come in the order of their names. A shapefile arrives here as lines of Features, made of it
before the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_odf.engine.read import geo_features, json_values, source
from airflow_provider_odf.engine.read.json import JsonLines, JsonRecords, read_records
from airflow_provider_odf.engine.read.problem import Malformed
from airflow_provider_odf.engine.read.result import Read
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.protocol import ReadStep

_ENCODING = "utf-8"


def read_geojson(spark: SparkSession, step: ReadStep, path: str, label: str) -> Read:
    """The Features of the FeatureCollection in one file.

    :raises InvalidQuery: without a schema, the data are not right.
    """
    return _read(spark, step, FeatureCollection(_ENCODING, ()), source.chunks(path, False), label)


def read_ndgeojson(spark: SparkSession, step: ReadStep, path: str, label: str) -> Read:
    """The Features on the lines of one file.

    :raises InvalidQuery: without a schema, the data are not right.
    """
    return _read(spark, step, FeatureLines(_ENCODING), source.chunks(path, True), label)


def read_shapefile(spark: SparkSession, step: ReadStep, path: str, label: str) -> Read:
    """The records of a shapefile, which are Features on the lines of one file; its null shapes are null.

    :raises InvalidQuery: without a schema, the data are not right.
    """
    return _read(spark, step, ShapefileRecords(_ENCODING), source.chunks(path, True), label)


def _read(
    spark: SparkSession, step: ReadStep, features: FeatureCollection | FeatureLines, chunks: Sequence[Chunk], label: str
) -> Read:
    return read_records(spark, replace(step, kind="NdJson"), features, chunks, label)


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

"""``read``: the rows of raw files, with the reader for the kind of the read step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import files
from airflow_provider_odf.engine.read import source
from airflow_provider_odf.engine.read.csv import open_csv
from airflow_provider_odf.engine.read.geo import open_geojson, open_ndgeojson, open_shapefile
from airflow_provider_odf.engine.read.json import open_json, open_ndjson
from airflow_provider_odf.engine.read.parquet import ParquetFile
from airflow_provider_odf.engine.read.result import Read
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep


class Source(Protocol):
    """An open file with known columns."""

    def read(self, spark: SparkSession) -> Read:
        """Return the rows in order."""


Reader: TypeAlias = Callable[[ReadStep, str, str], Source]
"""Function that opens a file from a read step, its path and its name in messages.

Without a schema, columns come from the file.
"""

READERS: dict[str, Reader] = {
    "Csv": open_csv,
    "EsriShapefile": open_shapefile,
    "GeoJson": open_geojson,
    "Json": open_json,
    "NdGeoJson": open_ndgeojson,
    "NdJson": open_ndjson,
    "Parquet": ParquetFile,
}
"""Kind of a read step -> its reader.

A reader raises InvalidQuery if an option or the beginning of the data is not valid. Later problems appear when the rows
are used.
"""


def read(spark: SparkSession, step: ReadStep, paths: Sequence[str], label: str) -> Read:
    """Return the rows of the files of one input, in the order of ``paths`` and of the files.

    ``label`` is the name of the input in messages, with the number of the file if there are several. Without a declared
    schema, the first file with records defines the columns.

    :raises InvalidQuery: the step or the beginning of the data is not valid, or a file has 0 bytes and its format needs
        some. Later problems appear when the rows are used.
    """
    reader = READERS.get(step.kind)
    if reader is None:
        raise InvalidQuery(f"read: {step.kind} is not a kind of read step: use one of {', '.join(READERS)}")
    if not paths:
        raise InvalidQuery(f"{label}: no files to read")
    several = len(paths) > 1
    named = [(path, f"{label}, file {n} of {len(paths)}" if several else label) for n, path in enumerate(paths, 1)]
    for path, name in named:
        if files.is_file(path) and (reason := source.unreadable(path, step)):
            raise InvalidQuery(f"{name}: {reason}")
    parts = list[Read]()
    for path, name in named:
        parts.append(reader(step, path, name).read(spark))
        step = replace(step, columns=step.columns or _columns(parts[-1].frame))
    notices = dict.fromkeys(notice for part in parts for notice in part.notices)
    headers = tuple(header for part in parts for header in part.headers)
    # A file without records has no columns unless they are declared.
    frames = [part.frame for part in parts if part.frame.columns] or [parts[0].frame]
    return Read(reduce(DataFrame.unionAll, frames), tuple(notices), headers)


def _columns(frame: DataFrame) -> tuple[Column, ...] | None:
    return tuple(Column(f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema) or None

"""A CSV file as the input of a merge in columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.column_layout import Layout, layout_of
from airflow_provider_odf.engine.columnar import texts
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.engine.read import source
from airflow_provider_odf.engine.read.convert import OpenFile
from airflow_provider_odf.engine.read.csv import open_csv
from airflow_provider_odf.engine.read.scalar import Formats
from airflow_provider_odf.engine.read.source import Chunk, Malformed
from airflow_provider_odf.protocol import MergeInput, MergeRequest, PositionalHeader
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.threads import map_ahead

_TEXT = 2
"""Ratio of a file's bytes to those of its rows in memory above which there is no point in reading it."""

_LARGEST_COLUMN = (1 << 31) - 1
_DECIMAL = re.compile(r"(?:DECIMAL|DEC|NUMERIC)(?:\s*\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\))?", re.IGNORECASE)
_TYPES: Mapping[str, T.DataType] = {
    "BOOLEAN": T.BooleanType(),
    "TINYINT": T.ByteType(),
    "SMALLINT": T.ShortType(),
    "INT": T.IntegerType(),
    "INTEGER": T.IntegerType(),
    "BIGINT": T.LongType(),
    "FLOAT": T.FloatType(),
    "DOUBLE": T.DoubleType(),
    "STRING": T.StringType(),
    "DATE": T.DateType(),
    "TIMESTAMP": T.TimestampType(),
}


@dataclass(frozen=True)
class CsvInput:
    """A file whose columns have plain types. ``origins`` has for columns of the dataset their number in the file."""

    file: OpenFile
    layout: Layout
    types: T.StructType
    origins: Mapping[str, int]

    @property
    def notices(self) -> tuple[str, ...]:
        return self.file.notices

    @property
    def headers(self) -> tuple[PositionalHeader, ...]:
        return self.file.headers

    def read(self, memory_limit: int) -> pa.Table | None:
        """Return the rows. Return None if they take more than ``memory_limit`` bytes, or if only the strict reader can
        judge a value."""
        if sum(chunk.end - chunk.start for chunk in self.file.chunks) > memory_limit * _TEXT:
            return None
        parts, size = list[pa.Table](), 0
        try:
            for part in self.parts():
                parts.append(part)
                size += part.nbytes
                if size > memory_limit:
                    return None
        except NeedsSpark:
            return None
        if max((sum(part[name].nbytes for part in parts) for name in self.origins), default=0) > _LARGEST_COLUMN:
            return None
        return pa.table(
            {name: _whole([part[name].chunk(0) for part in parts], self.kinds[name]) for name in self.kinds}
        )

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows in order, with each column in one piece.

        :raises NeedsSpark: only the strict reader can judge a value.
        """
        yield from map_ahead(self._parse, self.file.chunks)

    @cached_property
    def kinds(self) -> Mapping[str, pa.DataType]:
        """Types of the columns of the dataset that the file has."""
        kinds = schemas.readable(self.layout.schema)
        return {name: kinds.field(name).type for name in self.origins}

    def _parse(self, chunk: Chunk) -> pa.Table:
        parts = dict[str, list[pa.Array]]((name, []) for name in self.origins)
        required = {column.name.lower() for column in self.file.columns if not column.is_nullable}
        try:
            for batch in self.file.parser.parse(chunk):
                for name, number in self.origins.items():
                    values = texts.convert(batch.column(number), self.kinds[name])
                    if values is None or (values.null_count and name.lower() in required):
                        raise NeedsSpark
                    parts[name].append(values)
        except Malformed:
            raise NeedsSpark from None
        return pa.table({name: _whole(arrays, self.kinds[name]) for name, arrays in parts.items()})


def open_input(request: MergeRequest, origin: MergeInput, stored: pa.Schema | None) -> CsvInput | None:
    """Open an input. Return None if it has types or formats that only Spark reads.

    :raises InvalidQuery: an option, the header, names, types, keys or the stored schema do not allow it.
    """
    step = request.read
    formats = Formats.of(step)
    if formats.date is not None or formats.timestamp is not None or (step.columns is None and step.infer_schema):
        return None
    (path,) = origin.paths
    if not files.is_file(path) or source.unreadable(path, step):
        return None
    file = open_csv(step, path, origin.label or path)
    fields = _fields(file)
    if not fields:
        return None
    layout, own = layout_of(fields, request, stored)
    if own.op is not None or (own.event is not None and isinstance(own.event.dataType, T.StringType)):
        return None
    numbers = {field.name: number for number, field in enumerate(fields)}
    origins = {field.name: numbers[name] for name, field in own.data}
    if own.event is not None:
        origins[layout.event_time] = numbers[own.event.name]
    time = T.DateType() if pt.is_date(layout.schema.field(3).type) else T.TimestampType()
    types = [T.StructField(n, fields[origins[n]].dataType if n in origins else time) for n in layout.columns]
    return CsvInput(file, layout, T.StructType(types), origins)


def _fields(file: OpenFile) -> list[T.StructField] | None:
    """Return the columns of a file, None if only Spark knows a type."""
    types = [_type(column.type) for column in file.columns]
    if None in types:
        return None
    return [T.StructField(column.name, kind) for column, kind in zip(file.columns, types, strict=True) if kind]


def _type(ddl: str) -> T.DataType | None:
    """Return the Spark type of a declared type, without Spark's parser."""
    if decimal := _DECIMAL.fullmatch(ddl.strip()):
        precision, scale = int(decimal[1] or 10), int(decimal[2] or 0)
        return T.DecimalType(precision, scale) if 0 < precision <= 38 and scale <= precision else None
    return _TYPES.get(ddl.strip().upper())


def _whole(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], kind)

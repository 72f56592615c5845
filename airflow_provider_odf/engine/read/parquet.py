"""ReadStep::Parquet of the specification.

A declared schema converts values strictly. Times without a zone are UTC. Nanoseconds, which Spark cannot read, are cut
to microseconds. Spark reads unsigned integers as the next larger signed type.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from airflow_provider_odf.engine import parquet_frame
from airflow_provider_odf.engine.read import convert, source
from airflow_provider_odf.engine.read.convert import Read
from airflow_provider_odf.engine.read.raw import PLACE, PROBLEM
from airflow_provider_odf.engine.read.scalar import NESTED, is_castable
from airflow_provider_odf.engine.read.source import ignored_columns
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.object_stores import is_object
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.records import files

_MICROS = 1000
_MOST_DIGITS = 38
_ROW = "odf:row"
_BROTLI = b"\x15\x08\x16"
"""In the bytes of a footer: the codec 4 of a column chunk, before its number of values."""
_END = 8
"""Bytes of a file after its footer."""


@dataclass(frozen=True)
class ParquetFile:
    """One file or directory."""

    step: ReadStep
    path: str
    label: str

    def read(self, spark: SparkSession) -> Read:
        """Return the rows in order.

        :raises InvalidQuery: the file is not Parquet, lacks a declared column, or has a type that cannot be read or
            converted.
        """
        footer = _footer(self.path, self.label)
        if footer and (problem := next(problems(self.path, footer), "")):
            raise InvalidQuery(f"{self.label}: {problem}")
        is_small = footer is not None and files.size(self.path) <= source.CHUNK_BYTES
        # Of damaged pages, Spark reads some without end.
        if is_small and (damage := files.damage(self.path)):
            raise InvalidQuery(f"{self.label}: the Parquet file is damaged: {damage}")
        nanoseconds = _nanoseconds(footer) if footer and not is_object(self.path) else frozenset()
        if nanoseconds:
            # This setting affects only the session of this request.
            spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
        if footer and _has_split_bytes(footer):
            # Spark's own decoder lacks this encoding, unlike that of Parquet's library.
            spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
        try:
            frame = parquet_frame.read(spark, [self.path], row=_ROW)
        except InvalidQuery as e:
            raise InvalidQuery(f"{self.label}: {e}") from None
        if is_small:
            frame = frame.coalesce(1)
        columns = [_universal(f, f.name in nanoseconds) for f in frame.schema if f.name != _ROW]
        if not self.step.columns:
            return Read(frame.select(*columns))
        return _convert(frame.select(*columns, _column(_ROW)), self.step, self.label)


def _footer(path: str, label: str) -> pq.FileMetaData | None:
    """Return the footer of a file, None for a directory."""
    if not files.is_file(path):
        return None
    try:
        return files.footer(path)
    except (pa.ArrowException, OSError) as e:
        if not files.is_damage(e):
            raise
        raise InvalidQuery(f"{label}: not a Parquet file: {e}") from None


def problems(path: str, footer: pq.FileMetaData) -> Iterator[str]:
    """Yield the problems that prevent Spark from reading a file."""
    names: dict[str, str] = {}
    try:
        brotli = _compressed_with_brotli(path, footer)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        if isinstance(e, OSError) and not files.is_damage(e):
            raise
        yield f"the Parquet file is damaged: {e}"
        return
    for name in footer.schema.to_arrow_schema().names:
        if not name:
            yield "a column has no name: write the file with a name for each column"
        if other := names.get(name.lower()):
            yield f"the columns {other} and {name} differ only by case: write the file with other names"
        names[name.lower()] = name
    for column in (footer.schema.column(i) for i in range(footer.num_columns)):
        # Spark has no codec for it. Arrow has one, but a file is read or refused alike, whatever merges it.
        if column.path in brotli:
            yield f"column {column.path} is compressed with Brotli: write the file with Zstandard, Snappy or GZIP"
        if kind := _unknown_type(column, is_nested=column.path.lower() not in names):
            yield f"column {column.path}: {kind[0]} cannot be read: write the file with {kind[1]}"


def _compressed_with_brotli(path: str, footer: pq.FileMetaData) -> set[str]:
    """Return the columns with a part that is compressed with Brotli.

    Arrow ends the process if it is asked for a codec that it does not know, which a damaged footer may name. So it is
    only asked about footers that may name Brotli, after it has opened each column, where an unknown codec is an error.

    :raises ArrowException: a column cannot be opened.
    :raises OSError: likewise, or the file cannot be read.
    """
    with files.open_without_copy(path) as file:
        file.seek(-footer.serialized_size - _END, os.SEEK_END)
        if _BROTLI not in file.read(footer.serialized_size):
            return set()
        opened = pq.ParquetFile(file, metadata=footer)
        for group in range(footer.num_row_groups):
            next(opened.iter_batches(1, row_groups=[group], use_threads=False), None)
    return {chunk.path_in_schema for chunk in _column_chunks(footer) if chunk.compression == "BROTLI"}


def _column_chunks(footer: pq.FileMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    for group in map(footer.row_group, range(footer.num_row_groups)):
        yield from map(group.column, range(group.num_columns))


def _has_split_bytes(footer: pq.FileMetaData) -> bool:
    return any("BYTE_STREAM_SPLIT" in chunk.encodings for chunk in _column_chunks(footer))


def _unknown_type(column: pq.ColumnSchema, *, is_nested: bool) -> tuple[str, str] | None:
    """Return a column's type and a replacement if Spark does not support the type, else None."""
    logical = json.loads(column.logical_type.to_json())
    kind, unit = logical["Type"].upper(), logical.get("timeUnit")
    if kind == "FLOAT16":
        return kind, "FLOAT"
    if kind == "TIME" and unit != "microseconds":
        return f"a TIME of {unit}", "one of microseconds"
    if kind == "TIMESTAMP" and unit == "nanoseconds" and is_nested:
        return "a nested TIMESTAMP of nanoseconds", "one of microseconds"
    if kind == "DECIMAL" and logical["precision"] > _MOST_DIGITS:
        return f"a DECIMAL of {logical['precision']} digits", f"{_MOST_DIGITS} at most"
    return None


def _nanoseconds(footer: pq.FileMetaData) -> frozenset[str]:
    """Return the columns that Spark reads as integers of nanoseconds. INT96 is not among them."""
    columns = [footer.schema.column(i) for i in range(footer.num_columns)]
    int96 = {column.path for column in columns if column.physical_type == "INT96"}
    fields = [f for f in footer.schema.to_arrow_schema() if f.name not in int96]
    return frozenset(f.name for f in fields if pa.types.is_timestamp(f.type) and f.type.unit == "ns")


def _universal(field: st.StructField, is_nanoseconds: bool) -> Expression:
    column = _column(field.name)
    if is_nanoseconds:
        return sf.timestamp_micros(sf.floor(column / _MICROS).cast("bigint")).alias(field.name)
    if isinstance(field.dataType, st.TimestampNTZType):
        return column.cast("timestamp").alias(field.name)
    return column


def _convert(frame: DataFrame, step: ReadStep, label: str) -> Read:
    columns = step.columns or ()
    names = [name for name in frame.columns if name != _ROW]
    actual = {name.lower(): name for name in names}
    wanted = {column.name.lower() for column in columns}
    if missing := [column.name for column in columns if column.name.lower() not in actual]:
        raise InvalidQuery(f"{label}: no column {', '.join(missing)} in the file, which has {', '.join(names)}")
    types = {f.name.lower(): f.dataType for f in frame.schema}
    extra = [name for name in names if name.lower() not in wanted]
    for field in convert.spark_types(columns):
        extra += _undeclared_fields(types[field.name.lower()], field.dataType, f"{label}: column", field.name)
    raw = frame.select(
        *(_column(actual[column.name.lower()]).alias(convert.raw_name(i)) for i, column in enumerate(columns)),
        _column(_ROW).alias(PLACE),
        sf.lit(None).cast("string").alias(PROBLEM),
    )
    return Read(convert.rows(raw, columns, step, text(label), "row"), ignored_columns(label, extra))


def _undeclared_fields(actual: st.DataType, kind: st.DataType, where: str, path: str) -> Iterator[str]:
    """Yield the struct fields of a type that the declared type omits."""
    if isinstance(actual, st.StructType) and isinstance(kind, st.StructType):
        fields = {f.name.lower(): f.dataType for f in actual}
        for field in kind:
            if field.name.lower() not in fields:
                raise InvalidQuery(
                    f"{where} {path} has no field {field.name} in the file, only {', '.join(actual.names)}"
                )
            yield from _undeclared_fields(fields.pop(field.name.lower()), field.dataType, where, f"{path}.{field.name}")
        yield from (f"{path}.{name}" for name in actual.names if name.lower() in fields)
    elif isinstance(actual, st.ArrayType) and isinstance(kind, st.ArrayType):
        yield from _undeclared_fields(actual.elementType, kind.elementType, where, f"{path}[]")
    elif isinstance(actual, st.MapType) and isinstance(kind, st.MapType) and actual.keyType == kind.keyType:
        yield from _undeclared_fields(actual.valueType, kind.valueType, where, f"{path}{{}}")
    elif isinstance(kind, NESTED) or not is_castable(actual, kind):
        kinds = (t.simpleString().upper() for t in (actual, kind))
        raise InvalidQuery("{} {} is {} in the file, which cannot be read as {}".format(where, path, *kinds))


def _column(name: str) -> Expression:
    return sf.col(f"`{name.replace('`', '``')}`")

"""A Parquet file as the input of a merge in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.column_layout import Layout, layout_of
from airflow_provider_odf.engine.columnar import parquet_rows
from airflow_provider_odf.engine.read import parquet
from airflow_provider_odf.protocol import MergeInput, MergeRequest, PositionalHeader
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas

_TYPES: Mapping[pa.DataType, T.DataType] = {
    pa.bool_(): T.BooleanType(),
    pa.int8(): T.ByteType(),
    pa.uint8(): T.ShortType(),
    pa.int16(): T.ShortType(),
    pa.uint16(): T.IntegerType(),
    pa.int32(): T.IntegerType(),
    pa.uint32(): T.LongType(),
    pa.int64(): T.LongType(),
    pa.float32(): T.FloatType(),
    pa.float64(): T.DoubleType(),
    pa.string(): T.StringType(),
    pa.large_string(): T.StringType(),
    pa.binary(): T.BinaryType(),
    pa.large_binary(): T.BinaryType(),
    pa.date32(): T.DateType(),
}
"""Types that Spark reads columns of a file as."""


@dataclass(frozen=True)
class ParquetInput:
    """A file without nested columns. ``origins`` has the names in the file of the columns that the file has."""

    path: str
    layout: Layout
    types: T.StructType
    origins: Mapping[str, str]

    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()

    def read(self, most: int) -> pa.Table | None:
        """Return the rows. Return None if they take more than ``most`` bytes, or if only Spark can read them."""
        kinds = schemas.readable(self.layout.schema)
        columns = {name: (origin, kinds.field(name).type) for name, origin in self.origins.items()}
        try:
            return parquet_rows.read(self.path, columns, most)
        except (OSError, pa.ArrowException):
            return None


def open_input(request: MergeRequest, source: MergeInput, stored: pa.Schema | None) -> ParquetInput | None:
    """Open an input. Return None if it is not one Parquet file, or has types that only Spark reads.

    :raises InvalidQuery: names, types, keys or the stored schema do not allow it.
    """
    if request.read.kind != "Parquet" or len(source.paths) != 1:
        return None
    if request.read.columns is not None or request.preprocess is not None:
        return None
    if (fields := _fields(source.paths[0])) is None:
        return None
    layout, own = layout_of(fields, request, stored)
    if own.op is not None or (own.event is not None and isinstance(own.event.dataType, T.StringType)):
        return None
    named = {field.name: (name, field.dataType) for name, field in own.data}
    if own.event is not None:
        named[layout.event_time] = (own.event.name, own.event.dataType)
    time = T.DateType() if pt.is_date(layout.schema.field(3).type) else T.TimestampType()
    types = [T.StructField(name, named[name][1] if name in named else time) for name in layout.columns]
    return ParquetInput(
        source.paths[0], layout, T.StructType(types), {name: origin for name, (origin, _) in named.items()}
    )


def _fields(path: str) -> list[T.StructField] | None:
    """Return the columns of a file with the types that Spark reads, None if Spark must read or refuse the file."""
    try:
        if not files.is_file(path):
            return None
        with files.open_file(path) as file:
            footer = pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return None
    if next(parquet.problems(footer), None) is not None:
        return None
    kinds = list(_spark_types(footer))
    names = footer.schema.to_arrow_schema().names
    return [T.StructField(name, kind) for name, kind in zip(names, kinds, strict=True) if kind] if all(kinds) else None


def _spark_types(footer: pq.FileMetaData) -> Iterator[T.DataType | None]:
    """Yield the type of each column, None if it is nested or only Spark knows."""
    by_path = {column.path: column for column in map(footer.schema.column, range(footer.num_columns))}
    for field in footer.schema.to_arrow_schema():
        column = by_path.get(field.name)
        if column is None or column.physical_type == "INT96":
            yield None
        elif pt.is_timestamp(field.type):
            yield T.TimestampType() if field.type.unit in ("ms", "us") else None
        elif pt.is_decimal128(field.type):
            yield T.DecimalType(field.type.precision, field.type.scale)
        elif (pt.is_binary(field.type) or pt.is_large_binary(field.type)) and column.logical_type.type != "NONE":
            yield None  # Arrow reads some kinds of text as bytes.
        else:
            yield _TYPES.get(field.type)

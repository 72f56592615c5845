"""A Parquet file as the input of a merge in columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.column_layout import Layout, layout_of
from airflow_provider_odf.engine.read import parquet
from airflow_provider_odf.protocol import MergeInput, MergeRequest, PositionalHeader
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.threads import map_ahead

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


# Before this day, Spark may shift dates and times of old writers to another calendar.
_FIRST, _LAST = dt.date(1900, 1, 1), dt.date(9999, 12, 31)
_ENCODED = 2
"""Ratio of a file's encoded bytes to those of its rows in memory above which there is no point in reading it."""

_LARGEST_COLUMN = (1 << 31) - 1
_SAME = (pt.is_boolean, pt.is_signed_integer, pt.is_floating, pt.is_string, pt.is_binary, pt.is_decimal128)


@dataclass(frozen=True)
class ParquetInput:
    """A file without nested columns. ``origins`` has the names in the file of the columns that the file has."""

    path: str
    layout: Layout
    types: T.StructType
    origins: Mapping[str, str]

    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()

    def read(self, memory_limit: int) -> pa.Table | None:
        """Return the rows, None if they take more than ``memory_limit`` bytes or only Spark can read them."""
        kinds = schemas.readable(self.layout.schema)
        columns = {name: (origin, kinds.field(name).type) for name, origin in self.origins.items()}
        try:
            return read_rows(self.path, columns, memory_limit)
        except (OSError, pa.ArrowException):
            return None


def open_input(request: MergeRequest, source: MergeInput, stored: pa.Schema | None) -> ParquetInput | None:
    """Open an input. Return None if it has types that only Spark reads.

    :raises InvalidQuery: names, types, keys or the stored schema do not allow it.
    """
    if request.read.columns is not None or (fields := _fields(source.paths[0])) is None:
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
        footer = files.footer(path)
    except (OSError, pa.ArrowException):
        return None
    if next(parquet.problems(path, footer), None) is not None:
        return None
    kinds, names = list(_spark_types(footer)), footer.schema.to_arrow_schema().names
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


def read_rows(path: str, columns: Mapping[str, tuple[str, pa.DataType]], memory_limit: int) -> pa.Table | None:
    """Return the rows of a file, each column in one piece. ``columns`` has name and type in the file's stead: the name
    in the result with the name in the file and the type of the result.

    Return None if the rows take more than ``memory_limit`` bytes, or if Spark may read a value differently or refuse
    it.
    """
    with files.open_file(path) as file:
        footer = pq.read_metadata(file)
    schema = footer.schema.to_arrow_schema()
    int96 = {c.path for c in map(footer.schema.column, range(footer.num_columns)) if c.physical_type == "INT96"}
    if any(name in int96 or not _is_same(schema.field(name).type, kind) for name, kind in columns.values()):
        return None
    if sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups)) > memory_limit * _ENCODED:
        return None
    groups = _row_groups(path, footer, [name for name, _ in columns.values()], memory_limit)
    if groups is None:
        return None
    whole = dict[str, pa.Array]()
    for name, (original, kind) in columns.items():
        array = pa.concat_arrays([group.pop(original) for group in groups])
        if (converted := _converted(array, kind)) is None:
            return None
        whole[name] = converted
    return pa.table(whole)


def _row_groups(
    path: str, footer: pq.FileMetaData, names: list[str], memory_limit: int
) -> list[dict[str, pa.Array]] | None:
    def read_group(number: int) -> dict[str, pa.Array]:
        with files.open_file(path) as file:
            group = pq.ParquetFile(file, metadata=footer).read_row_group(number, names, use_threads=False)
        return {name: pa.concat_arrays(group[name].chunks) for name in names}

    groups, sizes = list[dict[str, pa.Array]](), dict.fromkeys(names, 0)
    for group in map_ahead(read_group, range(footer.num_row_groups)):
        for name, array in group.items():
            sizes[name] += array.nbytes
        if sum(sizes.values()) > memory_limit or max(sizes.values(), default=0) > _LARGEST_COLUMN:
            return None
        groups.append(group)
    return groups


def _is_same(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of a type in the file can be converted to a type of the dataset as Spark does it."""
    if pt.is_timestamp(target):
        return bool(pt.is_timestamp(kind) and kind.unit in ("ms", "us"))
    if pt.is_unsigned_integer(kind):
        return bool(pt.is_signed_integer(target) and target.bit_width > kind.bit_width)
    if pt.is_large_string(kind) or pt.is_large_binary(kind):
        kind = pa.string() if pt.is_large_string(kind) else pa.binary()
    return bool(kind == target and (pt.is_date32(kind) or any(is_one(kind) for is_one in _SAME)))


def _converted(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return the values with a type of the dataset, None if one is a time that Spark may refuse or shift."""
    if pt.is_date32(kind):
        return array if _is_in_range(array, kind) else None
    if not pt.is_timestamp(kind):
        return array.cast(kind)
    # Times without a zone are UTC, and those with a zone are stored in UTC.
    times = array.view(pa.timestamp(array.type.unit))
    if not _is_in_range(times, times.type):
        return None
    return pc.floor_temporal(times, unit="millisecond").cast(pa.timestamp("ms")).view(kind)


def _is_in_range(values: pa.Array, kind: pa.DataType) -> bool:
    first, last = (pa.scalar(day, pa.date32()).cast(kind) for day in (_FIRST, _LAST))
    within = pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
    return bool(pc.all(within, min_count=0).as_py())

"""Frames of Parquet files.

Spark's own reader reads files by path, which the driver and the executors share. Objects of an object store are read by
tasks in Python (`records.files`), so Spark needs neither a connector of Hadoop nor a shared disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from airflow_provider_odf import object_stores
from airflow_provider_odf.engine.spark_version import from_arrow_type, to_arrow_schema
from airflow_provider_odf.errors import InvalidQuery, StorageError
from airflow_provider_odf.records import files
from airflow_provider_odf.records.schema import READ_AS

TASK = 32 << 20
"""Bytes of files for each task, unless a row group has more."""

_BATCH, _BATCH_BYTES = 65_536, 16 << 20
"""Most rows of a batch, and most bytes of them by the footer of their file."""

_SIZE_OF_NUMBER = 8

MAX_VALUES = 200_000
"""Maximum number of rows that are held in memory, such as values of a key."""

_MAX_FOUND = 64 << 20
"""Most bytes of rows that `found` holds in memory."""


def read(spark: SparkSession, paths: Sequence[str], types: st.StructType | None = None, *, row: str = "") -> DataFrame:
    """Return the rows of files, those of a single file in its order. Columns that a file lacks are null.

    :param types: the columns to read, by default those of all files.
    :param row: name of a further column, of a single file: the number of each row, from 1.
    :raises InvalidQuery: files have different types for a column. Other problems appear when the rows are used.
    """
    if any(map(object_stores.is_object, paths)):
        return _read_in_tasks(spark, paths, types or _types_of_all(paths), row)
    reader = spark.read.option("mergeSchema", len(paths) > 1) if types is None else spark.read.schema(types)
    frame = reader.parquet(*paths)
    return frame.select("*", (frame.metadataColumn("_metadata")["row_index"] + 1).alias(row)) if row else frame


def rows(path: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in its order.

    :param columns: those of the rows, in Spark's types.
    :raises InvalidQuery: the file is damaged, or has other types.
    """
    yield from _rows(_Part(path), columns, "")


def rows_with(path: str, columns: pa.Schema, name: str, values: pa.Array) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file whose column is one of some values, null with null. Of a row group without one, only
    this column is read, or nothing if its statistics tell.

    :param columns: those of the rows, in Spark's types.
    :raises InvalidQuery: the file is damaged, or has other types.
    """
    own, footer = pa.schema([columns.field(name)]), files.footers([path])[0]

    def chosen(batch: pa.RecordBatch) -> pa.Array:
        return pc.is_in(batch.column(name), values)

    for number in range(footer.num_row_groups):
        part = _Part(path, (number,))
        if _may_have(footer, number, name, values) and any(chosen(b).true_count for b in _rows(part, own, "")):
            yield from (batch.filter(chosen(batch)) for batch in _rows(part, columns, ""))


def found(paths: Iterable[str], columns: pa.Schema, name: str, values: pa.Array) -> list[pa.RecordBatch] | None:
    """Return `rows_with` some values in several files, None if they are too many to hold."""
    kept, rows, size = list[pa.RecordBatch](), 0, 0
    for path in paths:
        for batch in rows_with(path, columns, name, values):
            kept.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > MAX_VALUES or size > _MAX_FOUND:
                return None
    return kept


def _may_have(footer: pq.FileMetaData, group: int, name: str, values: pa.Array) -> bool:
    """Whether a row group may have one of some values of a column, by its statistics."""
    # A field of a struct may have the name of the column, or its path, which joins names by dots.
    places = (i for i, c in enumerate(map(footer.schema.column, range(footer.num_columns))) if c.name == c.path == name)
    statistics = next((footer.row_group(group).column(i).statistics for i in places), None)
    if values.null_count or statistics is None or not statistics.has_min_max:
        return True
    bounds = pc.min_max(values)
    try:
        is_below, is_above = (statistics.max < bounds["min"].as_py(), statistics.min > bounds["max"].as_py())
    except (TypeError, ValueError, OverflowError):  # of another type, beyond Python's years, or there are no values
        return bool(len(values))
    return not (is_below or is_above)


def values(paths: Iterable[str], column: pa.Field) -> pa.Array:
    """Return the distinct values of a column, in Spark's type.

    :raises InvalidQuery: a file is damaged, or has another type.
    """
    columns = pa.schema([column])
    return pa.Table.from_batches((b for path in paths for b in rows(path, columns)), columns)[0].unique()


def are_exact(kind: pa.DataType) -> bool:
    """Whether Arrow and Spark see the same values of a type as equal. Floating-point numbers have two zeros and several
    NaNs."""
    is_one = (pt.is_integer, pt.is_decimal, pt.is_date, pt.is_timestamp, pt.is_string, pt.is_boolean)
    return any(is_kind(kind) for is_kind in is_one)


@dataclass(frozen=True)
class _Part:
    """Row groups of a file, None for all. ``first`` is the number of the first row, from 1."""

    uri: str
    groups: Sequence[int] | None = None
    first: int = 1


def _read_in_tasks(spark: SparkSession, paths: Sequence[str], types: st.StructType, row: str) -> DataFrame:
    sizes = files.sizes(paths)
    tasks = _tasks(paths, sizes)
    # Spark takes a frame from Python to be as large as what Python gets, and a small one may be broadcast in a join. So
    # it counts on numbers of the size of the files, of which each task gets one.
    step = max(1, sum(sizes) // (_SIZE_OF_NUMBER * len(tasks)))
    number = spark.range(0, step * len(tasks), 1, len(tasks)).where(f"id % {step} = 0").selectExpr(f"id DIV {step}")
    columns = types.toNullable()
    task = partial(_rows_of_task, tasks, to_arrow_schema(columns), row)
    return number.mapInArrow(task, columns.add(row, st.LongType()) if row else columns)


def _tasks(paths: Sequence[str], sizes: Sequence[int]) -> list[list[_Part]]:
    """Return the parts of files for each task, in order."""
    large = [path for path, size in zip(paths, sizes, strict=True) if size > TASK]
    footers = dict(zip(large, files.footers(large), strict=True))
    tasks, room = [list[_Part]()], TASK
    for path, size in zip(paths, sizes, strict=True):
        for part, share in _parts(path, size, footers.get(path)):
            if share > room and tasks[-1]:
                tasks.append([])
                room = TASK
            tasks[-1].append(part)
            room -= share
    return tasks


def _parts(path: str, size: int, footer: pq.FileMetaData | None) -> Iterator[tuple[_Part, int]]:
    """Yield the parts of a file with their sizes in bytes: of a large one its row groups."""
    if footer is None or footer.num_row_groups < 2:
        yield _Part(path), size
        return
    first = 1
    for number in range(footer.num_row_groups):
        rows = footer.row_group(number).num_rows
        yield _Part(path, (number,), first), size * rows // footer.num_rows
        first += rows


def _rows_of_task(
    tasks: Sequence[Sequence[_Part]], columns: pa.Schema, row: str, numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The task that yields the rows of files, in the types that Spark expects."""
    for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
        for part in tasks[number]:
            yield from _rows(part, columns, row)


def _rows(part: _Part, columns: pa.Schema, row: str) -> Iterator[pa.RecordBatch]:
    first = part.first
    for batch in _batches(part, {name.lower() for name in columns.names}):
        own = {name.lower(): batch.column(number) for number, name in enumerate(batch.schema.names)}
        values = [
            _as(own[f.name.lower()], f.type, f"{part.uri}: column {f.name}")
            if f.name.lower() in own
            else pa.nulls(batch.num_rows, f.type)
            for f in columns
        ]
        names = columns.names
        if row:
            names, values = [*names, row], [*values, pa.array(range(first, first + batch.num_rows), pa.int64())]
            first += batch.num_rows
        yield pa.RecordBatch.from_arrays(values, names)


def _batches(part: _Part, wanted: set[str]) -> Iterator[pa.RecordBatch]:
    try:
        with files.open_parquet(part.uri, pre_buffer=True, coerce_int96_timestamp_unit="us") as file:
            present = [name for name in file.schema_arrow.names if name.lower() in wanted]
            for number in range(file.num_row_groups) if part.groups is None else part.groups:
                group = file.metadata.row_group(number)
                rows = max(1, min(_BATCH, _BATCH_BYTES * group.num_rows // max(1, group.total_byte_size)))
                yield from file.iter_batches(rows, [number], present, use_threads=False)
    except (pa.ArrowException, OSError) as e:
        if not files.is_damage(e):
            raise
        if files.drop_copy(part.uri):
            raise StorageError(f"{part.uri}: the copy on this machine was damaged, and is removed: run again") from None
        raise InvalidQuery(f"{part.uri}: the Parquet file is damaged: {' '.join(str(e).split())}") from None


_KINDS = (
    pt.is_boolean,
    pt.is_floating,
    pt.is_decimal,
    pt.is_date,
    pt.is_time,
    pt.is_timestamp,
    pt.is_struct,
    pt.is_map,
    lambda kind: pt.is_integer(kind) or pt.is_duration(kind),
    lambda kind: pt.is_string(kind) or pt.is_large_string(kind) or _is_bytes(kind),
    lambda kind: pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind),
)
"""Types that Spark reads as one another, if the values fit."""


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind))


def _as(values: pa.Array, kind: pa.DataType, place: str) -> pa.Array:
    """Return values of a file in another type.

    :raises InvalidQuery: they are of another kind, or do not fit.
    """
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    own = values.type
    if own == kind:
        return values
    is_same_kind = any(is_one(own) and is_one(kind) for is_one in _KINDS)
    if not (pt.is_null(own) or READ_AS.get(own) == kind or is_same_kind):
        raise InvalidQuery(f"{place} is {own} in the file, which cannot be read as {kind}")
    if pt.is_timestamp(own) and own.unit == "ns":
        values = pc.floor_temporal(values, unit="microsecond")
    try:
        return values.cast(kind)
    except pa.ArrowException as e:
        raise InvalidQuery(f"{place} is {own} in the file, which cannot be read as {kind}: {e}") from None


def _types_of_all(paths: Sequence[str]) -> st.StructType:
    fields: dict[str, st.StructField] = {}
    for path, footer in zip(paths, files.footers(paths), strict=True):
        for field in types_of(footer):
            known = fields.setdefault(field.name.lower(), field)
            if known.dataType != field.dataType:
                kinds = " and ".join(kind.simpleString().upper() for kind in (known.dataType, field.dataType))
                raise InvalidQuery(f"{path}: column {field.name} has different types in the files: {kinds}")
    return st.StructType([*fields.values()])


def types_of(footer: pq.FileMetaData) -> st.StructType:
    """Return the columns of a file with the types that Spark reads them as.

    :raises InvalidQuery: Spark has no type for one.
    """
    columns = map(footer.schema.column, range(footer.num_columns))
    logical = {column.path: column.logical_type.type for column in columns}
    texts = {path for path, kind in logical.items() if kind in ("ENUM", "JSON")}
    fields = []
    for field in footer.schema.to_arrow_schema():
        try:
            fields.append(st.StructField(field.name, _spark_type(field.type, field.name, texts)))
        except PySparkException:
            raise InvalidQuery(f"column {field.name}: {field.type} cannot be read") from None
    return st.StructType(fields)


def _spark_type(kind: pa.DataType, path: str, texts: set[str]) -> st.DataType:
    """Return the type that Spark reads a column as. ``texts`` are the columns with texts that Arrow reads as bytes."""
    if isinstance(kind, pa.ExtensionType):
        kind = kind.storage_type
    if pt.is_dictionary(kind):
        kind = kind.value_type
    if pt.is_struct(kind):
        return st.StructType([st.StructField(f.name, _spark_type(f.type, f"{path}.{f.name}", texts)) for f in kind])
    if pt.is_map(kind):
        key, value = (f"{path}.key_value.{name}" for name in ("key", "value"))
        return st.MapType(_spark_type(kind.key_type, key, texts), _spark_type(kind.item_type, value, texts))
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
        below = next((text for text in texts if text.startswith(f"{path}.")), path)
        return st.ArrayType(_spark_type(kind.value_type, below, texts))
    if _is_bytes(kind) and path in texts:
        return st.StringType()
    if pt.is_timestamp(kind) and kind.unit == "ns":
        return st.TimestampType()  # of 96 bits, or of nanoseconds, which are cut
    if pt.is_decimal(kind):
        return st.DecimalType(kind.precision, kind.scale)
    return from_arrow_type(_OTHERS.get(kind, kind))


_OTHERS: Mapping[pa.DataType, pa.DataType] = {
    **READ_AS,
    pa.date64(): pa.date32(),
    **{pa.duration(unit): pa.int64() for unit in ("s", "ms", "us", "ns")},
}
"""Types of Arrow, from what it notes in a file, and those that Spark reads from the columns."""

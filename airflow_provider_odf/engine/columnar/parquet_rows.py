"""The rows of a Parquet file in memory, if Arrow provably reads what Spark reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from airflow_provider_odf.records import files
from airflow_provider_odf.records.threads import map_ahead

# Before this day, Spark may shift dates and times of old writers to another calendar.
_FIRST, _LAST = dt.date(1900, 1, 1), dt.date(9999, 12, 31)
_ENCODED = 2
"""Ratio of a file's encoded bytes to those of its rows in memory above which there is no point in reading it."""

_LARGEST_COLUMN = (1 << 31) - 1
_SAME = (pt.is_boolean, pt.is_signed_integer, pt.is_floating, pt.is_string, pt.is_binary, pt.is_decimal128)


def read(path: str, columns: Mapping[str, tuple[str, pa.DataType]], most: int) -> pa.Table | None:
    """Return the rows of a file, each column in one piece. ``columns`` has name and type in the file's stead: the name
    in the result with the name in the file and the type of the result.

    Return None if the rows take more than ``most`` bytes, or if Spark may read a value differently or refuse it.
    """
    with files.open_file(path) as file:
        footer = pq.read_metadata(file)
    schema = footer.schema.to_arrow_schema()
    int96 = {c.path for c in map(footer.schema.column, range(footer.num_columns)) if c.physical_type == "INT96"}
    if any(name in int96 or not _is_same(schema.field(name).type, kind) for name, kind in columns.values()):
        return None
    if sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups)) > most * _ENCODED:
        return None
    groups = _row_groups(path, footer, [name for name, _ in columns.values()], most)
    if groups is None:
        return None
    whole = dict[str, pa.Array]()
    for name, (original, kind) in columns.items():
        array = pa.concat_arrays([group.pop(original) for group in groups])
        if (converted := _convert(array, kind)) is None:
            return None
        whole[name] = converted
    return pa.table(whole)


def _row_groups(path: str, footer: pq.FileMetaData, names: list[str], most: int) -> list[dict[str, pa.Array]] | None:
    def read_group(number: int) -> dict[str, pa.Array]:
        with files.open_file(path) as file:
            group = pq.ParquetFile(file, metadata=footer).read_row_group(number, names, use_threads=False)
        return {name: pa.concat_arrays(group[name].chunks) for name in names}

    groups, sizes = list[dict[str, pa.Array]](), dict.fromkeys(names, 0)
    for group in map_ahead(read_group, range(footer.num_row_groups)):
        for name, array in group.items():
            sizes[name] += array.nbytes
        if sum(sizes.values()) > most or max(sizes.values(), default=0) > _LARGEST_COLUMN:
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


def _convert(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
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

"""The order of keys in columns: that of Spark, bytes of texts and numbers ascending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from airflow_provider_odf.engine.row_numbers import row_numbers


def are_comparable(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether all tools sort the keys alike: no floating point numbers, and no nulls."""
    return not any(pt.is_floating(table.schema.field(name).type) or table[name].null_count for name in names)


def are_ascending(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether the keys ascend from row to row, so that no two are equal."""
    ascends: pa.ChunkedArray | None = None
    for name in reversed(names):
        before, after = table[name].slice(0, max(len(table) - 1, 0)), table[name].slice(1)
        less = pc.less(before, after)
        ascends = less if ascends is None else pc.or_(less, pc.and_(pc.equal(before, after), ascends))
    return bool(pc.all(ascends, min_count=0).as_py())


def order(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return the places of the rows in the order of their keys."""
    return pc.sort_indices(table.select(list(names)), sort_keys=[(name, "ascending") for name in names])


def key_at(table: pa.Table, names: Sequence[str], place: int) -> tuple[Any, ...]:
    return tuple(table[name][place].as_py() for name in names)


def count_up_to(table: pa.Table, names: Sequence[str], key: tuple[Any, ...]) -> int:
    """Return the number of rows with keys up to ``key``. The rows are in order."""
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        if key_at(table, names, middle) <= key:
            low = middle + 1
        else:
            high = middle
    return low


def common(one: pa.Table, other: pa.Table, names: Sequence[str]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return for the rows of each table whether the other one has their key."""
    if len(names) == 1:
        keys, other_keys = one[names[0]], other[names[0]]
    else:
        both = row_numbers(pa.concat_tables([one.select(list(names)), other.select(list(names))]), names)
        keys, other_keys = both.slice(0, one.num_rows), both.slice(one.num_rows)
    if keys.equals(other_keys):
        every = pa.chunked_array([pa.repeat(True, len(keys))])
        return every, every
    return pc.is_in(keys, value_set=_whole(other_keys)), pc.is_in(other_keys, value_set=_whole(keys))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) and column.num_chunks else column

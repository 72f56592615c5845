"""The order and the equality of keys: those of Spark. Texts are compared by their bytes, null equals null, NaN equals
itself and is the greatest number, and zero has no sign.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt


def are_ascending(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether the keys ascend from row to row, so that no two are equal."""
    ascends: pa.ChunkedArray | None = None
    for name in reversed(names):
        before, after = table[name].slice(0, max(len(table) - 1, 0)), table[name].slice(1)
        less = _less(before, after)
        ascends = less if ascends is None else pc.or_(less, pc.and_(equal(before, after), ascends))
    return bool(pc.all(ascends, min_count=0).as_py())


def order(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return the places of the rows in the order of their keys."""
    return pc.sort_indices(table.select(list(names)), sort_keys=[(name, "ascending") for name in names])


def are_distinct(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether no two rows have the same key. No key is null."""
    numbers = table[names[0]] if _is_plain(table, names) else equality_codes_of(table, names)
    return bool(pc.count_distinct(numbers).as_py() == table.num_rows)


def key_at(table: pa.Table, names: Sequence[str], place: int) -> tuple[Any, ...]:
    """Return the key of a row as values that compare in the order of `order`."""
    return tuple(_ordered(table[name][place].as_py()) for name in names)


def count_up_to(table: pa.Table, names: Sequence[str], key: tuple[Any, ...], least: int = 0) -> int:
    """Return the number of rows with keys up to ``key``, a value of `key_at`. The rows are in order, and there are at
    least so many."""
    return bisect_right(range(table.num_rows), key, least, key=lambda place: key_at(table, names, place))


def common(one: pa.Table, other: pa.Table, names: Sequence[str]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return for the rows of each table whether the other one has their key."""
    keys, other_keys = _comparable(one, other, names)
    if keys.equals(other_keys):
        every = pa.chunked_array([pa.repeat(True, len(keys))])
        return every, every
    return pc.is_in(keys, value_set=whole(other_keys)), pc.is_in(other_keys, value_set=whole(keys))


def are_in(one: pa.Table, other: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Return for the rows of a table whether the other one has their key."""
    keys, other_keys = _comparable(one, other, names)
    return pc.is_in(keys, value_set=whole(other_keys))


def equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for each row whether values are equal."""
    if pt.is_nested(one.type):
        values = pa.table({"value": pa.chunked_array([*one.chunks, *other.chunks], one.type)})
        numbers = equality_codes_of(values, ["value"])
        return pa.chunked_array([pc.equal(numbers.slice(0, len(one)), numbers.slice(len(one)))])
    same = pc.equal(one, other)
    if pt.is_floating(one.type):
        same = pc.or_(same, pc.and_(pc.is_nan(one), pc.is_nan(other)))
    if not one.null_count and not other.null_count:
        return same
    return pc.or_(pc.fill_null(same, False), pc.and_(one.is_null(), other.is_null()))


def _less(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    less = pc.less(one, other)
    return pc.or_(less, pc.and_(pc.is_nan(other), pc.invert(pc.is_nan(one)))) if pt.is_floating(one.type) else less


def _ordered(value: Any) -> tuple[bool, bool, Any]:
    is_nan = value != value
    return value is None, is_nan, 0 if value is None or is_nan else value


def _comparable(one: pa.Table, other: pa.Table, names: Sequence[str]) -> tuple[Any, Any]:
    """Return the keys of both tables as one column each."""
    if _is_plain(one, names):
        return one[names[0]], other[names[0]]
    both = equality_codes_of(pa.concat_tables([one.select(list(names)), other.select(list(names))]), names)
    return both.slice(0, one.num_rows), both.slice(one.num_rows)


def _is_plain(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether keys have one column, whose values Arrow compares as Spark does."""
    return len(names) == 1 and not pt.is_floating(table.schema.field(names[0]).type)


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def equality_codes_of(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return `equality_codes` of some columns of a table."""
    return equality_codes(table[name] for name in names)


def equality_codes(columns: Iterable[pa.ChunkedArray]) -> pa.Array:
    """Return a number for each row. Rows that are equal in the columns have the same number.

    Equality is that of ``<=>``: null is a value, NaN equals itself and zero has no sign. Without columns there are no
    numbers.
    """
    combined: pa.Array | None = None
    for column in columns:
        codes = _codes(column)
        if combined is None:
            combined = codes
        else:
            width = (pc.max(codes).as_py() or 0) + 1
            both = pc.add(pc.multiply(combined, int64(width)), codes)
            combined = both.dictionary_encode().indices.cast(pa.int64())
    return combined if combined is not None else pa.array([], pa.int64())


def _codes(column: pa.ChunkedArray) -> pa.Array:
    values = whole(column)
    if pt.is_float16(values.type):
        values = values.cast(pa.float32())
    if pt.is_floating(values.type):
        values = pc.add(values, int64(0).cast(values.type))
    if pt.is_nested(values.type):
        values = pa.array([None if value is None else repr(value) for value in values.to_pylist()], pa.string())
    return pc.add(pc.fill_null(values.dictionary_encode().indices.cast(pa.int64()), int64(-1)), int64(1))


def int64_array(values: Iterable[int]) -> pa.Array:
    """Return numbers as Arrow. From a list pyarrow would create them with pandas, whose import takes a second."""
    numbers = array("q", values)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def int64(value: int) -> pa.Scalar:
    """Return a number as Arrow, likewise without pandas."""
    return int64_array([value])[0]

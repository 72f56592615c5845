"""Bytes of the values of a column in the logical hash.

Each leaf of a batch becomes a binary array without nulls whose row *i* holds the digest's bytes of value *i*. Its data
buffer is hashed in one call.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Array: TypeAlias = Any


def leaves(array: Array, above: Array | None) -> Iterator[tuple[Array, Array | None]]:
    """Return the leaf arrays of a column, each with the mask of its valid values (None: all are valid).

    Under a struct the reference implementation counts a value as valid if the struct *or* the value is, if both have
    nulls in the batch; otherwise it checks only the one with nulls. A null that counts as valid is hashed as zero or
    empty. Under a null struct a nullable field is null, as when read from Parquet, whatever the array holds there.
    """
    own = array.is_valid() if array.null_count else None
    valid = own if above is None else above if own is None else pc.or_(above, own)
    if pt.is_struct(array.type):
        for i, (field, masked) in enumerate(zip(array.type.fields, array.flatten(), strict=True)):
            yield from leaves(masked if field.nullable else array.field(i), valid)
    else:
        yield (array if valid is own else _without_nulls(array)), valid


def _without_nulls(array: Array) -> Array:
    """Return the values with zero or empty in place of each null."""
    t = array.type
    if not array.null_count:
        return array
    if is_list(t):
        return pa.LargeListArray.from_arrays(_offsets(_lengths(array)), array.flatten())
    if pt.is_fixed_size_binary(t) or not (is_text(t) or is_binary(t) or pt.is_boolean(t)):
        width = t.bit_width // 8
        return pc.fill_null(array.view(pa.binary(width)), bytes(width)).view(t)
    return pc.fill_null(array, False if pt.is_boolean(t) else "" if is_text(t) else b"")


def stream(array: Array, valid: Array | None) -> Any:
    """Return the digest's bytes of an array, without a copy if Arrow stores the same bytes."""
    t = array.type
    if pt.is_boolean(t):
        items = _bytes_of_booleans(array)
        return _fixed_buffer(items if valid is None else pc.if_else(valid, items, _constant(b"\0", pa.uint8())), 1)
    if valid is None and not (is_list(t) or is_text(t) or is_binary(t)):
        return _fixed_buffer(array, t.bit_width // 8)
    return _data_of(_rows(array, valid))


def _rows(array: Array, valid: Array | None) -> Array:
    """Return a large_binary array without nulls whose row *i* holds the digest's bytes of value *i*."""
    t = array.type
    if pt.is_boolean(t):
        rows = _bytes_of_booleans(array).view(pa.binary(1)).cast(pa.large_binary())
    elif is_list(t):
        rows = _list_rows(array)
    elif is_text(t) or is_binary(t):
        values = array.cast(pa.large_binary())
        rows = _prefixed(pc.binary_length(values), values)
    else:
        rows = array.view(pa.binary(t.bit_width // 8)).cast(pa.large_binary())
    return rows if valid is None else pc.if_else(valid, rows, _constant(b"\0", pa.large_binary()))


def _bytes_of_booleans(array: Array) -> Array:
    return pc.add(array.cast(pa.uint8()), _constant(b"\1", pa.uint8()))


def _list_rows(array: Array) -> Array:
    lengths, items = _lengths(array), array.flatten()
    rows = _rows(items, items.is_valid() if items.null_count else None)
    buffers = rows.buffers()
    byte_starts = pa.Array.from_buffers(pa.int64(), len(rows) + 1, [None, buffers[1]], offset=rows.offset)
    byte_starts = byte_starts.take(_offsets(lengths))
    joined = pa.Array.from_buffers(pa.large_binary(), len(array), [None, byte_starts.buffers()[1], buffers[2]])
    return _prefixed(lengths, joined)


def _lengths(array: Array) -> Array:
    return pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())


def _offsets(lengths: Array) -> Array:
    zero = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(bytes(8))])
    return pa.concat_arrays([zero, pc.cumulative_sum(lengths)])


def _prefixed(counts: Array, rows: Array) -> Array:
    eight = counts.cast(pa.int64()).view(pa.binary(8)).cast(pa.large_binary())
    return pc.binary_join_element_wise(eight, rows, _constant(b"", pa.large_binary()))


def _constant(data: bytes, of: pa.DataType) -> pa.Scalar:
    """Return a scalar from its bytes. From a Python value pyarrow would first import pandas, which takes a second."""
    if of == pa.large_binary():
        buffers = [None, pa.py_buffer(struct.pack("=qq", 0, len(data))), pa.py_buffer(data)]
    else:
        buffers = [None, pa.py_buffer(data)]
    return pa.Array.from_buffers(of, 1, buffers)[0]


def _fixed_buffer(array: Array, width: int) -> Any:
    buffer = array.buffers()[1]
    return b"" if buffer is None else buffer.slice(array.offset * width, len(array) * width)


def _data_of(rows: Array) -> Any:
    _, offsets, data = rows.buffers()
    if not len(rows) or data is None:
        return b""
    first, last = (struct.unpack_from("<q", offsets, (rows.offset + i) * 8)[0] for i in (0, len(rows)))
    return data.slice(first, last - first)


def is_list(t: pa.DataType) -> bool:
    return any(
        is_(t) for is_ in (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    )


def is_text(t: pa.DataType) -> bool:
    return bool(pt.is_string(t) or pt.is_large_string(t) or pt.is_string_view(t))


def is_binary(t: pa.DataType) -> bool:
    return bool(pt.is_binary(t) or pt.is_large_binary(t) or pt.is_fixed_size_binary(t) or pt.is_binary_view(t))

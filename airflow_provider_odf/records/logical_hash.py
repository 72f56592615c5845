"""Logical hash of a data slice: a digest of its rows that does not depend on how Parquet stores them.

Implements the multicodec ``arrow0-sha3-256`` (0x300016), version 0 of the Arrow digest. It is the SHA3-256 over the
names and nesting levels of the fields, and over one digest for each leaf column. The digest of a column covers its type
and its values in row order.

Each leaf of a batch becomes a binary array without nulls whose row *i* holds the digest's bytes of value *i*. Its data
buffer is hashed in one call. Columns are hashed in threads: pyarrow and hashlib both release the interpreter lock.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from airflow_provider_odf.errors import TypeUnsupported
from airflow_provider_odf.records.files import open_parquet

if TYPE_CHECKING:
    from hashlib import _Hash


PREFIX = "f9680c00120"
"""Multibase base16, the multicodec as a varint, and the length of a SHA3-256 digest."""

STRUCT_BATCH = 10_000
"""Rows per batch of the reference implementation. They matter only for null structs (see ``_leaves``)."""

BATCH = 13 * STRUCT_BATCH
THREADED_ROWS = 20_000
UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}


def logical_hash(source: pa.Table | str | Path) -> str:
    """Return the multihash text (multibase base16) of a table, or of the rows of a Parquet file, read in bounded
    memory.

    :raises TypeUnsupported: a column's type has no digest; the message names the column.
    """
    if isinstance(source, pa.Table):
        hasher, batches = LogicalHasher(source.schema), iter(source.to_batches(max_chunksize=BATCH))
    else:
        file = open_parquet(str(source), pre_buffer=False)  # else the whole file is in memory
        hasher, batches = LogicalHasher(file.schema_arrow), file.iter_batches(batch_size=BATCH)
    for batch in batches:
        hasher.update(batch)
    return hasher.text()


class LogicalHasher:
    """Hasher of rows that come in batches of any length: call ``update`` with each batch, then ``text``."""

    def __init__(self, schema: pa.Schema) -> None:
        """Start the hash of rows with a schema.

        :raises TypeUnsupported: a column's type has no digest; the message names the column.
        """
        self._head = hashlib.sha3_256()
        self._columns: list[list[_Hash]] = []
        for field in schema:
            self._columns.append([])
            for path, leaf in _fields(field, ()):
                self._head.update(_text(path[-1]) + _u64(len(path) - 1))
                if leaf is not None:
                    self._columns[-1].append(hashlib.sha3_256(_type_bytes(leaf, ".".join(path))))
        has_struct = any(pt.is_struct(t) for t in schema.types)
        self._pending: pa.Table | None = schema.empty_table() if has_struct else None
        self._pool: ThreadPoolExecutor | None = None

    def update(self, batch: pa.RecordBatch) -> None:
        if self._pending is None:
            self._feed(batch)
        else:
            pending = pa.concat_tables([self._pending, pa.Table.from_batches([batch], self._pending.schema)])
            whole = pending.num_rows - pending.num_rows % STRUCT_BATCH
            self._feed_steps(pending.slice(0, whole))
            self._pending = pending.slice(whole)

    def text(self) -> str:
        """Return the multihash text. Call it once, after the last batch."""
        if self._pending is not None:
            self._feed_steps(self._pending)
        if self._pool is not None:
            self._pool.shutdown()
        for digest in (d for column in self._columns for d in column):
            self._head.update(digest.digest())
        return PREFIX + self._head.hexdigest()

    def _feed_steps(self, table: pa.Table) -> None:
        for start in range(0, table.num_rows, STRUCT_BATCH):
            self._feed(table.slice(start, STRUCT_BATCH).combine_chunks().to_batches()[0])

    def _feed(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows < THREADED_ROWS:
            results: Iterable[None] = map(_feed_column, self._columns, batch.columns)
        else:
            self._pool = self._pool or ThreadPoolExecutor(os.cpu_count(), "logical-hash")
            results = self._pool.map(_feed_column, self._columns, batch.columns)
        for _ in results:
            pass


def _fields(field: pa.Field, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], pa.DataType | None]]:
    """Yield a field and its nested fields, depth first, each with its path; a struct itself has no leaf type."""
    path = (*above, field.name)
    if pt.is_struct(field.type):
        yield path, None
        for child in field.type.fields:
            yield from _fields(child, path)
    else:
        yield path, field.type


def _type_bytes(t: pa.DataType, column: str) -> bytes:
    """Return the first bytes of a column's digest: its type."""
    if is_list(t):
        return _u16(11) + _type_bytes(t.value_type, column)
    if pt.is_integer(t):
        return _u16(1) + bytes([pt.is_signed_integer(t)]) + _u64(t.bit_width)
    if pt.is_timestamp(t):
        return _u16(9) + _u16(UNITS[t.unit]) + (b"\0" if t.tz is None else _text(t.tz))
    if pt.is_decimal(t):
        return _u16(6) + _u64(t.bit_width) + _u64(t.precision) + _u64(t.scale)
    if pt.is_time(t):
        return _u16(8) + _u64(t.bit_width) + _u16(UNITS[t.unit])
    if pt.is_date(t):
        return _u16(7) + _u64(t.bit_width) + _u16(pt.is_date64(t))
    if pt.is_floating(t):
        return _u16(2) + _u64(t.bit_width)
    if pt.is_boolean(t):
        return _u16(5)
    if is_text(t) or is_binary(t):
        return _u16(4 if is_text(t) else 3)
    raise TypeUnsupported(
        f"column {column}: the type {t} is not supported in datasets (it has no logical hash); convert it in preprocess"
    )


def _u16(n: int) -> bytes:
    return struct.pack("<H", n)


def _u64(n: int) -> bytes:
    return struct.pack("<Q", n & 0xFFFF_FFFF_FFFF_FFFF)


def _text(text: str) -> bytes:
    return _u64(len(text.encode())) + text.encode()


def _feed_column(digests: list[_Hash], column: Array) -> None:
    for digest, (leaf, valid) in zip(digests, _leaves(column, None), strict=True):
        digest.update(_stream(leaf, valid))


Array: TypeAlias = Any


def _leaves(array: Array, above: Array | None) -> Iterator[tuple[Array, Array | None]]:
    """Return the leaf arrays of a column, each with the mask of its valid values (None: all are valid).

    Under a struct the reference implementation counts a value as valid if the struct *or* the value is, if both have
    nulls in the batch; otherwise it checks only the one with nulls. A null that counts as valid is hashed as zero or
    empty. Under a null struct a nullable field is null, as when read from Parquet, whatever the array holds there.
    """
    own = array.is_valid() if array.null_count else None
    valid = own if above is None else above if own is None else pc.or_(above, own)
    if pt.is_struct(array.type):
        for i, (field, masked) in enumerate(zip(array.type.fields, array.flatten(), strict=True)):
            yield from _leaves(masked if field.nullable else array.field(i), valid)
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


def _stream(array: Array, valid: Array | None) -> Any:
    """Return the digest's bytes of an array, without a copy if Arrow stores the same bytes."""
    t = array.type
    if pt.is_boolean(t):
        items = _bytes_of_booleans(array)
        return _fixed_buffer(items if valid is None else pc.if_else(valid, items, _constant(b"\0", pa.uint8())), 1)
    if valid is None and not (is_list(t) or is_text(t) or is_binary(t)):
        return _fixed_buffer(array, t.bit_width // 8)
    return data_of(_rows(array, valid))


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


def data_of(rows: Array) -> Any:
    """Return the bytes of all values of a large binary or string column without nulls, one after the other."""
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

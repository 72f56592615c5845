"""Arrow schema as the flatbuffers table ``Schema`` (Arrow's Schema.fbs), the older form of ``SetDataSchema``.

pyarrow reads and writes that table only inside of an IPC message. ``encode`` writes the same bytes as Arrow's library
for Rust, so that equal schemas give equal blocks. ``decode`` wraps the table in an IPC message and lets pyarrow read
that.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_provider_odf.chain.flatbuffer import new_builder
from airflow_provider_odf.errors import ChainCorrupted, TypeUnsupported

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}
_FLOAT_PRECISION = {16: 0, 32: 1, 64: 2}

# Offset of the root; vtable of Message with version, header_type and header; padding; distance from the table to its
# vtable; offset of the header; version; header_type; padding to a multiple of 8.
_MESSAGE = struct.Struct("<I5H2xiIhBx4x")
_VERSION_5 = 4
_HEADER_SCHEMA = 1
_HEADER_AT = 20

Attribute: TypeAlias = tuple[int, str, int, int]
"""Slot, type of scalar, value, default."""


def decode(data: bytes) -> pa.Schema:
    """Return the schema of a finished flatbuffer whose root is a ``Schema``.

    :raises ChainCorrupted: the bytes are not such a flatbuffer.
    :raises MemoryError: the memory does not suffice.
    """
    import pyarrow as pa

    try:
        (root,) = struct.unpack_from("<I", data)
        header = _MESSAGE.size + root - _HEADER_AT
        message = _MESSAGE.pack(16, 10, 12, 8, 10, 4, 12, header, _VERSION_5, _HEADER_SCHEMA) + data
        return pa.ipc.read_schema(pa.py_buffer(struct.pack("<iI", -1, len(message)) + message))
    except MemoryError:
        raise
    except (struct.error, pa.ArrowException, OSError) as e:
        raise ChainCorrupted(f"the Arrow schema of a SetDataSchema cannot be read: {e}") from e


def encode(schema: pa.Schema) -> bytes:
    """Return a finished flatbuffer whose root is the ``Schema`` table, without metadata of schema and fields.

    :raises TypeUnsupported: slices cannot have the type of a column.
    """
    builder = new_builder()
    fields = _offsets(builder, [_field(builder, field) for field in schema])
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(1, fields, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _field(builder: Any, field: pa.Field) -> int:
    name = builder.CreateString(field.name)
    type_id, type_table, children = _type(builder, field)
    builder.StartObject(7)
    builder.PrependUOffsetTRelativeSlot(0, name, 0)
    builder.PrependUint8Slot(2, type_id, 0)
    builder.PrependBoolSlot(1, field.nullable, False)
    builder.PrependUOffsetTRelativeSlot(5, children, 0)
    builder.PrependUOffsetTRelativeSlot(3, type_table, 0)
    return int(builder.EndObject())


def _type(builder: Any, field: pa.Field) -> tuple[int, int, int]:
    """Return the number of the field's type in the union, and the offsets of its table and of the vector of its
    children."""
    import pyarrow.types as pt

    arrow = field.type
    entry = next((entry for entry in _types() if entry[0](arrow)), None)
    if entry is None:
        raise TypeUnsupported(
            f"column {field.name}: the Arrow type {arrow} is not supported; cast it to a supported type in `preprocess`"
        )
    _, type_id, attributes = entry
    if pt.is_integer(arrow) or pt.is_floating(arrow):
        children = _offsets(builder, [])
        return type_id, _table(builder, attributes(arrow)), children
    items = [_field(builder, child) for child in _children(arrow)]
    table = _timestamp(builder, arrow) if pt.is_timestamp(arrow) else _table(builder, attributes(arrow))
    return type_id, table, _offsets(builder, items)


def _children(arrow: Any) -> list[pa.Field]:
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_map(arrow):
        return [pa.field("entries", pa.struct([arrow.key_field, arrow.item_field]), nullable=False)]
    return [arrow.field(i) for i in range(arrow.num_fields)]


def _timestamp(builder: Any, arrow: Any) -> int:
    timezone = builder.CreateString(arrow.tz or "")
    builder.StartObject(2)
    builder.PrependInt16Slot(0, _UNITS[arrow.unit], 0)
    if arrow.tz:
        builder.PrependUOffsetTRelativeSlot(1, timezone, 0)
    return int(builder.EndObject())


def _table(builder: Any, attributes: Sequence[Attribute]) -> int:
    builder.StartObject(max((slot + 1 for slot, *_ in attributes), default=0))
    for slot, kind, value, default in attributes:
        getattr(builder, f"Prepend{kind}Slot")(slot, value, default)
    return int(builder.EndObject())


def _offsets(builder: Any, items: Sequence[int]) -> int:
    builder.StartVector(4, len(items), 4)
    for item in reversed(items):
        builder.PrependUOffsetTRelative(item)
    return int(builder.EndVector())


@cache
def _types() -> tuple[tuple[Callable[[Any], bool], int, Callable[[Any], Sequence[Attribute]]], ...]:
    """Predicate of an Arrow type -> its number in the union ``Type``, and the attributes of its table in order."""
    import pyarrow.types as pt

    return (
        (pt.is_null, 1, _no_attributes),
        (pt.is_integer, 2, lambda t: ((1, "Bool", pt.is_signed_integer(t), False), (0, "Int32", t.bit_width, 0))),
        (pt.is_floating, 3, lambda t: ((0, "Int16", _FLOAT_PRECISION[t.bit_width], 0),)),
        (pt.is_binary, 4, _no_attributes),
        (pt.is_string, 5, _no_attributes),
        (pt.is_boolean, 6, _no_attributes),
        (
            pt.is_decimal,
            7,
            lambda t: ((0, "Int32", t.precision, 0), (1, "Int32", t.scale, 0), (2, "Int32", t.bit_width, 128)),
        ),
        (pt.is_date, 8, lambda t: ((0, "Int16", int(pt.is_date64(t)), 1),)),
        (pt.is_time, 9, lambda t: ((1, "Int32", t.bit_width, 32), (0, "Int16", _UNITS[t.unit], 1))),
        (pt.is_timestamp, 10, _no_attributes),
        (pt.is_list, 12, _no_attributes),
        (pt.is_struct, 13, _no_attributes),
        (pt.is_fixed_size_binary, 15, lambda t: ((0, "Int32", t.byte_width, 0),)),
        (pt.is_fixed_size_list, 16, lambda t: ((0, "Int32", t.list_size, 0),)),
        (pt.is_map, 17, lambda t: ((0, "Bool", t.keys_sorted, False),)),
        (pt.is_duration, 18, lambda t: ((0, "Int16", _UNITS[t.unit], 1),)),
        (pt.is_large_binary, 19, _no_attributes),
        (pt.is_large_string, 20, _no_attributes),
        (pt.is_large_list, 21, _no_attributes),
        (pt.is_binary_view, 23, _no_attributes),
        (pt.is_string_view, 24, _no_attributes),
    )


def _no_attributes(_arrow: Any) -> Sequence[Attribute]:
    return ()

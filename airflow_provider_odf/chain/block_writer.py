"""Writer of metadata blocks as flatbuffers, exact to the byte, driven by the table of slots."""

from __future__ import annotations

import struct
from typing import Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.flatbuffer import TIMESTAMP
from airflow_provider_odf.chain.flatbuffer_slots import (
    SCALARS,
    TABLES,
    Kind,
    OneOf,
    Plain,
    Scalar,
    Table,
    Vector,
    slot_count,
)
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.names import DatasetId


def new_builder() -> Any:
    """Return a flatbuffers builder."""
    # Imported where blocks are written: with numpy behind it, it would double the start of commands that only read.
    import flatbuffers

    return flatbuffers.Builder(1024)


class BlockWriter:
    """Writes one model into one buffer."""

    def __init__(self, timestamp_alignment: int) -> None:
        self._builder = new_builder()
        self._timestamp_alignment = timestamp_alignment

    def write(self, value: Any) -> bytes:
        self._builder.Finish(self._table(value))
        return bytes(self._builder.Output())

    def _table(self, value: Any) -> int:
        name = type(value).__name__
        fields = [(slot, getattr(value, slot.attribute)) for slot in TABLES[name]]
        children = {slot.number: self._child(slot.kind, v) for slot, v in fields if v is not None}
        self._builder.StartObject(slot_count(name))
        for slot, v in fields:
            if v is not None:
                self._field(slot.number, slot.kind, v, children[slot.number])
        return int(self._builder.EndObject())

    def _child(self, kind: Kind, value: Any) -> int:
        """Write the parts of a value that lie outside of its table, and return their offset; 0 if there are none."""
        if isinstance(kind, Scalar) or kind is Plain.TIME:
            return 0
        if isinstance(kind, Table | OneOf):
            return self._table(value)
        if isinstance(kind, Vector):
            return self._vector(kind, value)
        if kind in (Plain.STRING, Plain.JSON):
            return int(self._builder.CreateString(value))
        return int(self._builder.CreateByteVector(_binary(kind, value)))

    def _vector(self, kind: Vector, values: Any) -> int:
        items = [self._wrapper(kind.of, v) if isinstance(kind.of, OneOf) else self._child(kind.of, v) for v in values]
        self._builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            self._builder.PrependUOffsetTRelative(item)
        return int(self._builder.EndVector())

    def _wrapper(self, kind: OneOf, value: Any) -> int:
        child = self._table(value)
        self._builder.StartObject(2)
        self._field(0, kind, value, child)
        return int(self._builder.EndObject())

    def _field(self, slot: int, kind: Kind, value: Any, child: int) -> None:
        if isinstance(kind, Scalar):
            self._scalar(slot, kind, value)
        elif kind is Plain.TIME:
            self._timestamp(value)
            self._builder.Slot(slot)
        elif isinstance(kind, OneOf):
            self._builder.PrependUint8Slot(slot, kind.members.index(type(value).__name__) + 1, 0)
            self._builder.PrependUOffsetTRelativeSlot(slot + 1, child, 0)
        else:
            self._builder.PrependUOffsetTRelativeSlot(slot, child, 0)

    def _scalar(self, slot: int, kind: Scalar, value: Any) -> None:
        number = kind.values.index(value) if kind.values else int(value)
        try:
            data = struct.pack("<" + SCALARS[kind.type], number)
        except struct.error as e:
            raise ValueError(f"{number} is out of range for the type {kind.type}") from e
        if number or kind.is_optional:
            self._builder.Prep(len(data), 0)
            self._inline(data)
            self._builder.Slot(slot)

    def _timestamp(self, instant: Instant) -> None:
        moment = instant.to_datetime()
        day = moment.timetuple().tm_yday
        second = moment.hour * 3600 + moment.minute * 60 + moment.second
        self._builder.Prep(self._timestamp_alignment, TIMESTAMP.size)
        self._inline(TIMESTAMP.pack(moment.year, day, second, instant.nanosecond))

    def _inline(self, data: bytes) -> None:
        """Write a scalar into the space that ``Prep`` reserved."""
        builder = self._builder
        builder.head -= len(data)
        builder.Bytes[builder.head : builder.head + len(data)] = data


def _binary(kind: Kind, value: Any) -> bytes:
    if kind is Plain.HASH:
        return multiformats.decode_hash(value)
    return DatasetId.parse(value).binary if kind is Plain.DID else value

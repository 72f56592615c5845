"""Metadata blocks as bytes (specification: Metadata Block Hashing, Manifests): flatbuffers in a ``Manifest`` frame.

The block hash is the SHA3-256 of all these bytes, so encoding is exact to the byte: children of a table come first, in
the order of their declaration, then the fields in the same order. Version 3 aligns timestamps to four bytes, version 2
does not align them.
"""

from __future__ import annotations

import json
import struct
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.flatbuffer import Reader
from airflow_provider_odf.chain.slots import SCALARS, TABLES, Kind, OneOf, Plain, Scalar, Table, Vector, slot_count
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock
from airflow_provider_odf.manifest.names import DatasetId

VERSIONS = (2, 3)
"""Versions of the frame that are read and written."""

_KIND = 0x400000  # multicodec odf-metadata-block
_TIMESTAMP = struct.Struct("<iHxxII")
_TIMESTAMP_ALIGNMENT = {2: 1, 3: 4}
_MAX_DEPTH = 64


def encode(block: MetadataBlock, version: int = 3) -> bytes:
    """The block in its frame: what lies in ``blocks/`` under its SHA3-256.

    :raises InvalidInput: another version, or a value that has no binary form, such as a number out of range.
    """
    if version not in VERSIONS:
        raise InvalidInput(f"manifest version {version} cannot be written, only 2 and 3")
    try:
        return _frame(version, _Writer(_TIMESTAMP_ALIGNMENT[version]).write(block))
    except ValueError as e:
        raise InvalidInput(f"the block cannot be encoded: {e}") from e


def decode(data: bytes) -> MetadataBlock:
    """The block in a frame of version 2 or 3. Fields that newer specifications append to known objects are not seen.

    :raises ChainCorrupted: not a block, or an object of a kind that is not known.
    """
    return decode_frame(data)[1]


def decode_frame(data: bytes) -> tuple[int, MetadataBlock]:
    """Version of the frame, and the block in it.

    :raises ChainCorrupted: as ``decode``.
    """
    try:
        frame = Reader(data)
        version, content = _frame_fields(frame)
        number = frame.scalar("i", version) if version else 0
        if number not in VERSIONS:
            raise ValueError(f"its frame has version {number}; versions 2 and 3 can be read")
        if not content:
            raise ValueError("its frame is empty")
        reader = Reader(frame.blob(content))
        return number, _Decoder(reader).table("MetadataBlock", reader.root(), 0)
    except ValueError as e:
        raise ChainCorrupted(f"not a readable metadata block: {e}") from e


def _frame_fields(frame: Reader) -> tuple[int, int]:
    """Positions of the version and the content of a frame; 0 for what is absent."""
    try:
        kind, version, content = _pad(frame.fields(frame.root()), 3)
        is_block = bool(kind) and frame.scalar("q", kind) == _KIND
    except ValueError:
        is_block = False
    if not is_block:
        raise ChainCorrupted("not a metadata block")
    return version, content


# --- writing --------------------------------------------------------------------------------------------------------


def new_builder() -> Any:
    """A flatbuffers builder."""
    # Imported where blocks are written: with numpy behind it, it would double the start of commands that only read.
    import flatbuffers

    return flatbuffers.Builder(1024)


def _frame(version: int, content: bytes) -> bytes:
    builder = new_builder()
    vector = builder.CreateByteVector(content)
    builder.StartObject(3)
    builder.PrependInt64Slot(0, _KIND, 0)
    builder.PrependInt32Slot(1, version, 0)
    builder.PrependUOffsetTRelativeSlot(2, vector, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


class _Writer:
    """Writes one model into one buffer, driven by the slot table."""

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
        """Offset of what the value needs outside of its table; 0 for what lies inside."""
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
            raise ValueError(f"{number} does not fit {kind.type}") from e
        if number or kind.is_optional:
            self._builder.Prep(len(data), 0)
            self._inline(data)
            self._builder.Slot(slot)

    def _timestamp(self, instant: Instant) -> None:
        moment = instant.to_datetime()
        day = moment.timetuple().tm_yday
        second = moment.hour * 3600 + moment.minute * 60 + moment.second
        self._builder.Prep(self._timestamp_alignment, _TIMESTAMP.size)
        self._inline(_TIMESTAMP.pack(moment.year, day, second, instant.nanosecond))

    def _inline(self, data: bytes) -> None:
        """Space was made by ``Prep``."""
        builder = self._builder
        builder.head -= len(data)
        builder.Bytes[builder.head : builder.head + len(data)] = data


def _binary(kind: Kind, value: Any) -> bytes:
    if kind is Plain.HASH:
        return multiformats.decode_hash(value)
    return DatasetId.parse(value).binary if kind is Plain.DID else value


# --- reading --------------------------------------------------------------------------------------------------------


class _Decoder:
    """Reads one model out of one buffer, driven by the slot table."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def table(self, name: str, at: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("its objects are nested too deeply")
        fields = _pad(self._reader.fields(at), slot_count(name))
        values: dict[str, Any] = {}
        required = _required(name)
        for slot in TABLES[name]:
            values[slot.attribute] = value = self._field(slot.kind, fields[slot.number : slot.number + 2], depth)
            if value is None and slot.attribute in required:
                raise ValueError(f"{name} without {slot.attribute}")
        return getattr(model, name).model_construct(**values)

    def _field(self, kind: Kind, at: list[int], depth: int) -> Any:
        if isinstance(kind, Scalar):
            return self._scalar(kind, at[0])
        if isinstance(kind, OneOf):
            return self._union(kind, at, depth)
        if not at[0]:
            return None
        if isinstance(kind, Table):
            return self.table(kind.name, self._reader.follow(at[0]), depth + 1)
        if isinstance(kind, Vector):
            return tuple(self._item(kind.of, item, depth) for item in self._reader.vector(at[0], 4))
        if kind is Plain.TIME:
            return _instant(*self._reader.unpack(_TIMESTAMP, at[0]))
        return _plain(kind, self._reader.blob(at[0]))

    def _item(self, kind: Kind, at: int, depth: int) -> Any:
        if not isinstance(kind, OneOf):
            return self._field(kind, [at], depth)
        value = self._union(kind, _pad(self._reader.fields(self._reader.follow(at)), 2), depth)
        if value is None:
            raise ValueError(f"a list of {kind.name} with an empty element")
        return value

    def _scalar(self, kind: Scalar, at: int) -> Any:
        if not at and kind.is_optional:
            return None
        number = self._reader.scalar(SCALARS[kind.type], at) if at else 0
        if not kind.values:
            return bool(number) if kind.type == "bool" else number
        if not 0 <= number < len(kind.values):
            raise ValueError(f"{number} is none of {', '.join(kind.values)}")
        return kind.values[number]

    def _union(self, kind: OneOf, at: list[int], depth: int) -> Any:
        number = self._reader.scalar("B", at[0]) if at[0] else 0
        if not number:
            return None
        if number > len(kind.members):
            raise ValueError(f"{kind.name} of number {number}, which is not known here")
        if not at[1]:
            raise ValueError(f"{kind.members[number - 1]} without content")
        return self.table(kind.members[number - 1], self._reader.follow(at[1]), depth + 1)


def _pad(positions: Any, count: int) -> list[int]:
    """Exactly ``count`` positions: absent slots are added, those of newer specifications are dropped."""
    return [*positions[:count], *[0] * (count - len(positions))]


@cache
def _required(name: str) -> frozenset[str]:
    fields = getattr(model, name).model_fields
    return frozenset(attribute for attribute, field in fields.items() if field.is_required())


def _plain(kind: Kind, data: bytes) -> Any:
    if kind is Plain.BYTES:
        return data
    if kind is Plain.HASH:
        return multiformats.encode_hash(data)
    if kind is Plain.DID:
        return str(DatasetId.from_binary(data))
    text = data.decode("utf-8")
    if kind is Plain.JSON and not _is_json_object(text):
        raise ValueError("attributes that are not a JSON object")
    return text


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _instant(year: int, day: int, second: int, nanosecond: int) -> Instant:
    if not (1 <= year <= 9999 and 1 <= day <= 366 and second < 86_400 and nanosecond < 1_000_000_000):
        raise ValueError(f"a timestamp of year {year}, day {day}, second {second}, nanosecond {nanosecond}")
    moment = datetime(year, 1, 1, tzinfo=timezone.utc) + timedelta(days=day - 1, seconds=second)
    if moment.year != year:
        raise ValueError(f"a timestamp of day {day} in the year {year}")
    return Instant.from_datetime(moment).plus_ns(nanosecond)

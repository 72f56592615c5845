"""Metadata blocks as bytes (specification: Metadata Block Hashing, Manifests): flatbuffers in a ``Manifest`` frame.

The block hash is the SHA3-256 of all these bytes, so encoding is exact to the byte. The children of a table come first,
in the order of their declaration, then the fields in the same order. Version 3 aligns timestamps to four bytes, version
2 does not align them.
"""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.flatbuffer import TIMESTAMP, Reader, new_builder
from airflow_provider_odf.chain.flatbuffer_slots import (
    SCALARS,
    Kind,
    OneOf,
    Plain,
    Scalar,
    Table,
    Vector,
    slot_count,
    slots,
)
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import MetadataBlock
from airflow_provider_odf.manifest.names import DatasetId

if TYPE_CHECKING:
    from pydantic import BaseModel


VERSIONS = (2, 3)
"""Supported versions of the frame."""

_MAX_DEPTH = 64
_RECENT, _SMALL = 256, 1 << 16
"""Blocks that are kept in memory, and most bytes of one: attachments can have any size."""
_KIND = 0x400000  # multicodec odf-metadata-block
_TIMESTAMP_ALIGNMENT = {2: 1, 3: 4}


def encode(block: MetadataBlock, version: int = 3) -> bytes:
    """Return the block in its frame: the content of its file in ``blocks/``.

    :raises InvalidInput: the version is unknown, or a value has no binary form, such as a number out of range.
    """
    if version not in VERSIONS:
        raise InvalidInput(f"manifest version {version} is not supported: use 2 or 3")
    try:
        return _frame(version, _BlockWriter(_TIMESTAMP_ALIGNMENT[version]).write(block))
    except ValueError as e:
        raise InvalidInput(f"the block cannot be encoded: {e}") from e


def decode(data: bytes) -> MetadataBlock:
    """Return the block in a frame of version 2 or 3. Fields that newer specifications add to objects are ignored.

    Blocks that were decoded last are not decoded again: several parts of a page or task look at the newest ones.

    :raises ChainCorrupted: the bytes are not a block, or have an object of an unknown kind.
    """
    return _decode_once(data) if len(data) <= _SMALL else decode_frame(data)[1]


@lru_cache(_RECENT)
def _decode_once(data: bytes) -> MetadataBlock:
    return decode_frame(data)[1]


def decode_frame(data: bytes) -> tuple[int, MetadataBlock]:
    """Return the version of the frame, and the block in it.

    :raises ChainCorrupted: as ``decode``.
    """
    try:
        frame = Reader(data)
        version, content = _frame_fields(frame)
        number = frame.scalar("i", version) if version else 0
        if number not in VERSIONS:
            raise ValueError(f"the block has manifest version {number}, but only versions 2 and 3 are supported")
        if not content:
            raise ValueError("the block has no content")
        reader = Reader(frame.blob(content))
        return number, _BlockReader(reader).table(MetadataBlock, reader.root(), 0)
    except ValueError as e:
        raise ChainCorrupted(f"not a readable metadata block: {e}") from e


def _frame_fields(frame: Reader) -> tuple[int, int]:
    """Return the positions of the version and the content of a frame, 0 for absent fields."""
    try:
        kind, version, content = _padded(frame.fields(frame.root()), 3)
        is_block = bool(kind) and frame.scalar("q", kind) == _KIND
    except ValueError:
        is_block = False
    if not is_block:
        raise ChainCorrupted("not a metadata block")
    return version, content


def _frame(version: int, content: bytes) -> bytes:
    builder = new_builder()
    vector = builder.CreateByteVector(content)
    builder.StartObject(3)
    builder.PrependInt64Slot(0, _KIND, 0)
    builder.PrependInt32Slot(1, version, 0)
    builder.PrependUOffsetTRelativeSlot(2, vector, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


class _BlockWriter:
    """Writes one model into one buffer."""

    def __init__(self, timestamp_alignment: int) -> None:
        self._builder = new_builder()
        self._timestamp_alignment = timestamp_alignment

    def write(self, value: Any) -> bytes:
        self._builder.Finish(self._table(value))
        return bytes(self._builder.Output())

    def _table(self, value: Any) -> int:
        table: type[BaseModel] = type(value)
        fields = [(slot, getattr(value, slot.attribute)) for slot in slots(table)]
        children = {slot.number: self._child(slot.kind, v) for slot, v in fields if v is not None}
        self._builder.StartObject(slot_count(table))
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
            self._builder.PrependUint8Slot(slot, kind.members.index(type(value)) + 1, 0)
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


class _BlockReader:
    """Reads one model from one buffer."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def table(self, table: type[BaseModel], at: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("its objects are nested too deeply")
        fields = _padded(self._reader.fields(at), slot_count(table))
        values: dict[str, Any] = {}
        for slot in slots(table):
            if fields[slot.number] or isinstance(slot.kind, Scalar):
                values[slot.attribute] = self._field(slot.kind, fields[slot.number : slot.number + 2], depth)
        for attribute in _required(table):
            if values.get(attribute) is None:
                raise ValueError(f"{table.__name__} without {attribute}")
        return _blank(table).model_copy(update=values)

    def _field(self, kind: Kind, at: list[int], depth: int) -> Any:
        if isinstance(kind, Scalar):
            return self._scalar(kind, at[0])
        if isinstance(kind, OneOf):
            return self._union(kind, at, depth)
        if not at[0]:
            return None
        if isinstance(kind, Table):
            return self.table(kind.model, self._reader.follow(at[0]), depth + 1)
        if isinstance(kind, Vector):
            return tuple(self._item(kind.of, item, depth) for item in self._reader.vector(at[0], 4))
        if kind is Plain.TIME:
            return _instant(*self._reader.unpack(TIMESTAMP, at[0]))
        return _plain(kind, self._reader.blob(at[0]))

    def _item(self, kind: Kind, at: int, depth: int) -> Any:
        if not isinstance(kind, OneOf):
            return self._field(kind, [at], depth)
        value = self._union(kind, _padded(self._reader.fields(self._reader.follow(at)), 2), depth)
        if value is None:
            raise ValueError(f"a list with an empty {kind.noun}")
        return value

    def _scalar(self, kind: Scalar, at: int) -> Any:
        if not at and kind.is_optional:
            return None
        number = self._reader.scalar(SCALARS[kind.type], at) if at else 0
        if not kind.values:
            return bool(number) if kind.type == "bool" else number
        if not 0 <= number < len(kind.values):
            raise ValueError(f"unknown enumeration number {number}; the values are {', '.join(kind.values)}")
        return kind.values[number]

    def _union(self, kind: OneOf, at: list[int], depth: int) -> Any:
        number = self._reader.scalar("B", at[0]) if at[0] else 0
        if not number:
            return None
        if number > len(kind.members):
            raise ValueError(f"unknown {kind.noun} number {number}")
        member = kind.members[number - 1]
        if not at[1]:
            raise ValueError(f"{member.__name__} without content")
        return self.table(member, self._reader.follow(at[1]), depth + 1)


def _padded(positions: Any, count: int) -> list[int]:
    """Return exactly ``count`` positions: add absent slots, drop those of newer specifications."""
    return [*positions[:count], *[0] * (count - len(positions))]


@cache
def _blank(table: type[BaseModel]) -> BaseModel:
    """Return a model whose attributes are all None. A copy of it takes a fifth of the time of a model made anew."""
    return table.model_construct(**dict.fromkeys(slot.attribute for slot in slots(table)))


@cache
def _required(table: type[BaseModel]) -> tuple[str, ...]:
    names = {slot.attribute for slot in slots(table)}
    return tuple(name for name, field in table.model_fields.items() if field.is_required() and name in names)


def _plain(kind: Kind, data: bytes) -> Any:
    if kind is Plain.BYTES:
        return data
    if kind is Plain.HASH:
        return multiformats.encode_hash(data)
    if kind is Plain.DID:
        return str(DatasetId.from_binary(data))
    text = data.decode("utf-8")
    if kind is Plain.JSON and not _is_json_object(text):
        raise ValueError("the extra attributes are not a JSON object")
    return text


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _instant(year: int, day: int, second: int, nanosecond: int) -> Instant:
    if not (1 <= year <= 9999 and 1 <= day <= 366 and second < 86_400 and nanosecond < 1_000_000_000):
        raise ValueError(f"invalid timestamp: year {year}, day {day}, second {second}, nanosecond {nanosecond}")
    moment = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day - 1, seconds=second)
    if moment.year != year:
        raise ValueError(f"invalid timestamp: day {day} of year {year}")
    return Instant.from_datetime(moment).plus_ns(nanosecond)

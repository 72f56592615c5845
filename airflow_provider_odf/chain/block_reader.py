"""Reader of metadata blocks from flatbuffers, driven by the table of slots."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.flatbuffer import TIMESTAMP, Reader
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
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetId

_MAX_DEPTH = 64


class BlockReader:
    """Reads one model from one buffer."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def table(self, name: str, at: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("its objects are nested too deeply")
        fields = padded(self._reader.fields(at), slot_count(name))
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
            return _instant(*self._reader.unpack(TIMESTAMP, at[0]))
        return _plain(kind, self._reader.blob(at[0]))

    def _item(self, kind: Kind, at: int, depth: int) -> Any:
        if not isinstance(kind, OneOf):
            return self._field(kind, [at], depth)
        value = self._union(kind, padded(self._reader.fields(self._reader.follow(at)), 2), depth)
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
            raise ValueError(f"unknown enumeration number {number}; the values are {', '.join(kind.values)}")
        return kind.values[number]

    def _union(self, kind: OneOf, at: list[int], depth: int) -> Any:
        number = self._reader.scalar("B", at[0]) if at[0] else 0
        if not number:
            return None
        if number > len(kind.members):
            raise ValueError(f"unknown {kind.name} number {number}")
        if not at[1]:
            raise ValueError(f"{kind.members[number - 1]} without content")
        return self.table(kind.members[number - 1], self._reader.follow(at[1]), depth + 1)


def padded(positions: Any, count: int) -> list[int]:
    """Return exactly ``count`` positions: add absent slots, drop those of newer specifications."""
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
    moment = datetime(year, 1, 1, tzinfo=timezone.utc) + timedelta(days=day - 1, seconds=second)
    if moment.year != year:
        raise ValueError(f"invalid timestamp: day {day} of year {year}")
    return Instant.from_datetime(moment).plus_ns(nanosecond)

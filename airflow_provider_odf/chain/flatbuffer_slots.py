"""Which attribute of a metadata object lies in which slot of its flatbuffers table (specification: opendatafabric.fbs).

The models of the specification say it: a slot for each field, in the order of the fields, but two for a union, whose
members are numbered in their order from 1. A ``kind`` that names the member of a union has no slot.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from airflow_provider_odf.manifest import base, model
from airflow_provider_odf.manifest.base import Spelled, Variant

SCALARS = {"bool": "?", "int16": "h", "int32": "i", "uint32": "I", "uint64": "Q"}
"""Scalar -> its letter in ``struct``."""


class Plain(Enum):
    """Kinds without parameters. Hashes and ids are text in the model; JSON is the text of an object."""

    STRING = "string"
    JSON = "json"
    BYTES = "bytes"
    HASH = "hash"
    DID = "did"
    TIME = "time"


@dataclass(frozen=True)
class Scalar:
    """A number; ``values`` are the names of an enumeration in the order of their numbers, empty for a plain number.

    It is left out when None if it is optional, else when 0.
    """

    type: str
    is_optional: bool
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    model: type[BaseModel]


@dataclass(frozen=True)
class OneOf:
    """A union. In a vector each item lies in a table of its own (``PrepStepWrapper``)."""

    noun: str
    members: tuple[type[BaseModel], ...]


@dataclass(frozen=True)
class Vector:
    of: Kind


Kind: TypeAlias = Plain | Scalar | Table | OneOf | Vector


@dataclass(frozen=True)
class Slot:
    """An attribute's place; ``number`` is its first slot."""

    attribute: str
    number: int
    kind: Kind


_PLAIN = {
    str: Plain.STRING,
    base.RefText: Plain.STRING,
    base.Base64: Plain.BYTES,
    base.Hash: Plain.HASH,
    base.IdText: Plain.DID,
    base.Time: Plain.TIME,
}
_NUMBERS = {base.Bool: "bool", base.UInt64: "uint64", model.TimeUnit: "int16"}
"""Annotation -> its scalar; other numbers and enumerations are ``int32``."""

_SPECIAL: dict[tuple[type[BaseModel], str], Kind] = {
    (model.ExtraAttributes, "entries"): Plain.JSON,
    (model.DataTypeDecimal, "precision"): Scalar("uint32", is_optional=False),
}
"""Fields that have another kind than their annotation says."""


@cache
def slots(table: type[BaseModel]) -> tuple[Slot, ...]:
    """Return the slots of a model, in order."""
    return tuple(_slots(table))


def _slots(table: type[BaseModel]) -> Iterator[Slot]:
    hints, number = get_type_hints(table, include_extras=True), 0
    for name in table.model_fields:
        if name == "kind" and issubclass(table, Variant):
            continue
        kind = _SPECIAL.get((table, name)) or _kind(hints[name])
        yield Slot(name, number, kind)
        number += 2 if isinstance(kind, OneOf) else 1


def _kind(hint: Any, *, is_optional: bool = False) -> Kind:
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (argument for argument in get_args(hint) if argument is not types.NoneType)
        return _kind(hint, is_optional=True)
    if get_origin(hint) is tuple:
        return Vector(_kind(get_args(hint)[0]))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return Table(hint)
    annotated, *marks = get_args(hint)
    values = get_args(annotated) if get_origin(annotated) is Literal else ()
    spelled = next((mark for mark in marks if isinstance(mark, Spelled)), None)
    if spelled is not None and not values:
        return OneOf(spelled.noun, get_args(annotated) or (annotated,))
    return Scalar(_NUMBERS.get(hint, "int32"), is_optional, values)


def slot_count(table: type[BaseModel]) -> int:
    last = slots(table)[-1:]
    return last[0].number + (2 if isinstance(last[0].kind, OneOf) else 1) if last else 0

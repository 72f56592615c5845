"""Frozen dataclasses as JSON values and back: camelCase keys, no nulls. Standard library only."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar, Union

T = TypeVar("T")

_SCALARS: dict[Any, tuple[type, ...]] = {str: (str,), int: (int,), float: (float, int), bool: (bool,)}


def to_json(value: object) -> Any:
    """Return a message as JSON values: camelCase keys, absent instead of null. Decimals are texts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {_camel(name): to_json(v) for name, v in items if v is not None}
    if isinstance(value, tuple | list):
        return [to_json(v) for v in value]
    if isinstance(value, dict):
        return {key: to_json(v) for key, v in value.items()}
    return str(value) if isinstance(value, Decimal) else value


def from_json(cls: type[T], data: Any) -> T:
    """Return a message of a class from its JSON values.

    :raises ValueError: not an object, an unknown key, a missing required key, or a value of the wrong type.
    """
    if not isinstance(data, dict):
        raise ValueError(f"{cls.__name__} must be an object, not {type(data).__name__}")
    hints = typing.get_type_hints(cls)
    fields = {_camel(f.name): f.name for f in dataclasses.fields(typing.cast(Any, cls))}
    if unknown := set(data) - set(fields):
        raise ValueError(f"{cls.__name__} has no field {', '.join(map(repr, sorted(unknown)))}")
    try:
        return cls(**{fields[key]: _value(hints[fields[key]], v, f"{cls.__name__}.{key}") for key, v in data.items()})
    except TypeError as e:
        raise ValueError(f"{cls.__name__}: {e}") from e


def _value(hint: Any, data: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        inner = next(a for a in arguments if a is not type(None))
        return None if data is None else _value(inner, data, where)
    if origin is tuple:
        if not isinstance(data, list | tuple):
            raise ValueError(f"{where} must be a list, not {type(data).__name__}")
        return tuple(_value(arguments[0], v, where) for v in data)
    if origin is Mapping and isinstance(data, dict):
        return {key: _value(arguments[1], v, f"{where}.{key}") for key, v in data.items()}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return from_json(hint, data)
    if hint in _SCALARS and (not isinstance(data, _SCALARS[hint]) or (isinstance(data, bool) and hint is not bool)):
        raise ValueError(f"{where} must be of type {hint.__name__}, not {type(data).__name__}")
    return data


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)

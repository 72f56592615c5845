"""Frozen dataclasses as JSON values and back: camelCase keys, absent instead of null. Standard library only."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar, Union

T = TypeVar("T")


def to_json(value: object) -> Any:
    """A message as JSON values: camelCase keys, absent instead of null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {_camel(name): to_json(v) for name, v in items if v is not None}
    if isinstance(value, tuple | list):
        return [to_json(v) for v in value]
    return value


def from_json(cls: type[T], data: Any) -> T:
    """The message of a class from its JSON values.

    :raises ValueError: a key that the class does not have, or a required one missing.
    """
    hints = typing.get_type_hints(cls)
    fields = {_camel(f.name): f.name for f in dataclasses.fields(typing.cast(Any, cls))}
    if unknown := set(data) - set(fields):
        raise ValueError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
    try:
        return cls(**{fields[key]: _value(hints[fields[key]], v) for key, v in data.items()})
    except TypeError as e:
        raise ValueError(f"{cls.__name__}: {e}") from e


def _value(hint: Any, data: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        inner = next(a for a in arguments if a is not type(None))
        return None if data is None else _value(inner, data)
    if origin is tuple:
        # MergeSuccess.slices holds None where an input brought nothing; `to_json` keeps it inside a list.
        return tuple(_value(arguments[0], v) for v in data)
    return from_json(hint, data) if isinstance(hint, type) and dataclasses.is_dataclass(hint) else data


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)

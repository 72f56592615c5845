"""Keys of the models of an input file, and the places where they are allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from pydantic import BaseModel

Model: TypeAlias = type[BaseModel]


def keys_at(model: Model, path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the model at the end of a pydantic path has."""
    current = [model]
    for step in path:
        named = [m for m in current if _kind(m) == step]
        current = named or [m for c in current for m in _models(_annotation(c, step))] or current
    return [f.alias or name for c in current for name, f in c.model_fields.items()]


def owners_of(model: Model, key: str) -> list[str]:
    """Return the places below a model where a key is allowed: keys of mappings, or kinds of events."""
    owners, seen, left = dict[str, None](), set[Model](), [model]
    while left:
        current = left.pop(0)
        for owner, child in _children(current):
            if any(key == (f.alias or name) for name, f in child.model_fields.items()):
                owners[owner] = None
            if child not in seen:
                seen.add(child)
                left.append(child)
    return list(owners)


def _children(model: Model) -> Iterator[tuple[str, Model]]:
    """Yield the models of a model's fields, each with the name of its mapping in messages."""
    for name, field in model.model_fields.items():
        key, is_dict = field.alias or name, getattr(field.annotation, "__origin__", None) is dict
        for child in _models(field.annotation):
            yield (f"a name in `{key}`" if is_dict else f"`{_kind(child) if key == 'metadata' else key}`"), child


def _kind(model: Model) -> Any:
    field = model.model_fields.get("kind")
    return field.default if field else None


def _annotation(model: Model, step: str | int) -> Any:
    return next((f.annotation for name, f in model.model_fields.items() if step in (name, f.alias)), None)


def _models(annotation: Any) -> Iterator[Model]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)

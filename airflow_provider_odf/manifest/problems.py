"""Validation errors of pydantic as problems with a place in the YAML and readable messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest.base import kind_of
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.yaml_source import command_list
from airflow_provider_odf.wording import nearest, suggestion

Path: TypeAlias = tuple[str | int, ...]
Model: TypeAlias = type[BaseModel]

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_OTHER_NAMES = {"ddlSchema": "schema", "rawArrowSchema": "schema", "queries": "query"}
"""Keys with other names in older versions of the specification, and that of one query."""

_MOST_OWNERS = 3
"""Maximum number of places that a message suggests for a key."""


def problems_of(error: ValidationError, document: Document, root: Path, model: type[BaseModel]) -> list[Problem]:
    """Return every error of validating the part of the document under ``root`` as ``model``, in the order of the
    file."""
    validated = _Validated(document, root, model)
    return sorted(map(validated.problem, error.errors(include_url=False)))


def locate(value: Any, path: Sequence[str | int]) -> Path:
    """Return the path in YAML of a model's attribute path (snake_case, as validated).

    Names of union members, which pydantic adds to its paths, are omitted; short forms lead to the written value.
    """
    keys: list[str | int] = []
    for step in path:
        key = _key(value, step)
        if key is None:
            continue
        keys.append(key)
        value = value[key]
    return tuple(keys)


def _key(value: Any, step: str | int) -> str | int | None:
    if isinstance(value, Mapping):
        # Paths of pydantic also have the names of members of unions.
        if not isinstance(step, str) or (step[:1].isupper() and str(value.get("kind")).lower() == step.lower()):
            return None
        candidates = (step, to_camel(step.rstrip("_")), _OTHER_NAMES.get(to_camel(step)))
        return next((c for c in candidates if c is not None and c in value), None)
    is_item = isinstance(value, list) and isinstance(step, int) and step < len(value)
    return step if is_item else None


@dataclass(frozen=True)
class _Validated:
    """Validated part of a document under ``root``."""

    document: Document
    root: Path
    model: type[BaseModel]

    @cached_property
    def content(self) -> Any:
        return _descend(self.document.value, self.root)

    def place(self, path: Path, of_key: bool = False) -> Place:
        return self.document.place((*self.root, *path), of_key)

    def problem(self, details: Any) -> Problem:
        loc = tuple(step for step in details["loc"] if step != "[key]")
        if details["type"] == "odf":
            context = details["ctx"]
            path = locate(self.content, (*loc, *context["at"]))
            return Problem(self.place(path), context["message"], context["fix"])
        parent = locate(self.content, loc[:-1])
        if details["type"] == "missing":
            return Problem(self.place(parent), f"{self._owner(parent)} needs `{loc[-1]}`")
        if details["type"] == "extra_forbidden":
            message = f"unknown key `{loc[-1]}` in {self._owner(parent)}"
            place = self.place((*parent, str(loc[-1])), of_key=True)
            return Problem(place, message, self._right_key(loc[-1], _keys_at(self.model, loc[:-1])))
        path = locate(self.content, loc)
        return Problem(self.place(path), *_wrong_value(details, self._name(path)))

    def _right_key(self, key: object, known: Sequence[str]) -> str:
        """Return the fix for an unknown key that is valid elsewhere."""
        owners = _owners_of(self.model, str(key))
        if nearest(key, known, cutoff=0.8) or not 0 < len(owners) <= _MOST_OWNERS:
            return suggestion(key, known)
        return f"it belongs under {' or '.join(owners)}"

    def _name(self, path: Path) -> str:
        """Return the name of the value at a path: ``primaryKey`` or ``item 2 of primaryKey``."""
        keys = [step for step in path if isinstance(step, str)]
        name = f"`{keys[-1]}`" if keys else "the manifest's `content`" if self.root else "the file"
        return f"item {path[-1] + 1} of {name}" if path and isinstance(path[-1], int) else name

    def _owner(self, path: Path) -> str:
        """Return the name of a mapping: its kind, else its key."""
        value = _descend(self.content, path)
        if isinstance(value, Mapping) and isinstance(value.get("kind"), str) and path:
            return str(value["kind"])
        if isinstance(value, str) and path:
            return value  # a union's bare kind
        return self._name(path)


def _wrong_value(details: Any, name: str) -> tuple[str, str]:
    value, kind = details["input"], details["type"]
    if name == "`schema`" and isinstance(value, str):
        return f"{name} must be a list of columns, not {_shown(value)}", f"write [{value}]"
    if kind in _EXPECTED:
        return f"{name} must be {_EXPECTED[kind]}, not {_shown(value)}", _fix(kind, value, name)
    message = str(details["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{name} must be {message}, not {_shown(value)}", ""


def _fix(kind: str, value: Any, name: str) -> str:
    if kind == "string_type" and isinstance(value, int | float):
        return f'write "{str(value).lower() if isinstance(value, bool) else value}" in quotes'
    if kind == "string_type" and name.endswith("of `schema`") and isinstance(value, Mapping) and len(value) == 1:
        return _column(*value.items())
    if kind == "tuple_type" and isinstance(value, str):
        return f"write {command_list(value)}" if name == "`command`" else f"write [{value}]"
    return ""


def _column(item: tuple[object, object]) -> str:
    """Return the fix for a column written as ``name: TYPE``; a comma in a list has split a type with open brackets."""
    column, type_ = item
    is_whole = isinstance(type_, str) and all(type_.count(a) == type_.count(b) for a, b in ("()", "<>"))
    if not is_whole:
        return "write each column as NAME TYPE, without a colon after the name"
    text = f"{column} {type_}"
    return f"write {text}" if text.replace("_", "").replace(" ", "").isalnum() else f'write "{text}"'


def _shown(value: Any) -> str:
    texts: dict[type, Callable[[], str]] = {
        dict: lambda: "a mapping",
        list: lambda: "a list",
        type(None): lambda: "nothing",
        bool: lambda: "true" if value else "false",
        str: lambda: f"the string {value[:40]!r}" + ("…" if len(value) > 40 else ""),
    }
    return texts.get(type(value), lambda: f"the number {value}")()


def _descend(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


# --- keys of models -------------------------------------------------------------------------------------------------


def _keys_at(model: Model, path: Path) -> list[str]:
    """Return the keys that the model at the end of a pydantic path has."""
    current = [model]
    for step in path:
        named = [m for m in current if kind_of(m) == step]
        fields = [f for m in current for name, f in m.model_fields.items() if step in (name, f.alias)]
        current = named or [m for f in fields for m in _models(f.annotation)] or current
    return [f.alias or name for c in current for name, f in c.model_fields.items()]


def _owners_of(model: Model, key: str) -> list[str]:
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
            yield (f"a name in `{key}`" if is_dict else f"`{kind_of(child) if key == 'metadata' else key}`"), child


def _models(annotation: Any) -> Iterator[Model]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)

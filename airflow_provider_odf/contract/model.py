"""The one model of a data contract, whatever specification its document follows, and the values in its document.

Names of clauses are those of the Data Contract Specification (``minLength``). Each clause knows its JSON pointer, which
identifies it, and the place where it is written, which is elsewhere if a field inherits it from a definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from airflow_provider_odf.clauses import CHARACTER_TYPES, NUMERIC_TYPES, STRUCT_TYPES, TIME_TYPES
from airflow_provider_odf.errors import Place
from airflow_provider_odf.manifest.document import Document

Steps: TypeAlias = tuple[str | int, ...]
"""Keys and indexes on the way to a value in a document."""


def pointer(*steps: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a path.

    >>> pointer("models", "a/b", "fields", 0)
    '/models/a~1b/fields/0'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


@dataclass(frozen=True)
class Clause:
    """One statement of a contract: its key and its value. ``path`` is its JSON pointer."""

    name: str
    value: Any
    path: str
    place: Place


@dataclass(frozen=True)
class Spot:
    """A value in a document."""

    document: Document
    path: Steps = ()

    @cached_property
    def value(self) -> Any:
        """The value.

        :raises KeyError: the document has no such path.
        """
        value = self.document.value
        for step in self.path:
            try:
                value = value[step]
            except (IndexError, TypeError) as e:
                raise KeyError(step) from e
        return value

    @property
    def place(self) -> Place:
        """The place of the value, or of the last part of the path that exists."""
        return self.document.place(self.path)

    def clause(self, name: str = "", value: Any = None) -> Clause:
        """Return the clause that is written here, by default with the key and the value in the document."""
        return Clause(
            name or str(self.path[-1]), self.value if value is None else value, pointer(*self.path), self.place
        )

    def at(self, *steps: str | int) -> Spot:
        """Return the spot of a value inside this one."""
        return Spot(self.document, (*self.path, *steps))

    def get(self, key: str) -> Any:
        """Return the value of a key of this mapping, or None."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    def entries(self) -> Iterator[tuple[str, Spot]]:
        """Yield the keys of this mapping that are not null, with their values."""
        for key, value in self.value.items() if isinstance(self.value, dict) else ():
            if value is not None:
                yield key, self.at(key)

    def items(self, key: str = "") -> Iterator[Spot]:
        """Yield the items of this list, or of the list at a key of this mapping; none if there is none."""
        spot = self.at(key) if key else self
        value = self.get(key) if key else self.value
        for index in range(len(value) if isinstance(value, list) else 0):
            yield spot.at(index)

    def follow(self, pointer: str) -> Spot:
        """Return the spot of a JSON pointer (RFC 6901) that starts here.

        A key may contain slashes that the pointer does not escape, as names of definitions often do.

        :raises KeyError: there is no such value.
        """
        spot, rest = self._walk(pointer)
        if not rest:
            return spot
        if isinstance(spot.value, dict) and "/".join(rest) in spot.value:
            return spot.at("/".join(rest))
        raise KeyError(rest[0])

    def nearest(self, pointer: str) -> Spot:
        """Return the spot of a JSON pointer, or of its last part that exists."""
        return self._walk(pointer)[0]

    def _walk(self, pointer: str) -> tuple[Spot, list[str]]:
        """Return the last value on a pointer that exists, and the steps that are left."""
        steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        spot = self
        while steps:
            value = spot.value
            if isinstance(value, list) and steps[0].isdecimal() and len(steps[0]) < 10 and int(steps[0]) < len(value):
                spot = spot.at(int(steps.pop(0)))
            elif isinstance(value, dict) and steps[0] in value:
                spot = spot.at(steps.pop(0))
            else:
                break
        return spot, steps


TYPES = (
    CHARACTER_TYPES
    | NUMERIC_TYPES
    | STRUCT_TYPES
    | TIME_TYPES
    | {"boolean", "array", "map", "bytes", "null", "variant", "json"}
)
"""Logical types of a field. Version 1.2.0 of the specification added ``time``, ``variant`` and ``json``."""

SENSITIVE_CLASSIFICATIONS = frozenset({"sensitive", "restricted", "confidential", "secret"})


@dataclass(frozen=True)
class Field:
    """A column or a nested field. ``type`` is one of `TYPES` or None.

    ``clauses`` are in the order of the file, those of a definition first. ``quality`` has one clause for each rule,
    with the rule as a dict.
    """

    name: str
    path: str
    place: Place
    type: str | None = None
    clauses: tuple[Clause, ...] = ()
    quality: tuple[Clause, ...] = ()
    fields: tuple[Field, ...] = ()
    items: Field | None = None
    keys: Field | None = None
    values: Field | None = None

    def clause(self, name: str) -> Clause | None:
        """Return the clause of a name, or None."""
        return next((c for c in self.clauses if c.name == name), None)

    def value(self, name: str) -> Any:
        """Return the value of a clause, or None."""
        return clause.value if (clause := self.clause(name)) else None

    @property
    def is_sensitive(self) -> bool:
        """Whether reports must not show values of the field, or of a field inside it."""
        return self.is_marked_sensitive or any(child.is_sensitive for _, child in self.children)

    @property
    def is_marked_sensitive(self) -> bool:
        """Whether the field itself, and so every field inside it, is sensitive."""
        return bool(self.value("pii")) or self.is_classified_sensitive

    @property
    def is_classified_sensitive(self) -> bool:
        """Whether the field has a classification that means sensitive."""
        return str(self.value("classification")).lower() in SENSITIVE_CLASSIFICATIONS

    @property
    def is_marked_public(self) -> bool:
        """Whether the contract says that the field is not sensitive."""
        return self.value("pii") is False or bool(self.value("classification"))

    @property
    def children(self) -> Iterator[tuple[str, Field]]:
        """The fields inside this one, each with the end of its path: ``.city``, ``[]``, ``{key}``, ``{value}``."""
        for child in self.fields:
            yield f".{child.name}", child
        for end, inner in (("[]", self.items), ("{key}", self.keys), ("{value}", self.values)):
            if inner is not None:
                yield end, inner


@dataclass(frozen=True)
class Model:
    """A table, view or other set of records."""

    name: str
    path: str
    place: Place
    fields: tuple[Field, ...] = ()
    clauses: tuple[Clause, ...] = ()
    quality: tuple[Clause, ...] = ()

    def clause(self, name: str) -> Clause | None:
        """Return the clause of a name, or None."""
        return next((c for c in self.clauses if c.name == name), None)

    def is_sensitive(self, path: str) -> bool:
        """Whether reports must not show values of the column that a path begins with."""
        return any(field.is_sensitive for field in self.fields if _is_in(path.lower(), field.name.lower()))

    def field(self, name: str) -> Field | None:
        """Return the field of a name, ignoring case as the engine does, or None."""
        return next((f for f in self.fields if f.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class DataContract:
    """A contract. ``specification`` names the standard and its version: ``Data Contract Specification 1.1.0``.

    ``service_levels`` and ``servers`` have their objects as values, with the names of the Data Contract Specification.
    ``clauses`` are statements about the whole contract that data could answer, ``unknown`` are keys that the
    specification does not have, and ``invalid`` are values that cannot be read, with the problem in place of the value.
    """

    specification: str
    id: str
    title: str
    version: str
    status: str = ""
    models: tuple[Model, ...] = ()
    servers: tuple[Clause, ...] = ()
    service_levels: tuple[Clause, ...] = ()
    quality: tuple[Clause, ...] = ()
    clauses: tuple[Clause, ...] = ()
    unknown: tuple[Clause, ...] = ()
    invalid: tuple[Clause, ...] = ()

    def model(self, name: str) -> Model:
        """Return the model of a name.

        :raises KeyError: there is none.
        """
        return {model.name: model for model in self.models}[name]


def _is_in(path: str, column: str) -> bool:
    """Whether a path is a column or begins with it. A name of a column may contain dots."""
    return path.startswith(column) and path[len(column) : len(column) + 1] in ("", ".", "[", "{")

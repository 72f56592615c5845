"""``Spot``: a value in a document, with its path and its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from airflow_provider_odf.errors import Place
from airflow_provider_odf.manifest.document import Document

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Spot:
    """A value in a document."""

    document: Document
    path: Path = ()

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

    def items(self) -> Iterator[Spot]:
        """Yield the items of this list."""
        for index in range(len(self.value) if isinstance(self.value, list) else 0):
            yield self.at(index)

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
            if isinstance(value, list) and steps[0].isdecimal() and int(steps[0]) < len(value):
                spot = spot.at(int(steps.pop(0)))
            elif isinstance(value, dict) and steps[0] in value:
                spot = spot.at(steps.pop(0))
            else:
                break
        return spot, steps

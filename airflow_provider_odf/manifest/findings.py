"""Findings of rules in a manifest, and how rules ignore consequences of a part that did not validate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Finding:
    """Problem in a manifest. ``path`` has attribute names and indices of models, and is later resolved to a place in
    the file; ``offset`` is the character within the text there."""

    path: tuple[str | int, ...]
    message: str
    fix: str = ""
    is_warning: bool = False
    offset: int = 0

    def under(self, *path: str | int) -> Finding:
        """Return the same finding with a longer path, for an enclosing value."""
        return Finding((*path, *self.path), self.message, self.fix, self.is_warning, self.offset)


class NotValid(Exception):
    """A rule has accessed a part of the manifest that did not validate."""


class _Invalid:
    """Stands in a model for a part that did not validate. Whether that part is absent is unknown, so any access raises
    `NotValid`."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotValid

    def _end(self, *_: object) -> NoReturn:
        raise NotValid

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __hash__ = __str__ = __format__ = _end
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _end


INVALID: Final[Any] = _Invalid()


def rule(check: Callable[P, Iterator[Finding]]) -> Callable[P, Iterator[Finding]]:
    """Make a rule end where it accesses a part that did not validate, because that part has its own error."""

    @wraps(check)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Iterator[Finding]:
        if all(argument is not INVALID for argument in args):
            with suppress(NotValid):
                yield from check(*args, **kwargs)

    return guarded


def valid(pairs: Iterable[tuple[K, V]]) -> Iterator[tuple[K, V]]:
    """Yield the indices or names with a valid value."""
    return (pair for pair in pairs if pair[1] is not INVALID)

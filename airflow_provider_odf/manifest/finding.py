"""What rules find in a manifest, and how they keep silent about what follows from a part that did not validate."""

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
    """``path`` has the model's attribute names and indices, the place in the file is looked up later; ``offset`` is
    the character within the text there."""

    path: tuple[str | int, ...]
    message: str
    fix: str = ""
    is_warning: bool = False
    offset: int = 0

    def under(self, *path: str | int) -> Finding:
        """The same, seen from further up."""
        return Finding((*path, *self.path), self.message, self.fix, self.is_warning, self.offset)


class NotValid(Exception):
    """A rule has looked into a part of the manifest that did not validate."""


class _Invalid:
    """Stands in a model for a part that did not validate. It may be there or not, and whatever looks into it ends."""

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
    """A rule that ends where it depends on a part that did not validate: that part's own error is enough."""

    @wraps(check)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Iterator[Finding]:
        if all(argument is not INVALID for argument in args):
            with suppress(NotValid):
                yield from check(*args, **kwargs)

    return guarded


def valid(pairs: Iterable[tuple[K, V]]) -> Iterator[tuple[K, V]]:
    """The indices or names with a value that validated."""
    return (pair for pair in pairs if pair[1] is not INVALID)

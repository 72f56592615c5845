"""Rules of manifests and what they find, also in a manifest of which parts did not validate.

A rule is a function of one model of the specification, with `rule_of`. `findings` asks the rules of a value and of all
its parts. A rule ends where it accesses a part that did not validate, because that part has its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Final, NoReturn, ParamSpec, TypeAlias, TypeVar

from pydantic import BaseModel

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
        return replace(self, path=(*path, *self.path))


Findings: TypeAlias = Iterator[Finding]


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

_RULES: dict[type, list[Callable[[Any], Findings]]] = {}


def rule(check: Callable[P, Findings]) -> Callable[P, Findings]:
    """Make a rule, or a part of one, end where it accesses a part that did not validate."""

    @wraps(check)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Findings:
        if all(argument is not INVALID for argument in args):
            with suppress(NotValid):
                yield from check(*args, **kwargs)

    return guarded


def rule_of(*models: type[BaseModel]) -> Callable[[Callable[[Any], Findings]], Callable[[Any], Findings]]:
    """Make a function a rule of models and of their subclasses. Paths of its findings start at the model."""

    def register(check: Callable[[Any], Findings]) -> Callable[[Any], Findings]:
        guarded = rule(check)
        for model in models:
            _RULES.setdefault(model, []).append(guarded)
        return guarded

    return register


def findings(value: Any) -> Findings:
    """Yield what the rules of a value and of all its parts find."""
    for kind in type(value).__mro__:
        for check in _RULES.get(kind, ()):
            yield from check(value)
    parts: Iterable[tuple[str | int, Any]] = value if isinstance(value, BaseModel) else ()
    for name, part in enumerate(value) if isinstance(value, tuple) else parts:
        if isinstance(part, BaseModel | tuple):
            yield from (finding.under(name) for finding in findings(part))


def valid(pairs: Iterable[tuple[K, V]]) -> Iterator[tuple[K, V]]:
    """Yield the indices or names with a valid value."""
    return (pair for pair in pairs if pair[1] is not INVALID)

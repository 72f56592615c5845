"""Rules of manifests and what they find, also in a manifest of which parts did not validate.

A rule is a function of one model of the specification, with `rule_of`. `findings` asks the rules of a value and of all
its parts. A rule ends where it accesses a part that did not validate, because that part has its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from typing import Any, Final, NoReturn, ParamSpec, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from airflow_provider_odf.manifest.base import kind_of, spellings
from airflow_provider_odf.manifest.fragments import ddl_list_apart
from airflow_provider_odf.manifest.model import DatasetSnapshot
from airflow_provider_odf.wording import nearest

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


# --- values of which parts did not validate -------------------------------------------------------------------------


def build(annotation: Any, raw: Any) -> Any:
    """Return a YAML value as validated, with ``INVALID`` in place of invalid parts. Unknown keys are omitted, and the
    keys that they may be misspellings of are ``INVALID``."""
    try:
        return _adapter(annotation).validate_python(raw, by_alias=True, by_name=False)
    except ValidationError:
        pass
    model = next((m for m in _models(annotation) if _is_meant(m, raw)), None)
    if model is not None:
        return _construct(model, raw)
    if isinstance(raw, list) and (item := _item(annotation)) is not None:
        return tuple(build(item, value) for value in raw)
    return INVALID


def outline(snapshot: DatasetSnapshot) -> list[DatasetSnapshot]:
    """Return a snapshot with ``INVALID`` parts, and its events without such parts; no snapshot if it has no name."""
    if snapshot is INVALID or snapshot.name is INVALID:
        return []
    events = () if snapshot.metadata is INVALID else snapshot.metadata
    metadata = tuple(event if _is_valid(event) else INVALID for event in events)
    return [snapshot.model_copy(update={"metadata": metadata})]


def _is_valid(value: Any) -> bool:
    if isinstance(value, BaseModel):
        return all(map(_is_valid, vars(value).values()))
    return all(map(_is_valid, value)) if isinstance(value, tuple) else value is not INVALID


def _construct(model: type[BaseModel], raw: Any) -> BaseModel:
    value = ddl_list_apart(raw) if isinstance(raw, dict) else {}
    keys = {str(model.model_fields[name].alias): name for name in _fields(model)}
    misspelled = {nearest(key, keys.keys() - value.keys()) for key in value.keys() - keys.keys() - {"kind"}}
    values: dict[str, Any] = {}
    for key, name in keys.items():
        if key in value:
            values[name] = build(_fields(model)[name], value[key])
        elif key in misspelled or model.model_fields[name].is_required():
            values[name] = INVALID
    return model.model_construct(**values)


@lru_cache
def _fields(model: type[BaseModel]) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    return {name: hints[name] for name in model.model_fields if name != "kind" or not kind_of(model)}


def _is_meant(model: type[BaseModel], raw: Any) -> bool:
    kind = kind_of(model)
    named = raw.get("kind") if isinstance(raw, dict) else raw
    return isinstance(raw, dict) if not kind else isinstance(named, str) and named in spellings(kind)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Return the models that an annotation allows, except lists."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif getattr(annotation, "__origin__", None) is not tuple:
        for argument in getattr(annotation, "__args__", ()):
            yield from _models(argument)


def _item(annotation: Any) -> Any:
    """Return the annotation of the items of a list."""
    if getattr(annotation, "__origin__", None) is tuple:
        return annotation.__args__[0]
    return next(filter(None, map(_item, getattr(annotation, "__args__", ()))), None)


@lru_cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)

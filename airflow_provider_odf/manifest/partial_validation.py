"""Partial validation: rules also check the valid parts of an invalid manifest, so that all errors come at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from airflow_provider_odf.manifest.base import spellings
from airflow_provider_odf.manifest.findings import INVALID
from airflow_provider_odf.manifest.fragments import ddl_list_apart
from airflow_provider_odf.manifest.model import DatasetSnapshot
from airflow_provider_odf.wording import nearest


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
    return {name: hints[name] for name in model.model_fields if name != "kind" or not _kind(model)}


def _is_meant(model: type[BaseModel], raw: Any) -> bool:
    kind = _kind(model)
    named = raw.get("kind") if isinstance(raw, dict) else raw
    return isinstance(raw, dict) if not kind else isinstance(named, str) and named in spellings(kind)


def _kind(model: type[BaseModel]) -> str:
    """Return the name of a union's member, empty for other models."""
    default = model.model_fields["kind"].default if "kind" in model.model_fields else None
    return default if isinstance(default, str) else ""


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

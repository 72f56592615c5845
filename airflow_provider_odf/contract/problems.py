"""The problems that the objects of a contract find in a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from airflow_provider_odf.contract.document_spot import Path, Spot
from airflow_provider_odf.contract.objects import OpenObject, SpecificationObject
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.wording import nearest


def of_validation(spot: Spot, error: ValidationError) -> list[Problem]:
    """Return the problems of the value at a spot."""
    return sorted({of_detail(spot, detail) for detail in error.errors()})


def of_detail(spot: Spot, detail: Any) -> Problem:
    """Return the problem of one error of pydantic in the value at a spot."""
    steps = steps_of(detail)
    is_missing = detail["type"] == "missing"
    place = spot.at(*(steps[:-1] if is_missing else steps)).place
    name = ".".join(map(str, (*spot.path, *steps))) or "contract"
    return Problem(place, f"{name} is missing" if is_missing else f"{name}: {_reason(detail)}")


def steps_of(detail: Any) -> Path:
    """Return the path of the value that an error of pydantic is about."""
    return tuple(part for part in detail["loc"] if part != "[key]")


def _reason(detail: Any) -> str:
    message = str(detail["msg"]).removeprefix("Value error, ")
    message = re.sub(r"^Input should be an? (valid )?", "must be a ", message)
    message = re.sub(r"must be a dictionary.*", "must be a mapping", message)
    return re.sub(r"must be a tuple", "must be a list", message)


def unknown_keys(node: object, document: Document, path: Path = ()) -> Iterator[tuple[Path, Problem]]:
    """Yield the paths of extensions, as problems with the known key that they may mean: a typing error disables a
    clause."""
    if isinstance(node, SpecificationObject):
        known = {(f.alias or name): name for name, f in type(node).model_fields.items()}
        for key in node.model_extra or {}:
            close = nearest(key, known, cutoff=0.85) or _same_letters(key, known)
            message = f"{'.'.join(map(str, path)) or 'contract'}: unknown key {key!r}"
            fix = f"did you mean {close!r}?" if close else ""
            if close or not isinstance(node, OpenObject):
                yield (*path, key), Problem(document.place((*path, key), of_key=True), message, fix)
        for alias, name in known.items():
            yield from unknown_keys(getattr(node, name), document, (*path, alias))
    for step, value in _inside(node):
        if isinstance(value, BaseModel):
            yield from unknown_keys(value, document, (*path, step))


def _same_letters(key: str, known: Iterable[str]) -> str | None:
    """Return the known key with the same letters in another order: ``type`` for ``tpye``."""
    return next((name for name in known if sorted(name.lower()) == sorted(key.lower())), None)


def _inside(node: object) -> Iterable[tuple[str | int, object]]:
    if isinstance(node, dict):
        return node.items()
    return enumerate(node) if isinstance(node, tuple) else ()

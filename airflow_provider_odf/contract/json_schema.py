"""Check a contract against the JSON Schema of the version that it declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract.document_spot import Spot
from airflow_provider_odf.contract.thresholds import Number
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

    from airflow_provider_odf.manifest.document import Document

_TYPES = {"object": "mapping", "array": "list", "integer": "whole number", "null": "null"}
_EXTRA = ("additionalProperties", "unevaluatedProperties")
_NUMBERS_AS_TEXT = (("id",), ("info", "version"), ("info", "title"))
"""String properties for which the Data Contract Specification also allows numbers, because YAML parses ``version: 1.0``
as a number."""


def problems(document: Document, is_standard: bool) -> Iterator[Problem]:
    """Yield the problems of a document with the schema of its version."""
    from jsonschema.validators import validator_for

    schema = _schema(document, is_standard)
    errors = [*validator_for(schema)(schema).iter_errors(document.value)]
    paths = {tuple(e.absolute_path) for e in errors if e.validator not in _EXTRA}
    others = {path[:length] for path in paths for length in range(len(path) + 1)}
    for error in errors:
        path = tuple(error.absolute_path)
        if path in _NUMBERS_AS_TEXT and isinstance(error.instance, Number):
            continue
        if error.validator in _EXTRA:
            # A value with another problem is also "unevaluated", and so are all keys beside a problem of their mapping.
            keys = [key for key in _extra_keys(error) if path not in paths and (*path, key) not in others]
            yield from _unknown_keys(document, error, keys)
        else:
            yield from _problems(document, error)


def _schema(document: Document, is_standard: bool) -> Any:
    if is_standard:
        minor = re.findall(r"\d+", str(document.value["apiVersion"]))[1]
        name = {"0": "odcs-3.0.2", "1": "odcs-3.1.0"}.get(minor, "odcs-3.2.0")
    else:
        is_new = str(document.value["dataContractSpecification"]).startswith("1.2.")
        name = "dcs-1.2.1" if is_new else "dcs-1.1.0"
    return json.loads((resources.files(__package__) / "schemas" / f"{name}.json").read_text(encoding="utf-8"))


def _problems(document: Document, error: ValidationError) -> Iterator[Problem]:
    from jsonschema.exceptions import best_match

    error = best_match([error]) or error
    spot = Spot(document, tuple(error.absolute_path))
    name = ".".join(map(str, spot.path)) or "contract"
    if error.validator == "required":
        missing = error.message.split("'")[1]
        yield Problem(spot.place, f"{'.'.join(map(str, (*spot.path, missing)))} is missing")
    else:
        yield Problem(spot.place, f"{name}: {_message(error)}")


def _unknown_keys(document: Document, error: ValidationError, keys: list[str]) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for key in keys:
        close = nearest(key, known)
        message = f"{'.'.join(map(str, path)) or 'contract'}: unknown key {key!r}"
        yield Problem(document.place((*path, key), of_key=True), message, f"did you mean {close!r}?" if close else "")


def _extra_keys(error: ValidationError) -> list[str]:
    return [key for key in error.instance if repr(key) in error.message] if isinstance(error.instance, dict) else []


def _message(error: ValidationError) -> str:
    limit = error.validator_value
    match error.validator:
        case "type":
            kinds = [limit] if isinstance(limit, str) else limit
            return f"must be a {' or '.join(_TYPES.get(kind, kind) for kind in kinds)}"
        case "enum":
            return f"{error.instance!r} is not one of {', '.join(map(str, limit))}"
        case "anyOf" | "oneOf" if error.context and all(inner.validator == "required" for inner in error.context):
            return f"needs one of {', '.join(inner.message.split(chr(39))[1] for inner in error.context)}"
        case "anyOf" | "oneOf" if error.context:
            return " and ".join(dict.fromkeys(_message(inner) for inner in error.context))
        case "pattern":
            return f"{error.instance!r} does not match {limit}"
        case _:
            return str(error.message)

"""What is wrong in a document: problems that its objects and its JSON Schema find, and its repair.

A value that cannot be read is left out, and is a clause that cannot be evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from airflow_provider_odf.clauses import Number
from airflow_provider_odf.contract.model import Clause, Spot, Steps, pointer
from airflow_provider_odf.contract.objects import OpenObject, SpecificationObject
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError as SchemaError


def of_validation(spot: Spot, error: ValidationError) -> list[Problem]:
    """Return the problems of the value at a spot."""
    return sorted({of_detail(spot, detail) for detail in error.errors()})


def of_detail(spot: Spot, detail: Any) -> Problem:
    """Return the problem of one error of pydantic in the value at a spot."""
    steps = steps_of(detail)
    is_missing = detail["type"] == "missing"
    place = spot.at(*(steps[:-1] if is_missing else steps)).place
    name = ".".join(map(str, (*spot.path, *steps))) or "contract"
    return Problem(place, f"{name} is missing" if is_missing else f"{name}: {_reason_of(detail)}")


def steps_of(detail: Any) -> Steps:
    """Return the path of the value that an error of pydantic is about."""
    return tuple(part for part in detail["loc"] if part != "[key]")


def _reason_of(detail: Any) -> str:
    message = str(detail["msg"]).removeprefix("Value error, ")
    message = re.sub(r"^Input should be an? (valid )?", "must be a ", message)
    message = re.sub(r"must be a dictionary.*", "must be a mapping", message)
    return re.sub(r"must be a tuple", "must be a list", message)


def unknown_keys(node: object, document: Document, path: Steps = ()) -> Iterator[tuple[Steps, Problem]]:
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
    parts: Iterable[tuple[Any, object]] = node.items() if isinstance(node, dict) else ()
    for step, value in enumerate(node) if isinstance(node, tuple) else parts:
        if isinstance(value, BaseModel):
            yield from unknown_keys(value, document, (*path, step))


def _same_letters(key: str, known: Iterable[str]) -> str | None:
    """Return the known key with the same letters in another order: ``type`` for ``tpye``."""
    return next((name for name in known if sorted(name.lower()) == sorted(key.lower())), None)


MOST_REPAIRS = 20
"""Maximum number of times that a document is repaired: what is inside a repaired value shows in the next round only."""

_MAPPINGS = ("model_type", "dict_type")
"""Kinds of errors of pydantic at a value that must be a mapping."""

_CAUTIOUS = {"pii": True, "classification": "restricted"}
"""A field is sensitive if nobody can read whether it is."""


class Repair:
    """The repair of one document. ``problems`` are by the path of the wrong value, and of a missing one."""

    def __init__(self) -> None:
        self.problems: dict[Steps, list[Problem]] = {}

    def repaired(self, document: Document, error: ValidationError) -> Document:
        """Return the document without the values that an error is about.

        A wrong mapping is empty, and a missing value is an empty text. A list with a wrong item is missing, because the
        items after it would have other positions.
        """

        def change(root: Any) -> None:
            earlier, repaired = {*self.problems}, set[Steps]()
            for detail in error.errors():
                steps = steps_of(detail)
                # A list with two wrong items is missing after the first.
                path = _within(steps, repaired) or _repair(root, steps, detail["type"])
                repaired.add(path)
                if _within(path, earlier) is None:
                    self.problems.setdefault(path, []).append(of_detail(Spot(document), detail))

        return document.repaired(change)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The wrong and missing values as clauses."""
        return tuple(invalid(pointer(*path), problems) for path, problems in self.problems.items())


def invalid(path: str, problems: list[Problem]) -> Clause:
    """Return the clause at a pointer whose value has problems. They are its value, as text."""
    return Clause(path.rpartition("/")[2], "; ".join(map(str, problems)), path, problems[0].place)


def _repair(root: Any, steps: Steps, kind: str) -> Steps:
    """Repair the value that an error is about, and return its path."""
    nodes, path = [root], list[str | int]()
    for step in steps:
        if not _has(nodes[-1], step):
            break
        path.append(step)
        nodes.append(nodes[-1][step])
    if kind == "missing":
        nodes[-1][steps[-1]] = ""
        return (*path, steps[-1])
    if kind in _MAPPINGS:
        nodes[-2][path[-1]] = {}
        return tuple(path)
    while isinstance(path[-1], int):
        path.pop()
    key, parent = path[-1], nodes[len(path) - 1]
    if key in _CAUTIOUS:
        parent[key] = _CAUTIOUS[str(key)]
    else:
        parent.pop(key, None)
    return tuple(path)


def _within(path: Steps, others: Iterable[Steps]) -> Steps | None:
    """Return the one of other paths at which, or inside of which, a path is."""
    return next((other for other in others if path[: len(other)] == other), None)


def _has(node: Any, step: str | int) -> bool:
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)


_TYPES = {"object": "mapping", "array": "list", "integer": "whole number", "null": "null"}
_EXTRA = ("additionalProperties", "unevaluatedProperties")
_NUMBERS_AS_TEXT = (("id",), ("info", "version"), ("info", "title"))
"""String properties for which the Data Contract Specification also allows numbers, because YAML parses ``version: 1.0``
as a number."""


def of_schema(document: Document, is_standard: bool) -> Iterator[Problem]:
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
            yield from _of_error(document, error)


def _schema(document: Document, is_standard: bool) -> Any:
    from importlib import resources

    if is_standard:
        minor = re.findall(r"\d+", str(document.value["apiVersion"]))[1]
        name = {"0": "odcs-3.0.2", "1": "odcs-3.1.0"}.get(minor, "odcs-3.2.0")
    else:
        is_new = str(document.value["dataContractSpecification"]).startswith("1.2.")
        name = "dcs-1.2.1" if is_new else "dcs-1.1.0"
    return json.loads((resources.files(__package__) / "schemas" / f"{name}.json").read_text(encoding="utf-8"))


def _of_error(document: Document, error: SchemaError) -> Iterator[Problem]:
    from jsonschema.exceptions import best_match

    error = best_match([error]) or error
    spot = Spot(document, tuple(error.absolute_path))
    name = ".".join(map(str, spot.path)) or "contract"
    if error.validator == "required":
        missing = error.message.split("'")[1]
        yield Problem(spot.place, f"{'.'.join(map(str, (*spot.path, missing)))} is missing")
    else:
        yield Problem(spot.place, f"{name}: {_message(error)}")


def _unknown_keys(document: Document, error: SchemaError, keys: list[str]) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for key in keys:
        close = nearest(key, known)
        message = f"{'.'.join(map(str, path)) or 'contract'}: unknown key {key!r}"
        yield Problem(document.place((*path, key), of_key=True), message, f"did you mean {close!r}?" if close else "")


def _extra_keys(error: SchemaError) -> list[str]:
    return [key for key in error.instance if repr(key) in error.message] if isinstance(error.instance, dict) else []


def _message(error: SchemaError) -> str:
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

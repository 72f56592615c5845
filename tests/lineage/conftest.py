from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

_SCHEMAS = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "data").glob("*.json"))]
_REGISTRY: Registry = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in _SCHEMAS)


def _errors(schema_url: str, value: Any) -> Iterator[str]:
    validator = Draft202012Validator({"$ref": schema_url}, registry=_REGISTRY, format_checker=FormatChecker())
    for error in validator.iter_errors(value):
        yield f"{error.json_path}: {error.message}"


def _facets(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "_schemaURL" in node:
            yield node
        for value in node.values():
            yield from _facets(value)
    elif isinstance(node, list):
        for value in node:
            yield from _facets(value)


@pytest.fixture
def schema_errors() -> Callable[[dict[str, Any]], list[str]]:
    """Everything that the published schemas say against an event: against itself, and against each facet by the schema
    that it names."""

    def errors(event: dict[str, Any]) -> list[str]:
        found = list(_errors(event["schemaURL"], event))
        for facet in _facets(event):
            found.extend(_errors(facet["_schemaURL"], facet))
        return found

    return errors

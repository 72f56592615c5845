"""Validation of lineage events by the published JSON Schemas of OpenLineage, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

_FOLDER = Path(__file__).parent / "lineage" / "data"
_SCHEMAS = [json.loads(path.read_text()) for path in sorted(_FOLDER.glob("*.json"))]
_REGISTRY: Registry = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in _SCHEMAS)


def schema_errors(event: dict[str, Any]) -> list[str]:
    """Everything that the published schemas say against an event: against itself, and against each facet by the schema
    that it names. Facets of other projects have schemas of their own."""
    facets = (facet for facet in _facets(event) if facet["_schemaURL"].startswith("https://openlineage.io/"))
    errors = list(_errors(event["schemaURL"], event))
    return errors + [error for facet in facets for error in facet_errors(facet)]


def facet_errors(facet: dict[str, Any]) -> list[str]:
    """Everything that the schema of a facet says against it."""
    return [*_errors(facet["_schemaURL"], facet)]


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

"""JSON Schema of manifests and folder settings, for completion and checks in editors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from airflow_provider_odf.manifest.base import spellings
from airflow_provider_odf.manifest.folder_settings import SettingsFile
from airflow_provider_odf.manifest.model import DatasetSnapshot, MetadataEvent
from airflow_provider_odf.manifest.rules import ENGINES

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NOT_DECLARED = ("Seed", "AddData", "ExecuteTransform", "DisablePollingSource", "DisablePushSource")
_NOT_ALONE = ("FetchStepEthereumLogs", *(event.__name__ for event in get_args(get_args(MetadataEvent)[0])))
"""Members of unions whose bare kind is not suggested: an event without properties has no effect."""


def manifest_schema() -> dict[str, Any]:
    """Return the schema of one YAML document that declares a dataset, with every accepted spelling.

    Only events without properties are omitted, which have no effect.
    """
    content = DatasetSnapshot.model_json_schema(by_alias=True)
    definitions: dict[str, Any] = content.pop("$defs")
    _drop(content, definitions)
    for name, definition in definitions.items():
        _accept_what_loads(name, definition)
    for holder in (content, *definitions.values()):
        for union in list(_unions(holder)):
            _close(union, definitions)
    events = content["properties"]["metadata"]["items"]["oneOf"]
    events[:] = [event for event in events if _name(event) not in _NOT_DECLARED]
    return {
        "$schema": _DIALECT,
        "title": "Open Data Fabric dataset",
        "type": "object",
        "properties": {"kind": {"const": "DatasetSnapshot"}, "version": {"const": 1}, "content": content},
        "required": ["kind", "version", "content"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def settings_schema() -> dict[str, Any]:
    """Return the schema of ``odf.yaml``."""
    schema = SettingsFile.model_json_schema()
    _drop(schema, schema.get("$defs", {}))
    return {"$schema": _DIALECT, **schema, "title": "Settings of a folder of datasets"}


def _accept_what_loads(name: str, definition: dict[str, Any]) -> None:
    """Add the spellings and older forms that validators accept before the model is checked."""
    properties = definition.get("properties", {})
    if "const" in properties.get("kind", {}):
        properties["kind"] = {"enum": spellings(properties["kind"]["const"])}
        definition["required"] = ["kind", *definition.get("required", [])]
    if name.startswith("ReadStep"):
        properties["schema"]["anyOf"].append({"type": "array", "items": {"type": "string"}})
    if name == "SetDataSchema":
        properties["schema"]["anyOf"].append({"type": "string", "contentEncoding": "base64"})
    if name == "TransformSql":
        properties["engine"]["enum"] = list(ENGINES)
    if name == "ExtraAttributes":
        definition.update({"properties": {}, "additionalProperties": True})


def _unions(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "discriminator" in node or node.get("$ref", "").endswith("SourceCachingForever"):
            yield node
        for value in node.values():
            yield from _unions(value)
    elif isinstance(node, list):
        for value in node:
            yield from _unions(value)


def _close(union: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Write a union as plain JSON Schema, with the kinds that may be written alone."""
    members = union.pop("oneOf", None) or [{"$ref": union.pop("$ref")}]
    union.pop("discriminator", None)
    named = {name: definitions[name] for name in (_name(member) for member in members)}
    alone = [d for name, d in named.items() if d["required"] == ["kind"] and name not in _NOT_ALONE]
    bare = [spelling for d in alone for spelling in d["properties"]["kind"]["enum"]]
    union["oneOf"] = [*members, {"enum": bare}] if bare else members


def _name(reference: dict[str, Any]) -> str:
    return str(reference["$ref"].rpartition("/")[2])


def _drop(*schemas: Any) -> None:
    """Remove generated titles and null defaults."""
    for schema in schemas:
        if isinstance(schema, dict):
            for key, value in [*schema.items()]:
                if (key == "title" and isinstance(value, str)) or (key == "default" and value is None):
                    del schema[key]
            _drop(*schema.values())
        elif isinstance(schema, list):
            _drop(*schema)

"""The page about manifests, from their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_provider_odf.manifest.json_schema import manifest_schema
from docs.generate.markdown import NOTICE, code, from_rst, table
from docs.generate.properties import meaning

_INTRODUCTION = """\
# Manifest

A manifest is a YAML document with `kind: DatasetSnapshot`, `version: 1` and `content`. A file may hold several
documents. Properties have the names of the Open Data Fabric specification; unknown ones are errors. The `kind` of a
step and the values of an enumeration may be written `NdJson`, `ndJson` or `ndjson`; a step that needs no properties may
be its bare kind: `merge: Append`.

[The JSON Schema](../manifest.schema.json) makes editors complete and check manifests. It needs one line at the top of a
manifest, with the path or URL of the schema:

```yaml
# yaml-language-server: $schema=../docs/manifest.schema.json
kind: DatasetSnapshot
version: 1
content:
  name: an-example
  kind: Root
  metadata: []
```

`odf schema` prints the same schema for the installed version.

**Templates.** In `url`, in values of `headers`, and in `image`, `args` and `env` of a container, `${{ env.NAME }}` is
a value from Airflow or the environment ([how](../how-to/use-secrets.md)), `${{ env.NAME || 'text' }}` has a fallback.
What comes in through a template never appears in a message, a log or lineage.

**Relative paths** are relative to the manifest's folder.
"""

_GROUPS = (
    ("The dataset", ("DatasetSnapshot",)),
    ("Events", ("SetPollingSource", "AddPushSource", "SetTransform", "SetVocab", "SetInfo", "SetLicense",
                "SetAttachments", "SetDataSchema")),
    ("Fetch steps", ("FetchStep", "RequestHeader", "EnvVar", "MqttTopicSubscription")),
    ("Event times", ("EventTimeSource",)),
    ("Caching", ("SourceCaching",)),
    ("Prepare steps", ("PrepStep",)),
    ("Read steps", ("ReadStep",)),
    ("Transforms", ("TransformSql", "SqlQueryStep", "TemporalTable", "TransformInput")),
    ("Merge strategies", ("MergeStrategy",)),
    ("Attachments", ("Attachments", "AttachmentEmbedded")),
    ("Schemas and types", ("DataSchema", "DataField", "DataType")),
)  # fmt: skip
_NO_MEMBERS = {"TransformInput", "AttachmentEmbedded"}
_WITHOUT_SECTION = {"ExtraAttributes": "mapping", "SourceCachingForever": "string: `Forever`"}
_UNIONS = ("EventTimeSource", "FetchStep", "PrepStep", "ReadStep", "MergeStrategy", "SourceCaching", "DataType",
           "Attachments", "Transform")  # fmt: skip


def page() -> str:
    """docs/reference/manifest.md"""
    schema = manifest_schema()
    definitions = {**schema["$defs"], "DatasetSnapshot": schema["properties"]["content"]}
    parts = [NOTICE, _INTRODUCTION]
    for title, prefixes in _GROUPS:
        parts.append(f"## {title}\n")
        names = [name for prefix in prefixes for name in sorted(definitions) if _is(name, prefix)]
        simple = [n for n in names if not _properties(definitions[n])]
        for name in names:
            if name not in simple:
                parts += _section(name, definitions[name])
        if simple:
            rows = [(code(short(n)), from_rst(definitions[n].get("description", ""))) for n in simple]
            parts += ["Without properties:\n", table(("kind", "meaning"), rows)]
    return "\n".join(parts)


def _is(name: str, prefix: str) -> bool:
    """Whether a definition is the named one, or a member of the union of that name."""
    return name == prefix or (prefix in _UNIONS and name.startswith(prefix) and name not in _NO_MEMBERS)


def short(name: str) -> str:
    """A member's name without its union's: how ``kind`` has it."""
    unions = (union for union in _UNIONS if name.startswith(union) and name not in (union, *_NO_MEMBERS))
    return next((name.removeprefix(union) for union in unions), name)


def _section(name: str, definition: dict[str, Any]) -> Iterator[str]:
    yield f"### {short(name)}\n"
    if about := definition.get("description"):
        yield from_rst(about) + "\n"
    required = definition.get("required", ())
    rows = [
        (code(key), _type(value), "yes" if key in required else "", meaning(name, key))
        for key, value in _properties(definition).items()
    ]
    yield table(("property", "type", "required", "meaning"), rows)


def _properties(definition: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = definition.get("properties", {})
    if "const" in properties.get("kind", {}) or definition.get("required", [None])[0] == "kind":
        return {key: value for key, value in properties.items() if key != "kind"}
    return properties


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return _WITHOUT_SECTION.get(name) or f"[{short(name)}](#{short(name).lower()})"
    if options := value.get("anyOf") or value.get("oneOf"):
        return _either(options)
    if "enum" in value:
        return "string: " + ", ".join(map(code, [v for v in value["enum"] if v[:1].isupper()] or value["enum"]))
    if value.get("type") == "array":
        return f"list of {_type(value.get('items', {}))}"
    return {"string": "string", "boolean": "true or false", "integer": "integer"}.get(value.get("type", ""), "any")


def _either(options: list[dict[str, Any]]) -> str:
    given = [o for o in options if o.get("type") != "null"]
    named = [o for o in given if "enum" not in o] or given
    unions = {union for o in named for union in _UNIONS if o.get("$ref", "").rpartition("/")[2].startswith(union)}
    if len(unions) == 1 and len(named) > 1 and all("$ref" in o for o in named):
        title = next(t for t, prefixes in _GROUPS if next(iter(unions)) in prefixes)
        return f"one of [{title.lower()}](#{title.lower().replace(' ', '-')})"
    if any(o.get("$ref", "").endswith("/SetPollingSource") for o in named):
        return "one of [events](#events)"
    return " or ".join(_type(o) for o in named)

"""The table of clauses of fields: the check that each becomes, and those without one."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_odf.contract.model import CHARACTER_TYPES, NUMERIC_TYPES, STRUCT_TYPES


@dataclass(frozen=True)
class Kind:
    """How a clause of a field becomes a check.

    ``argument`` is the name of the clause's value in the arguments of the check. ``types`` are the types of fields that
    the clause applies to, None for all.
    """

    name: str
    description: str
    argument: str = "limit"
    types: frozenset[str] | None = None


SWITCHES = {
    "required": Kind("required", "{field} is never null"),
    "unique": Kind("unique", "{field} has no duplicate values"),
    "uniqueItems": Kind("unique_items", "{field} has no duplicate items"),
}
"""Boolean clause of a field -> its check."""

KINDS = {
    "type": Kind("field_type", "{field} is of type {value}", "type"),
    "enum": Kind("enum", "{field} is one of {value}", "values"),
    "format": Kind("format", "{field} is a valid {value}", "format", CHARACTER_TYPES),
    "pattern": Kind("pattern", "{field} matches {value}", "pattern", CHARACTER_TYPES),
    "minLength": Kind("min_length", "{field}: length >= {value}", types=CHARACTER_TYPES),
    "maxLength": Kind("max_length", "{field}: length <= {value}", types=CHARACTER_TYPES),
    "minimum": Kind("minimum", "{field}: >= {value}", types=NUMERIC_TYPES),
    "exclusiveMinimum": Kind("exclusive_minimum", "{field}: > {value}", types=NUMERIC_TYPES),
    "maximum": Kind("maximum", "{field}: <= {value}", types=NUMERIC_TYPES),
    "exclusiveMaximum": Kind("exclusive_maximum", "{field}: < {value}", types=NUMERIC_TYPES),
    "precision": Kind("precision", "{field}: at most {value} digits", types=NUMERIC_TYPES),
    "scale": Kind("scale", "{field}: at most {value} decimal places", types=NUMERIC_TYPES),
    "references": Kind("references", "{field} exists in {value}", "target"),
    "multipleOf": Kind("multiple_of", "{field}: a multiple of {value}", types=NUMERIC_TYPES),
    "integerFormat": Kind("range", "{field} fits in {value}", types=NUMERIC_TYPES),
    "minItems": Kind("min_items", "{field}: at least {value} items", types=frozenset({"array"})),
    "maxItems": Kind("max_items", "{field}: at most {value} items", types=frozenset({"array"})),
    "dimensions": Kind("items", "{field}: {value} items", types=frozenset({"array"})),
    "requiredFields": Kind("required_fields", "{field}: {value} are never null", "fields", STRUCT_TYPES),
    "databricksType": Kind("physical_type", "{field} is stored as {value}", "type"),
}
"""Clause of a field -> its check."""

FORMATS = ("email", "uri", "uuid")
"""Formats of text that the engine tests (`engine.contract.formats`)."""

LIMITS = frozenset({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"})
"""Clauses that also apply to times, if their value is a text."""

INTEGER_FORMATS = {
    **{f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64, 128)},
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64, 128)},
}

NOT_TESTED = {
    "physicalType": ("informational", "it is a type of the contract's server, not of Spark"),
    "timeFormat": ("informational", "times are read as timestamps, which have no text format"),
    "timezone": ("informational", "timestamps are read in UTC, without their original time zone"),
    "defaultTimezone": ("informational", "timestamps are read in UTC, without their original time zone"),
    "elementType": ("informational", "numbers of any width are accepted"),
    "distanceMetric": ("informational", "it is advice to consumers, which data cannot violate"),
    "embeddingModel": ("informational", "it documents the origin of the values"),
    "embeddingModelVersion": ("informational", "it documents the origin of the values"),
    "normalized": ("unsupported", "the length of vectors is not tested"),
    "minProperties": ("unsupported", "a struct always has all its fields"),
    "maxProperties": ("unsupported", "a struct always has all its fields"),
}
"""Clauses of the Open Data Contract Standard without a test, and why."""

ANNOTATIONS = frozenset({
    "title", "description", "example", "examples", "pii", "classification", "tags", "links", "lineage", "config",
    "$ref_obj", "domain", "name", "primaryKey", "primaryKeyPosition", "semanticType", *SWITCHES,
})  # fmt: skip
"""Clauses of a field with nothing to test, and those that are compiled by functions of their own."""

MODEL_ANNOTATIONS = frozenset(
    {"type", "title", "description", "examples", "tags", "config", "primaryKey", "physicalName"}
)
"""The same for clauses of a model."""

INNER = {"fields": STRUCT_TYPES, "items": {"array"}, "keys": {"map"}, "values": {"map"}}
"""Key with nested fields -> types that have them."""

"""The objects of the Open Data Contract Standard, versions 3.0 to 3.2, to check a document.

Only what the model of a contract needs has a type. Keys outside the standard are kept.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, field_validator

from airflow_provider_odf.contract.objects import Count, Number, OpenObject, SpecificationObject, Text

LOGICAL_TYPES = (
    "array", "boolean", "date", "integer", "map", "number", "object", "string", "time", "timestamp", "vector",
)  # fmt: skip


def _bound(value: object) -> object:
    """Return a bound: a number, the text of a time, or, before version 3.1, whether the other bound is exclusive."""
    if not isinstance(value, int | float | Decimal | str):
        raise ValueError(f"{value!r} is neither a number nor a string")
    return value


Bound = Annotated[Any, BeforeValidator(_bound)]


class OptionsObject(SpecificationObject):
    """The options of a logical type."""

    min_length: Count | None = None
    max_length: Count | None = None
    pattern: StrictStr | None = None
    format: StrictStr | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None
    exclusive_minimum: Bound | None = None
    exclusive_maximum: Bound | None = None
    multiple_of: Number | None = None
    min_items: Count | None = None
    max_items: Count | None = None
    unique_items: StrictBool | None = None
    min_properties: Count | None = None
    max_properties: Count | None = None
    required: tuple[StrictStr, ...] | None = None
    timezone: StrictBool | None = None
    default_timezone: StrictStr | None = None
    dimensions: Count | None = None
    element_type: StrictStr | None = None
    distance_metric: StrictStr | None = None
    embedding_model: StrictStr | None = None
    embedding_model_version: StrictStr | None = None
    normalized: StrictBool | None = None


class RelationshipObject(SpecificationObject):
    """A foreign key. ``from`` is implicit at a property."""

    id: StrictStr | None = None
    type: StrictStr = "foreignKey"
    source: StrictStr | tuple[StrictStr, ...] | None = Field(None, alias="from")
    to: StrictStr | tuple[StrictStr, ...]
    custom_properties: list[Any] | None = None


class ElementObject(SpecificationObject):
    """An object or a property."""

    id: StrictStr | None = None
    name: Text | None = None
    physical_name: Text | None = None
    physical_type: StrictStr | None = None
    business_name: StrictStr | None = None
    description: StrictStr | None = None
    deprecated: StrictBool | None = None
    synonyms: list[Any] | None = None
    authoritative_definitions: list[Any] | None = None
    tags: tuple[Text, ...] | None = None
    custom_properties: list[Any] | None = None
    relationships: tuple[RelationshipObject, ...] | None = None
    quality: tuple[dict[str, Any], ...] | None = None


class MapObject(SpecificationObject):
    key: PropertyObject | None = None
    value: PropertyObject | None = None


class PropertyObject(ElementObject):
    """A column, a nested field, or the elements of an array or map, which have no name."""

    primary_key: StrictBool | None = None
    primary_key_position: int | None = None
    logical_type: StrictStr | None = None
    logical_type_options: OptionsObject | None = None
    required: StrictBool | None = None
    unique: StrictBool | None = None
    semantic_type: StrictStr | None = None
    partitioned: StrictBool | None = None
    partition_key_position: int | None = None
    classification: StrictStr | None = None
    encrypted_name: StrictStr | None = None
    transform_source_objects: list[Any] | None = None
    transform_logic: StrictStr | None = None
    transform_description: StrictStr | None = None
    examples: list[Any] | None = None
    enum: list[Any] | None = None
    critical_data_element: StrictBool | None = None
    properties: tuple[NamedPropertyObject, ...] | None = None
    items: PropertyObject | None = None
    map: MapObject | None = None

    @field_validator("logical_type")
    @classmethod
    def _is_a_logical_type(cls, value: str | None) -> str | None:
        if value is not None and value not in LOGICAL_TYPES:
            raise ValueError(f"unknown type {value!r}: use one of {', '.join(LOGICAL_TYPES)}")
        return value


class NamedPropertyObject(PropertyObject):
    name: Text


class TableObject(ElementObject):
    """An object of the schema: a table, view or other set of records."""

    name: Text
    logical_type: StrictStr | None = None
    data_granularity_description: StrictStr | None = None
    properties: tuple[NamedPropertyObject, ...] | None = None
    context: Any = None


class ServerObject(OpenObject):
    server: Text
    type: StrictStr


class ServiceLevelObject(OpenObject):
    property: StrictStr
    value: Any


class StandardObject(SpecificationObject):
    """The root of a contract document."""

    api_version: StrictStr
    kind: StrictStr
    id: Text
    version: Text
    name: Text | None = None
    status: StrictStr | None = None
    tenant: StrictStr | None = None
    domain: StrictStr | None = None
    data_product: StrictStr | None = None
    description: dict[str, Any] | None = None
    authoritative_definitions: list[Any] | None = None
    context: Any = None
    servers: tuple[ServerObject, ...] | None = None
    tables: tuple[TableObject, ...] | None = Field(None, alias="schema")
    tags: tuple[Text, ...] | None = None
    support: list[Any] | None = None
    price: dict[str, Any] | None = None
    team: Any = None
    roles: list[Any] | None = None
    sla_default_element: StrictStr | None = None
    sla_properties: tuple[ServiceLevelObject, ...] | None = None
    custom_properties: list[Any] | None = None
    contract_created_ts: Any = None

"""The objects of documents, to check them: those of the Data Contract Specification, versions 0.9.3 to 1.2.1, and those
of the Open Data Contract Standard, versions 3.0 to 3.2.

Every object may have extensions, which are keys outside the specification. They are kept. Values of known keys have the
types of the specification.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationInfo,
    field_validator,
)
from pydantic.alias_generators import to_camel

from airflow_provider_odf.clauses import CHARACTER_TYPES
from airflow_provider_odf.contract.model import TYPES
from airflow_provider_odf.contract.thresholds import number


def _count(value: object) -> int:
    count = number(value)
    if count < 0 or count != int(count):
        raise ValueError(f"must be a non-negative integer, not {value!r}")
    return int(count)


def _text(value: object) -> str:
    """Return a version or an id as text. YAML reads some of them as numbers or dates."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | datetime.date):
        raise ValueError(f"{value!r} is not a string")
    return str(value)


def _scalar(value: object) -> object:
    if not isinstance(value, str | int | float | Decimal | datetime.date):
        raise ValueError(f"{value!r} is not a single value")
    return value


def _data_type(value: object) -> str:
    if not isinstance(value, str) or value.lower() not in TYPES:
        raise ValueError(f"unknown type {value!r}: use one of {', '.join(sorted(TYPES))}")
    return value.lower()


Number: TypeAlias = Annotated[Any, BeforeValidator(number)]
Count: TypeAlias = Annotated[int, BeforeValidator(_count)]
Text: TypeAlias = Annotated[str, BeforeValidator(_text)]
Scalar: TypeAlias = Annotated[Any, BeforeValidator(_scalar)]
DataType: TypeAlias = Annotated[str, BeforeValidator(_data_type)]


class SpecificationObject(BaseModel):
    """An object with possible extensions, in ``model_extra``."""

    model_config = ConfigDict(frozen=True, extra="allow", alias_generator=to_camel, protected_namespaces=())


class OpenObject(SpecificationObject):
    """An object whose other keys depend on its kind."""


class FieldObject(SpecificationObject):
    """A field of a model, or a definition that fields refer to."""

    type: DataType | None = None
    domain: Any = None
    name: Any = None
    title: StrictStr | None = None
    description: StrictStr | None = None
    enum: tuple[Scalar, ...] | None = None
    required: StrictBool | None = None
    primary_key: StrictBool | None = None
    primary: StrictBool | None = None
    references: StrictStr | None = None
    unique: StrictBool | None = None
    format: StrictStr | None = None
    precision: Count | None = None
    scale: Count | None = None
    min_length: Count | None = None
    max_length: Count | None = None
    pattern: StrictStr | None = None
    minimum: Number | None = None
    exclusive_minimum: Number | None = None
    maximum: Number | None = None
    exclusive_maximum: Number | None = None
    example: Any = None
    examples: list[Any] | None = None
    pii: StrictBool | None = None
    classification: StrictStr | None = None
    tags: tuple[Text, ...] | None = None
    links: dict[str, Any] | None = None
    ref: StrictStr | None = Field(None, alias="$ref")
    ref_obj: Any = Field(None, alias="$ref_obj")
    fields: dict[str, FieldObject] | None = None
    items: FieldObject | None = None
    keys: FieldObject | None = None
    values: FieldObject | None = None
    quality: tuple[dict[str, Any], ...] | None = None
    lineage: dict[str, Any] | None = None
    config: dict[str, Any] | None = None

    @field_validator("enum")
    @classmethod
    def _texts_are_quoted(cls, values: tuple[Any, ...] | None, info: ValidationInfo) -> tuple[Any, ...] | None:
        """Check that texts are quoted: YAML reads ``007`` as 7 and ``True`` as true."""
        if info.data.get("type") in CHARACTER_TYPES:
            for value in values or ():
                if not isinstance(value, str):
                    raise ValueError(f"{value!r} is not a string: put it in quotes")
        return values


class ModelObject(SpecificationObject):
    """A table, view or other set of records."""

    type: StrictStr = "table"
    title: StrictStr | None = None
    description: StrictStr | None = None
    fields: dict[str, FieldObject] = {}
    primary_key: tuple[StrictStr, ...] | None = None
    additional_fields: StrictBool | None = None
    quality: tuple[dict[str, Any], ...] | None = None
    examples: list[Any] | None = None
    tags: tuple[Text, ...] | None = None
    config: dict[str, Any] | None = None


class InfoObject(SpecificationObject):
    title: Text
    version: Text
    status: StrictStr | None = None
    description: StrictStr | None = None
    owner: StrictStr | None = None
    contact: dict[str, Any] | None = None


class DataContractObject(SpecificationObject):
    """The root of a contract document."""

    data_contract_specification: Text
    id: Text
    info: InfoObject
    servers: dict[str, Any] | None = None
    terms: dict[str, Any] | None = None
    models: dict[str, ModelObject] | None = None
    definitions: dict[str, FieldObject] | None = None
    servicelevels: dict[str, dict[str, Any]] | None = None
    quality: dict[str, Any] | None = None
    schema_: Any = Field(None, alias="schema")
    examples: list[Any] | None = None
    tags: tuple[Text, ...] | None = None
    links: dict[str, Any] | None = None


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

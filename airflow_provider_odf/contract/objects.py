"""The objects of the Data Contract Specification, versions 0.9.3 to 1.2.1, to check a document.

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

from airflow_provider_odf.contract.model import CHARACTER_TYPES, TYPES
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

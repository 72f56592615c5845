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
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationInfo,
    create_model,
    field_validator,
)

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

LOGICAL_TYPES = (
    "array", "boolean", "date", "integer", "map", "number", "object", "string", "time", "timestamp", "vector",
)  # fmt: skip


def _logical_type(value: str) -> str:
    if value not in LOGICAL_TYPES:
        raise ValueError(f"unknown type {value!r}: use one of {', '.join(LOGICAL_TYPES)}")
    return value


def _bound(value: object) -> object:
    """Return a bound: a number, the text of a time, or, before version 3.1, whether the other bound is exclusive."""
    if not isinstance(value, int | float | Decimal | str):
        raise ValueError(f"{value!r} is neither a number nor a string")
    return value


LogicalType = Annotated[StrictStr, AfterValidator(_logical_type)]
Bound = Annotated[Any, BeforeValidator(_bound)]


class SpecificationObject(BaseModel):
    """An object with possible extensions, in ``model_extra``."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())


class OpenObject(SpecificationObject):
    """An object whose other keys depend on its kind."""


class _Enumerable(SpecificationObject):
    @field_validator("enum_", check_fields=False)
    @classmethod
    def _texts_are_quoted(cls, values: tuple[Any, ...] | None, info: ValidationInfo) -> tuple[Any, ...] | None:
        """Check that texts are quoted: YAML reads ``007`` as 7 and ``True`` as true."""
        if info.data.get("type_") in CHARACTER_TYPES:
            for value in values or ():
                if not isinstance(value, str):
                    raise ValueError(f"{value!r} is not a string: put it in quotes")
        return values


def _object(
    name: str, *rows: tuple[Any, str], base: type[SpecificationObject] = SpecificationObject
) -> type[SpecificationObject]:
    """Return a class of objects. Each row is a type, or the text of one, with the keys of this type.

    ``!`` marks a required key, ``=`` one that may be missing, but not null. All others may be either.
    """
    keys: dict[str, Any] = {}
    for kind, names in rows:
        nullable = f"{kind} | None" if isinstance(kind, str) else kind | None
        for marked in names.split():
            key = marked.rstrip("!=")
            default = Field(alias=key) if marked.endswith("!") else Field(None, alias=key)
            keys[f"{key.lstrip('$')}_"] = (nullable if key == marked else kind, default)
    return create_model(name, __base__=base, __module__=__name__, **keys)


_QUALITY = (tuple[dict[str, Any], ...], "quality")
_TAGS = (tuple[Text, ...], "tags")
_MAPPING = dict[str, Any]

FieldObject = _object(
    "FieldObject",
    (DataType, "type"),
    (Any, "domain name example $ref_obj"),
    (StrictStr, "title description references format pattern classification $ref"),
    (StrictBool, "required primaryKey primary unique pii"),
    (Count, "precision scale minLength maxLength"),
    (Number, "minimum exclusiveMinimum maximum exclusiveMaximum"),
    (tuple[Scalar, ...], "enum"),
    (list[Any], "examples"),
    ("dict[str, FieldObject]", "fields"),
    ("FieldObject", "items keys values"),
    (_MAPPING, "links lineage config"),
    _TAGS,
    _QUALITY,
    base=_Enumerable,
)
"""A field of a model, or a definition that fields refer to."""

ModelObject = _object(
    "ModelObject",
    (StrictStr, "type= title description"),
    ("dict[str, FieldObject]", "fields="),
    (tuple[StrictStr, ...], "primaryKey"),
    (StrictBool, "additionalFields"),
    (list[Any], "examples"),
    (_MAPPING, "config"),
    _TAGS,
    _QUALITY,
)
"""A table, view or other set of records."""

InfoObject = _object(
    "InfoObject", (Text, "title! version!"), (StrictStr, "status description owner"), (_MAPPING, "contact")
)

DataContractObject = _object(
    "DataContractObject",
    (Text, "dataContractSpecification! id!"),
    ("InfoObject", "info!"),
    (_MAPPING, "servers terms quality links"),
    ("dict[str, ModelObject]", "models"),
    ("dict[str, FieldObject]", "definitions"),
    (dict[str, _MAPPING], "servicelevels"),
    (Any, "schema"),
    (list[Any], "examples"),
    _TAGS,
)
"""The root of a document of the Data Contract Specification."""

OptionsObject = _object(
    "OptionsObject",
    (Count, "minLength maxLength minItems maxItems minProperties maxProperties dimensions"),
    (StrictStr, "pattern format defaultTimezone elementType distanceMetric embeddingModel embeddingModelVersion"),
    (Bound, "minimum maximum exclusiveMinimum exclusiveMaximum"),
    (Number, "multipleOf"),
    (StrictBool, "uniqueItems timezone normalized"),
    (tuple[StrictStr, ...], "required"),
)
"""The options of a logical type."""

RelationshipObject = _object(
    "RelationshipObject",
    (StrictStr, "id type="),
    (StrictStr | tuple[StrictStr, ...], "from to!"),
    (list[Any], "customProperties"),
)
"""A foreign key. ``from`` is implicit at a property."""

_ELEMENT = (
    (StrictStr, "id physicalType businessName description"),
    (Text, "physicalName"),
    (StrictBool, "deprecated"),
    (list[Any], "synonyms authoritativeDefinitions customProperties"),
    ("tuple[RelationshipObject, ...]", "relationships"),
    ("tuple[NamedPropertyObject, ...]", "properties"),
    _TAGS,
    _QUALITY,
)
"""Rows of an object and of a property."""

_PROPERTY = (
    *_ELEMENT,
    (StrictBool, "primaryKey required unique partitioned criticalDataElement"),
    (int, "primaryKeyPosition partitionKeyPosition"),
    (LogicalType, "logicalType"),
    ("OptionsObject", "logicalTypeOptions"),
    (StrictStr, "semanticType classification encryptedName transformLogic transformDescription"),
    (list[Any], "transformSourceObjects examples enum"),
    ("PropertyObject", "items"),
    ("MapObject", "map"),
)

PropertyObject = _object("PropertyObject", *_PROPERTY, (Text, "name"))
"""A column, a nested field, or the elements of an array or map, which have no name."""

NamedPropertyObject = _object("NamedPropertyObject", *_PROPERTY, (Text, "name!"))
MapObject = _object("MapObject", ("PropertyObject", "key value"))
TableObject = _object(
    "TableObject", *_ELEMENT, (Text, "name!"), (StrictStr, "logicalType dataGranularityDescription"), (Any, "context")
)
"""An object of the schema: a table, view or other set of records."""

ServerObject = _object("ServerObject", (Text, "server!"), (StrictStr, "type!"), base=OpenObject)
ServiceLevelObject = _object("ServiceLevelObject", (StrictStr, "property!"), (Any, "value!"), base=OpenObject)

StandardObject = _object(
    "StandardObject",
    (StrictStr, "apiVersion! kind! status tenant domain dataProduct slaDefaultElement"),
    (Text, "id! version! name"),
    (_MAPPING, "description price"),
    (list[Any], "authoritativeDefinitions support roles customProperties"),
    (Any, "context team contractCreatedTs"),
    ("tuple[ServerObject, ...]", "servers"),
    ("tuple[TableObject, ...]", "schema"),
    ("tuple[ServiceLevelObject, ...]", "slaProperties"),
    _TAGS,
)
"""The root of a document of the Open Data Contract Standard."""

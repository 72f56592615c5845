"""Base of all models of the specification's types: strictness, spellings of kinds and enums, and scalar types.

In YAML a property has the specification's camelCase name, in Python its snake_case. Enum values and the ``kind`` of a
union's member are accepted as ``NdJson``, ``ndJson`` or ``ndjson`` and stored as ``NdJson``. A member without required
properties may be written as its bare kind (``merge: Append``).
"""

from __future__ import annotations

import base64
import binascii
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    InstanceOf,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from airflow_provider_odf import multiformats
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, parse_ref
from airflow_provider_odf.wording import suggestion


class Model(BaseModel):
    """Type of the specification: immutable, without properties that the specification does not have."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # a command needs few of the models, and to build them all takes a tenth of a second
    )


class Variant(Model):
    """Member of a union. Its first field is ``kind``: the member's name without the union's."""


def refuse(message: str, fix: str = "", at: Sequence[str | int] = ()) -> PydanticCustomError:
    """Validation error with its fix; ``at`` is the path from the validated value to the wrong part of it."""
    return PydanticCustomError("odf", "{message}", {"message": message, "fix": fix, "at": tuple(at)})


@dataclass(frozen=True)
class Spelled:
    """Annotation of a union of variants or of a Literal: the accepted spellings of its names.

    ``noun`` is its name in messages; ``prefix`` is the common prefix of the names of the union's classes.
    """

    noun: str
    prefix: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = get_args(source) if get_origin(source) in (Union, types.UnionType) else (source,)
        is_union = get_origin(source) is not Literal
        names = [m.__name__.removeprefix(self.prefix) for m in members] if is_union else list(get_args(source))
        known = {spelling: name for name in names for spelling in spellings(name)}
        article = "an" if self.noun[0] in "aeio" else "a"

        def name(value: Any) -> Any:
            spelling = known.get(value) if isinstance(value, str) else None
            if spelling is None:
                at = ("kind",) if is_union else ()
                raise refuse(f"{value!r} is not {article} {self.noun}", suggestion(value, names), at)
            return spelling

        def member(value: Any) -> Any:
            if isinstance(value, str):
                return {"kind": name(value)}
            if not isinstance(value, dict):
                return value
            if "kind" not in value:
                under = next((known[key] for key in value if key in known), names[0] if len(names) == 1 else None)
                fix = f"write `kind: {under}`" if under else f"use one of {', '.join(names)}"
                raise refuse(f"{article} {self.noun} needs `kind`", fix)
            return {**value, "kind": name(value["kind"])}

        return core_schema.no_info_before_validator_function(member if is_union else name, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the union's bare kinds and the enum's spellings, for editors."""
        json = handler(schema)
        if "enum" in json:
            return {**json, "enum": [s for name in json["enum"] for s in spellings(name)]}
        return json


def spellings(name: str) -> list[str]:
    """Return the accepted spellings of a name: ``NdJson``, ``ndJson``, ``ndjson``."""
    return list(dict.fromkeys((name, name[:1].lower() + name[1:], name.lower())))


def kind_of(model: type[BaseModel]) -> str:
    """Return the name of a union's member, empty for other models."""
    default = model.model_fields["kind"].default if "kind" in model.model_fields else None
    return default if isinstance(default, str) else ""


def _parse_with(parse: Callable[[str], object]) -> Callable[[Any], Any]:
    """Return a validator that parses text and leaves other values as they are."""

    def validate(value: Any) -> Any:
        try:
            return parse(value) if isinstance(value, str) else value
        except ValueError as e:
            raise refuse(str(e)) from None

    return validate


def _spell_as(parse: Callable[[str], object]) -> AfterValidator:
    """Return a validator of texts that gives them the spelling of their parsed form."""
    return AfterValidator(_parse_with(lambda text: str(parse(text))))


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        raise refuse("not base64") from None


Time: TypeAlias = Annotated[
    InstanceOf[Instant],
    BeforeValidator(_parse_with(Instant.parse)),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""RFC 3339 in YAML, an ``Instant`` here."""

Hash: TypeAlias = Annotated[str, _spell_as(lambda text: multiformats.encode(multiformats.decode_hash(text)))]
"""A multihash as base16 multibase text, as ODF writes it; any multibase spelling is accepted."""

IdText: TypeAlias = Annotated[str, _spell_as(DatasetId.parse)]
"""``did:odf:…`` in base16."""

RefText: TypeAlias = Annotated[str, _spell_as(parse_ref)]
"""A dataset id, alias or location."""

AliasText: TypeAlias = Annotated[str, _spell_as(DatasetAlias.parse)]
"""``name`` or ``account/name``."""

Base64: TypeAlias = Annotated[
    InstanceOf[bytes],
    BeforeValidator(_bytes),
    PlainSerializer(lambda data: base64.b64encode(data).decode(), return_type=str),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""Base64 in YAML, bytes here."""

UInt64: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
Int: TypeAlias = Annotated[int, Field(strict=True)]
Bool: TypeAlias = Annotated[bool, Field(strict=True)]

"""``DataSchema``: the ODF schema since specification 0.37, with every ``DataType``.

Members of the unions and fields have the order of the flatbuffers schema.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_serializer, model_validator

from airflow_provider_odf.manifest.base import Bool, Int, Model, Spelled, UInt64, Variant, refuse

TimeUnit: TypeAlias = Annotated[Literal["Second", "Millisecond", "Microsecond", "Nanosecond"], Spelled("unit of time")]


class ExtraAttributes(Model):
    """Free attributes as the JSON text of an object with sorted keys, as blocks store them."""

    entries: str = "{}"

    @model_validator(mode="before")
    @classmethod
    def _from_mapping(cls, value: Any) -> Any:
        if not isinstance(value, dict) or (value.keys() == {"entries"} and isinstance(value["entries"], str)):
            return value
        ordered = {str(key): value[key] for key in sorted(value, key=str)}
        try:
            return {"entries": json.dumps(ordered, separators=(",", ":"), ensure_ascii=False, allow_nan=False)}
        except ValueError as e:
            raise refuse(f"attributes must be JSON values: {e}") from None

    @model_serializer
    def _to_mapping(self) -> dict[str, Any]:
        return self.to_mapping()

    def to_mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = json.loads(self.entries)
        return mapping


class DataTypeBinary(Variant):
    kind: Literal["Binary"] = "Binary"
    fixed_length: UInt64 | None = None


class DataTypeBool(Variant):
    kind: Literal["Bool"] = "Bool"


class DataTypeDate(Variant):
    kind: Literal["Date"] = "Date"


class DataTypeDecimal(Variant):
    kind: Literal["Decimal"] = "Decimal"
    precision: Annotated[int, Field(strict=True, ge=1, le=76)]
    scale: Int


class DataTypeDuration(Variant):
    kind: Literal["Duration"] = "Duration"
    unit: TimeUnit | None = None


class DataTypeFloat16(Variant):
    kind: Literal["Float16"] = "Float16"


class DataTypeFloat32(Variant):
    kind: Literal["Float32"] = "Float32"


class DataTypeFloat64(Variant):
    kind: Literal["Float64"] = "Float64"


class DataTypeInt8(Variant):
    kind: Literal["Int8"] = "Int8"


class DataTypeInt16(Variant):
    kind: Literal["Int16"] = "Int16"


class DataTypeInt32(Variant):
    kind: Literal["Int32"] = "Int32"


class DataTypeInt64(Variant):
    kind: Literal["Int64"] = "Int64"


class DataTypeUInt8(Variant):
    kind: Literal["UInt8"] = "UInt8"


class DataTypeUInt16(Variant):
    kind: Literal["UInt16"] = "UInt16"


class DataTypeUInt32(Variant):
    kind: Literal["UInt32"] = "UInt32"


class DataTypeUInt64(Variant):
    kind: Literal["UInt64"] = "UInt64"


class DataTypeList(Variant):
    kind: Literal["List"] = "List"
    item_type: DataType
    fixed_length: UInt64 | None = None


class DataTypeMap(Variant):
    kind: Literal["Map"] = "Map"
    key_type: DataType
    value_type: DataType
    keys_sorted: Bool | None = None


class DataTypeNull(Variant):
    kind: Literal["Null"] = "Null"


class DataTypeOption(Variant):
    """Optional value: the only nullable type."""

    kind: Literal["Option"] = "Option"
    inner: DataType


class DataTypeStruct(Variant):
    kind: Literal["Struct"] = "Struct"
    fields: tuple[DataField, ...]


class DataTypeTime(Variant):
    kind: Literal["Time"] = "Time"
    unit: TimeUnit | None = None


class DataTypeTimestamp(Variant):
    """Point in time; the default ``unit`` is milliseconds, the default ``timezone`` UTC."""

    kind: Literal["Timestamp"] = "Timestamp"
    unit: TimeUnit | None = None
    timezone: str | None = None


class DataTypeString(Variant):
    kind: Literal["String"] = "String"


DataType: TypeAlias = Annotated[
    DataTypeBinary
    | DataTypeBool
    | DataTypeDate
    | DataTypeDecimal
    | DataTypeDuration
    | DataTypeFloat16
    | DataTypeFloat32
    | DataTypeFloat64
    | DataTypeInt8
    | DataTypeInt16
    | DataTypeInt32
    | DataTypeInt64
    | DataTypeUInt8
    | DataTypeUInt16
    | DataTypeUInt32
    | DataTypeUInt64
    | DataTypeList
    | DataTypeMap
    | DataTypeNull
    | DataTypeOption
    | DataTypeStruct
    | DataTypeTime
    | DataTypeTimestamp
    | DataTypeString,
    Field(discriminator="kind"),
    Spelled("data type", "DataType"),
]


class DataField(Model):
    """A column of a ``DataSchema`` or a member of a struct."""

    name: str
    type: DataType
    extra: ExtraAttributes | None = None


class DataSchema(Model):
    """Columns of a dataset or a raw file, in order."""

    fields: tuple[DataField, ...]
    extra: ExtraAttributes | None = None

"""The three forms of a dataset's schema and the ways between them.

``SetDataSchema`` holds an ODF ``DataSchema`` (specification 0.37 and later: logical types, no encodings) or the
flatbuffers table ``Schema`` of Arrow (before). Engines are told the Arrow IPC message in base64.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import arrow_schema as raw
from airflow_provider_odf.errors import InvalidInput, TypeUnsupported
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    import pyarrow as pa

ODF_SCHEMA_SINCE = 3
"""Readers of older manifest versions know the Arrow form only."""

_SINCE = "blocks of version 3 (`[odf] manifest_version`)"

_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}
_ARROW_UNITS = {odf: arrow for arrow, odf in _UNITS.items()}
_DECIMAL128_PRECISION = 38


def set_data_schema(schema: pa.Schema | str, *, manifest_version: int = 3) -> model.SetDataSchema:
    """The event that declares a schema, given as Arrow or as base64 of its IPC message.

    :raises TypeUnsupported: a column's type has no ODF form; the message names the column.
    """
    arrow = _from_base64(schema) if isinstance(schema, str) else schema
    odf = from_arrow(arrow)
    if manifest_version >= ODF_SCHEMA_SINCE:
        return model.SetDataSchema(schema_=odf)
    return model.SetDataSchema(raw_arrow_schema=raw.encode(arrow))


def grown(known: model.SetDataSchema | None, schema: str, *, manifest_version: int = 3) -> model.SetDataSchema | None:
    """The event that adds to the known columns those that only ``schema`` has, given as base64 of its IPC message;
    None where there are none. Known columns stay as they were declared, with their attributes.

    :raises TypeUnsupported: see ``set_data_schema``.
    """
    if known is None:
        return set_data_schema(schema, manifest_version=manifest_version)
    old, new = data_schema(known), from_arrow(_from_base64(schema))
    names = {f.name for f in old.fields}
    added = tuple(f for f in new.fields if f.name not in names)
    if not added:
        return None
    odf = old.model_copy(update={"fields": (*old.fields, *added)})
    if manifest_version >= ODF_SCHEMA_SINCE:
        return model.SetDataSchema(schema_=odf)
    return model.SetDataSchema(raw_arrow_schema=raw.encode(to_arrow(odf)))


def in_version(event: model.MetadataEvent, manifest_version: int) -> model.MetadataEvent:
    """The event as readers of a manifest version know it: before version 3 a schema is an Arrow schema, and the columns
    of a read step are DDL.

    :raises InvalidInput: the event has ODF types where that version has no place for them.
    """
    if manifest_version >= ODF_SCHEMA_SINCE:
        return event
    read = getattr(event, "read", None)
    if read is not None and read.schema_ is not None:
        raise InvalidInput(f"{event.kind}: `read.schema` of ODF types needs {_SINCE}: write columns as `name TYPE`")
    if not isinstance(event, model.SetDataSchema) or event.schema_ is None:
        return event
    schema = event.schema_
    if any(_said(extra) for extra in (schema.extra, *(f.extra for f in schema.fields))):
        raise InvalidInput(f"SetDataSchema: attributes of columns need {_SINCE}: remove `extra`")
    return model.SetDataSchema(raw_arrow_schema=raw.encode(to_arrow(schema)))


def resolved(schema: model.DataSchema) -> model.DataSchema:
    """The schema with its defaults written out: schemas that mean the same are equal."""
    fields = tuple(f.model_copy(update={"type": _resolved(f.type), "extra": _said(f.extra)}) for f in schema.fields)
    return schema.model_copy(update={"fields": fields, "extra": _said(schema.extra)})


def _said(extra: model.ExtraAttributes | None) -> model.ExtraAttributes | None:
    return extra if extra is not None and extra.to_mapping() else None


def _resolved(odf: Any) -> Any:
    inner = {
        name: _resolved(value)
        for name in ("inner", "item_type", "key_type", "value_type")
        if (value := getattr(odf, name, None)) is not None
    }
    if isinstance(odf, model.DataTypeStruct):
        inner["fields"] = resolved(model.DataSchema(fields=odf.fields)).fields
    if isinstance(odf, model.DataTypeTime | model.DataTypeDuration | model.DataTypeTimestamp):
        inner["unit"] = odf.unit or "Millisecond"
    if isinstance(odf, model.DataTypeTimestamp):
        inner["timezone"] = odf.timezone or "UTC"
    if isinstance(odf, model.DataTypeMap):
        inner["keys_sorted"] = bool(odf.keys_sorted)
    return odf.model_copy(update=inner)


def arrow_schema(event: model.SetDataSchema) -> pa.Schema:
    """The schema as Arrow.

    :raises ChainCorrupted: the stored Arrow schema cannot be read.
    """
    if event.schema_ is not None:
        return to_arrow(event.schema_)
    return raw.decode(event.raw_arrow_schema or b"")


def data_schema(event: model.SetDataSchema) -> model.DataSchema:
    """The schema as ODF types, whichever form it is stored in. Attributes are kept."""
    return event.schema_ if event.schema_ is not None else from_arrow(arrow_schema(event))


def ipc_base64(event: model.SetDataSchema) -> str:
    """Base64 of the Arrow IPC message of the schema: how engines are told."""
    return base64.b64encode(arrow_schema(event).serialize()).decode("ascii")


def _from_base64(text: str) -> pa.Schema:
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


# --- Arrow to ODF ---------------------------------------------------------------------------------------------------


def from_arrow(schema: pa.Schema) -> model.DataSchema:
    """The ODF schema of the same columns; how Arrow encodes them (large, view) is dropped.

    :raises TypeUnsupported: a column's type has no ODF form; the message names the column.
    """
    return model.DataSchema(fields=tuple(_field(field, field.name) for field in schema))


def _field(field: pa.Field, path: str) -> model.DataField:
    return model.DataField(name=field.name, type=_optional(field, path))


def _optional(field: pa.Field, path: str) -> model.DataType:
    inner = _type(field.type, path)
    return model.DataTypeOption(inner=inner) if field.nullable else inner


def _type(arrow: pa.DataType, path: str) -> model.DataType:
    for matches, convert in _from_arrow_types():
        if matches(arrow):
            return convert(arrow, path)
    raise TypeUnsupported(f"column {path}: the Arrow type {arrow} has no ODF form; cast it in `preprocess`")


_Convert = Callable[[Any, str], model.DataType]


@cache
def _from_arrow_types() -> tuple[tuple[Callable[[Any], bool], _Convert], ...]:
    """Test of an Arrow type -> its conversion, in the order in which they are asked."""
    import pyarrow.types as pt

    plain = {
        pt.is_null: model.DataTypeNull,
        pt.is_boolean: model.DataTypeBool,
        pt.is_int8: model.DataTypeInt8,
        pt.is_int16: model.DataTypeInt16,
        pt.is_int32: model.DataTypeInt32,
        pt.is_int64: model.DataTypeInt64,
        pt.is_uint8: model.DataTypeUInt8,
        pt.is_uint16: model.DataTypeUInt16,
        pt.is_uint32: model.DataTypeUInt32,
        pt.is_uint64: model.DataTypeUInt64,
        pt.is_float16: model.DataTypeFloat16,
        pt.is_float32: model.DataTypeFloat32,
        pt.is_float64: model.DataTypeFloat64,
        pt.is_date: model.DataTypeDate,
        pt.is_string: model.DataTypeString,
        pt.is_large_string: model.DataTypeString,
        pt.is_string_view: model.DataTypeString,
        pt.is_binary: model.DataTypeBinary,
        pt.is_large_binary: model.DataTypeBinary,
        pt.is_binary_view: model.DataTypeBinary,
    }
    lists = (pt.is_list, pt.is_large_list, pt.is_list_view, pt.is_large_list_view)
    return (
        *((matches, _plain(to)) for matches, to in plain.items()),
        (pt.is_fixed_size_binary, lambda t, _: model.DataTypeBinary(fixed_length=t.byte_width)),
        (pt.is_decimal, lambda t, _: model.DataTypeDecimal(precision=t.precision, scale=t.scale)),
        (pt.is_time, lambda t, _: model.DataTypeTime(unit=_UNITS[t.unit])),
        (pt.is_duration, lambda t, _: model.DataTypeDuration(unit=_UNITS[t.unit])),
        (pt.is_timestamp, _timestamp),
        *((matches, _list) for matches in lists),
        (pt.is_fixed_size_list, _fixed_size_list),
        (pt.is_struct, lambda t, path: model.DataTypeStruct(fields=tuple(_field(f, f"{path}.{f.name}") for f in t))),
        (pt.is_map, _map),
    )


def _plain(to: type[Any]) -> _Convert:
    return lambda _arrow, _path: to()


def _timestamp(arrow: Any, path: str) -> model.DataType:
    if arrow.tz is None:
        raise TypeUnsupported(f"column {path}: a timestamp without time zone; cast it to TIMESTAMP in `preprocess`")
    return model.DataTypeTimestamp(unit=_UNITS[arrow.unit], timezone=arrow.tz)


def _list(arrow: Any, path: str) -> model.DataType:
    return model.DataTypeList(item_type=_optional(arrow.value_field, f"{path}[]"))


def _fixed_size_list(arrow: Any, path: str) -> model.DataType:
    return model.DataTypeList(item_type=_optional(arrow.value_field, f"{path}[]"), fixed_length=arrow.list_size)


def _map(arrow: Any, path: str) -> model.DataType:
    return model.DataTypeMap(
        key_type=_type(arrow.key_type, f"{path}.key"),
        value_type=_optional(arrow.item_field, f"{path}.value"),
        keys_sorted=True if arrow.keys_sorted else None,
    )


# --- ODF to Arrow ---------------------------------------------------------------------------------------------------


def to_arrow(schema: model.DataSchema) -> pa.Schema:
    """Arrow columns of an ODF schema, in the plain encodings."""
    import pyarrow as pa

    return pa.schema([_arrow_field(field.name, field.type) for field in schema.fields])


def _arrow_field(name: str, odf: model.DataType) -> pa.Field:
    import pyarrow as pa

    is_nullable = isinstance(odf, model.DataTypeOption)
    while isinstance(odf, model.DataTypeOption):
        odf = odf.inner
    return pa.field(name, _arrow_type(odf), nullable=is_nullable or isinstance(odf, model.DataTypeNull))


def _arrow_type(odf: Any) -> pa.DataType:
    import pyarrow as pa

    convert = _ARROW_TYPES.get(odf.kind)
    if convert is not None:
        return convert(pa, odf)
    # Float64, UInt8, String, …: pyarrow's factory of the same name.
    return getattr(pa, odf.kind.lower())()


def _arrow_list(pa: Any, odf: model.DataTypeList) -> pa.DataType:
    item = _arrow_field("item", odf.item_type)
    return pa.list_(item) if odf.fixed_length is None else pa.list_(item, odf.fixed_length)


def _arrow_decimal(pa: Any, odf: model.DataTypeDecimal) -> pa.DataType:
    decimal = pa.decimal128 if odf.precision <= _DECIMAL128_PRECISION else pa.decimal256
    return decimal(odf.precision, odf.scale)


def _arrow_time(pa: Any, odf: model.DataTypeTime) -> pa.DataType:
    unit = _arrow_unit(odf)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _arrow_unit(odf: Any) -> str:
    return _ARROW_UNITS[odf.unit or "Millisecond"]


_ARROW_TYPES: dict[str, Callable[[Any, Any], Any]] = {
    "Binary": lambda pa, odf: pa.binary(-1 if odf.fixed_length is None else odf.fixed_length),
    "Bool": lambda pa, _: pa.bool_(),
    "Date": lambda pa, _: pa.date32(),
    "Decimal": _arrow_decimal,
    "Duration": lambda pa, odf: pa.duration(_arrow_unit(odf)),
    "List": _arrow_list,
    "Map": lambda pa, odf: pa.map_(
        _arrow_field("key", odf.key_type),
        _arrow_field("value", odf.value_type),
        keys_sorted=bool(odf.keys_sorted),
    ),
    "Struct": lambda pa, odf: pa.struct([_arrow_field(field.name, field.type) for field in odf.fields]),
    "Time": _arrow_time,
    "Timestamp": lambda pa, odf: pa.timestamp(_arrow_unit(odf), odf.timezone or "UTC"),
}

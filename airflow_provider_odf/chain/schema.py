"""Schema of a dataset as an event, as ODF types, and as Arrow.

``SetDataSchema`` holds an ODF ``DataSchema`` (since specification 0.37: logical types, no encodings) or Arrow's
flatbuffers table ``Schema`` (before). Engines get the Arrow IPC message in base64.
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

_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}
_ARROW_UNITS = {odf: arrow for arrow, odf in _UNITS.items()}
_SAME_NAMES = "Null Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float16 Float32 Float64 Date"
"""Types with the same name in ODF and, in lower case, in Arrow."""
_DECIMAL128_PRECISION = 38
_SINCE = "manifest version 3: set `[odf] manifest_version = 3`"


def set_data_schema(schema: pa.Schema | str, *, manifest_version: int = 3) -> model.SetDataSchema:
    """Return the event that declares a schema, given as Arrow or as base64 of its IPC message.

    :raises TypeUnsupported: a column's type has no ODF form; the message names the column.
    """
    arrow = _from_base64(schema) if isinstance(schema, str) else schema
    odf = from_arrow(arrow)
    if manifest_version >= ODF_SCHEMA_SINCE:
        return model.SetDataSchema(schema_=odf)
    return model.SetDataSchema(raw_arrow_schema=raw.encode(arrow))


def add_columns(
    current: model.SetDataSchema | None, schema: str, *, manifest_version: int = 3
) -> model.SetDataSchema | None:
    """Return the event that adds the new columns of ``schema`` (base64 of its IPC message), or None if it has none.

    Existing columns keep their declaration and attributes.

    :raises TypeUnsupported: a column's type has no ODF form; the message names the column.
    """
    if current is None:
        return set_data_schema(schema, manifest_version=manifest_version)
    old, new = data_schema(current), from_arrow(_from_base64(schema))
    names = {f.name for f in old.fields}
    added = tuple(f for f in new.fields if f.name not in names)
    if not added:
        return None
    odf = old.model_copy(update={"fields": (*old.fields, *added)})
    if manifest_version >= ODF_SCHEMA_SINCE:
        return model.SetDataSchema(schema_=odf)
    return model.SetDataSchema(raw_arrow_schema=raw.encode(to_arrow(odf)))


def in_version(event: model.MetadataEvent, manifest_version: int) -> model.MetadataEvent:
    """Return the event in the form of a manifest version. Before version 3 a schema is an Arrow schema, and the columns
    of a read step are DDL.

    :raises InvalidInput: the event has ODF types, for which that version has no form.
    """
    if manifest_version >= ODF_SCHEMA_SINCE:
        return event
    read = getattr(event, "read", None)
    if read is not None and read.schema_ is not None:
        message = f"{event.kind}: ODF types in `read.schema` need {_SINCE}, or write the columns as `name TYPE`"
        raise InvalidInput(message)
    if not isinstance(event, model.SetDataSchema) or event.schema_ is None:
        return event
    schema = event.schema_
    if any(_not_empty(extra) for extra in (schema.extra, *(f.extra for f in schema.fields))):
        raise InvalidInput(f"SetDataSchema: column attributes need {_SINCE}, or remove `extra`")
    return model.SetDataSchema(raw_arrow_schema=raw.encode(to_arrow(schema)))


def with_defaults(schema: model.DataSchema) -> model.DataSchema:
    """Return the schema with explicit defaults, so that schemas with the same meaning are equal."""
    fields = tuple(
        f.model_copy(update={"type": _explicit(f.type), "extra": _not_empty(f.extra)}) for f in schema.fields
    )
    return schema.model_copy(update={"fields": fields, "extra": _not_empty(schema.extra)})


def _not_empty(extra: model.ExtraAttributes | None) -> model.ExtraAttributes | None:
    return extra if extra is not None and extra.to_mapping() else None


def _explicit(odf: Any) -> Any:
    inner = {
        name: _explicit(value)
        for name in ("inner", "item_type", "key_type", "value_type")
        if (value := getattr(odf, name, None)) is not None
    }
    if isinstance(odf, model.DataTypeStruct):
        inner["fields"] = with_defaults(model.DataSchema(fields=odf.fields)).fields
    if isinstance(odf, model.DataTypeTime | model.DataTypeDuration | model.DataTypeTimestamp):
        inner["unit"] = odf.unit or "Millisecond"
    if isinstance(odf, model.DataTypeTimestamp):
        inner["timezone"] = odf.timezone or "UTC"
    if isinstance(odf, model.DataTypeMap):
        inner["keys_sorted"] = bool(odf.keys_sorted)
    return odf.model_copy(update=inner)


def arrow_schema(event: model.SetDataSchema) -> pa.Schema:
    """Return the schema as Arrow.

    :raises ChainCorrupted: the stored Arrow schema cannot be read.
    """
    if event.schema_ is not None:
        return to_arrow(event.schema_)
    return raw.decode(event.raw_arrow_schema or b"")


def plain(arrow: pa.Schema) -> pa.Schema:
    """Return the schema with plain types in place of views, which pyarrow can neither sort nor filter."""
    import pyarrow as pa

    return pa.schema([field.with_type(_plain_type(field.type)) for field in arrow])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pt.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def data_schema(event: model.SetDataSchema) -> model.DataSchema:
    """Return the schema as ODF types, whichever form it is stored in, with its attributes."""
    return event.schema_ if event.schema_ is not None else from_arrow(arrow_schema(event))


def ipc_base64(event: model.SetDataSchema) -> str:
    """Return the Arrow IPC message of the schema in base64, for engines."""
    return base64.b64encode(arrow_schema(event).serialize()).decode("ascii")


def _from_base64(text: str) -> pa.Schema:
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


# --- Arrow to ODF ---------------------------------------------------------------------------------------------------


def from_arrow(schema: pa.Schema) -> model.DataSchema:
    """Return the ODF schema of the same columns, without the encodings of Arrow (large, view).

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
    raise TypeUnsupported(
        f"column {path}: the Arrow type {arrow} is not supported; cast it to a supported type in `preprocess`"
    )


_Convert = Callable[[Any, str], model.DataType]


@cache
def _from_arrow_types() -> tuple[tuple[Callable[[Any], bool], _Convert], ...]:
    """Predicate of an Arrow type -> its conversion; the first that matches is used."""
    import pyarrow.types as pt

    plain = {getattr(pt, f"is_{name.lower()}"): getattr(model, f"DataType{name}") for name in _SAME_NAMES.split()}
    plain[pt.is_boolean] = model.DataTypeBool
    plain |= dict.fromkeys((pt.is_string, pt.is_large_string, pt.is_string_view), model.DataTypeString)
    plain |= dict.fromkeys((pt.is_binary, pt.is_large_binary, pt.is_binary_view), model.DataTypeBinary)
    lists = (pt.is_list, pt.is_large_list, pt.is_list_view, pt.is_large_list_view, pt.is_fixed_size_list)
    return (
        *((matches, lambda _arrow, _path, to=to: to()) for matches, to in plain.items()),
        (pt.is_fixed_size_binary, lambda t, _: model.DataTypeBinary(fixed_length=t.byte_width)),
        (pt.is_decimal, lambda t, _: model.DataTypeDecimal(precision=t.precision, scale=t.scale)),
        (pt.is_time, lambda t, _: model.DataTypeTime(unit=_UNITS[t.unit])),
        (pt.is_duration, lambda t, _: model.DataTypeDuration(unit=_UNITS[t.unit])),
        (pt.is_timestamp, _timestamp),
        *((matches, _list) for matches in lists),
        (pt.is_struct, lambda t, path: model.DataTypeStruct(fields=tuple(_field(f, f"{path}.{f.name}") for f in t))),
        (pt.is_map, _map),
    )


def _timestamp(arrow: Any, path: str) -> model.DataType:
    if arrow.tz is None:
        raise TypeUnsupported(
            f"column {path}: a timestamp without time zone cannot be stored; cast it to TIMESTAMP in `preprocess`"
        )
    return model.DataTypeTimestamp(unit=_UNITS[arrow.unit], timezone=arrow.tz)


def _list(arrow: Any, path: str) -> model.DataType:
    return model.DataTypeList(
        item_type=_optional(arrow.value_field, f"{path}[]"), fixed_length=getattr(arrow, "list_size", None)
    )


def _map(arrow: Any, path: str) -> model.DataType:
    return model.DataTypeMap(
        key_type=_type(arrow.key_type, f"{path}.key"),
        value_type=_optional(arrow.item_field, f"{path}.value"),
        keys_sorted=True if arrow.keys_sorted else None,
    )


# --- ODF to Arrow ---------------------------------------------------------------------------------------------------


def to_arrow(schema: model.DataSchema) -> pa.Schema:
    """Return the Arrow columns of an ODF schema, in the plain encodings."""
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

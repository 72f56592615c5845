"""Conversion of column types from Arrow to ODF, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import TypeUnsupported
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}
_ARROW_UNITS = {odf: arrow for arrow, odf in _UNITS.items()}
_DECIMAL128_PRECISION = 38


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
        raise TypeUnsupported(
            f"column {path}: a timestamp without time zone cannot be stored; cast it to TIMESTAMP in `preprocess`"
        )
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

"""Conversion of Arrow types from Spark to DataFusion and back.

Spark has times in microseconds, the readers of the reference in milliseconds. DataFusion has types that Spark lacks.
They become the nearest type of Spark if no value is lost; otherwise they are an error.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as pt

MILLISECONDS = pa.timestamp("ms", "UTC")
MICROSECONDS = pa.timestamp("us", "UTC")

_SAME = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.binary(): "BINARY", pa.date32(): "DATE",
    MICROSECONDS: "TIMESTAMP",
}  # fmt: skip
"""Types that Spark also has, and their names in its DDL."""
BY_NAME = {name: type_ for type_, name in _SAME.items()}

_WIDER = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64(),
    pa.float16(): pa.float32(), pa.date64(): pa.date32(), pa.string_view(): pa.string(), pa.large_string(): pa.string(),
    pa.binary_view(): pa.binary(), pa.large_binary(): pa.binary(),
}  # fmt: skip
"""Type of DataFusion -> type of Spark for its values. A value that does not fit is an error when it is read."""

MAX_PRECISION = 38


class Unsupported(Exception):
    """A type that Spark lacks: its name ``what``, and an expression to use instead, with ``{name}`` for the column."""

    def __init__(self, what: str, expression: str) -> None:
        super().__init__(what)
        self.what, self._expression = what, expression

    def instead(self, name: str) -> str:
        """Return the hint on the expression to select instead of a column."""
        return f"select `{self._expression.format(name=quoted(name))} AS {quoted(name)}`"


def quoted(name: str) -> str:
    """Return an identifier in DataFusion's SQL, in quotes if it needs them."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def to_datafusion(type_: pa.DataType, unit: str = "ms") -> pa.DataType:
    """Return the type in DataFusion for a column of Spark; ``unit`` is the unit of times."""
    if pt.is_timestamp(type_):
        return pa.timestamp(unit, "UTC")
    if pt.is_list(type_) or pt.is_large_list(type_):
        return pa.list_(to_datafusion(type_.value_type, unit))
    if pt.is_struct(type_):
        return pa.struct([pa.field(f.name, to_datafusion(f.type, unit)) for f in type_.fields])
    if pt.is_map(type_):
        return pa.map_(to_datafusion(type_.key_type, unit), to_datafusion(type_.item_type, unit))
    return _WIDER.get(type_, type_)


def to_spark(type_: pa.DataType) -> pa.DataType:
    """Return the type of Spark that holds a type of DataFusion.

    :raises Unsupported: there is no such type.
    """
    if type_ in _SAME or type_ in _WIDER:
        return _WIDER.get(type_, type_)
    if pt.is_timestamp(type_):
        return MICROSECONDS
    if pt.is_dictionary(type_) or pt.is_run_end_encoded(type_):
        return to_spark(type_.value_type)
    if pt.is_decimal(type_):
        return _decimal(type_)
    if pt.is_fixed_size_binary(type_):
        return pa.binary()
    if pt.is_nested(type_):
        return _nested(type_)
    raise Unsupported(_described(type_), "CAST({name} AS VARCHAR)")


def _described(type_: pa.DataType) -> str:
    if pt.is_null(type_):
        return "NULL, a value without a type"
    if pt.is_time(type_):
        return "a time of day"
    return f"an interval ({type_})" if pt.is_interval(type_) or pt.is_duration(type_) else str(type_)


def _decimal(type_: pa.DataType) -> pa.DataType:
    if type_.precision > MAX_PRECISION or not 0 <= type_.scale <= type_.precision:
        what = f"a DECIMAL with precision {type_.precision} and scale {type_.scale}"
        raise Unsupported(what, "CAST({name} AS DECIMAL(38, 10))")
    return pa.decimal128(type_.precision, type_.scale)


def _nested(type_: pa.DataType) -> pa.DataType:
    if pt.is_struct(type_):
        return pa.struct([pa.field(f.name, to_spark(f.type)) for f in type_.fields])
    if pt.is_map(type_):
        return pa.map_(to_spark(type_.key_type), to_spark(type_.item_type))
    if pt.is_union(type_):
        raise Unsupported("a JSON value of unknown type", "json_as_text(…)")
    return pa.list_(to_spark(type_.value_type))


def reason_against(type_: pa.DataType) -> Unsupported | None:
    """Return why Spark cannot hold a type, or None if it can."""
    try:
        to_spark(type_)
    except Unsupported as e:
        return e
    return None


def ddl(type_: pa.DataType) -> str:
    """Return the Spark DDL of a type that ``to_spark`` returns."""
    if pt.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if pt.is_struct(type_):
        return "STRUCT<" + ", ".join(f"`{f.name}`: {ddl(f.type)}" for f in type_.fields) + ">"
    if pt.is_map(type_):
        return f"MAP<{ddl(type_.key_type)}, {ddl(type_.item_type)}>"
    return f"ARRAY<{ddl(type_.value_type)}>" if pt.is_list(type_) else _SAME[type_]


def empty(schema: pa.Schema) -> pa.RecordBatch:
    """Return an empty batch of a schema."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def rows_to_datafusion(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of Spark as DataFusion gets them. Times are cut to the unit of ``schema``."""
    return _converted(batch, schema, lambda column, type_: column.cast(type_, safe=False))


def rows_to_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of DataFusion as Spark gets them.

    :raises ValueError: Spark's type cannot hold a value. The message names the column.
    """
    return _converted(batch, schema, _column_to_spark)


def _converted(
    batch: pa.RecordBatch, schema: pa.Schema, convert: Callable[[pa.Array, pa.DataType], pa.Array]
) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        try:
            columns.append(column if column.type == field.type else convert(column, field.type))
        except pa.ArrowInvalid as e:
            raise ValueError(f"column {field.name}: {e}") from e
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column_to_spark(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pt.is_dictionary(column.type) or pt.is_run_end_encoded(column.type):
        return _column_to_spark(column.cast(column.type.value_type), type_)
    if pt.is_timestamp(column.type) and column.type.unit in ("us", "ns"):
        # As in the reference: milliseconds, cut towards 1970.
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
    return column.cast(type_)

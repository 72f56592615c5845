"""Spark's expressions in Arrow: those that have the same value for every row. Where Spark would fail, Arrow fails too.

An expression is a list: the name of its class in Catalyst and its arguments, which are expressions. Three have others:
``["AttributeReference", column]``, ``["Literal", type, text]`` and ``["Cast", type, expression]``, with types as in the
JSON of a plan.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Expression: TypeAlias = "list[Any]"
Value: TypeAlias = "pa.Array | pa.Scalar"

COLUMN, LITERAL, CAST = "AttributeReference", "Literal", "Cast"


def evaluate(expression: Expression, rows: pa.RecordBatch) -> Value:
    """Return the values of an expression, or a scalar if it reads no column.

    :raises pa.ArrowException: Arrow cannot compute it, or a value has no result, such as a sum that overflows.
    """
    name, *arguments = expression
    if name == COLUMN:
        return rows.column(arguments[0])
    if name == LITERAL:
        return _literal(*arguments)
    if name == CAST:
        return _cast(evaluate(arguments[1], rows), type_of(arguments[0]))
    return FUNCTIONS[name](*(evaluate(argument, rows) for argument in arguments))


def column(expression: Expression, rows: pa.RecordBatch) -> pa.Array:
    """Return the values of an expression for all rows, with one zero and one NaN, as `Result.select` has them.

    :raises pa.ArrowException: see `evaluate`.
    """
    value = evaluate(expression, rows)
    values = pa.repeat(value, rows.num_rows) if isinstance(value, pa.Scalar) else value
    if not pt.is_floating(values.type):
        return values
    zero, nan = (pa.scalar(number, values.type) for number in (0.0, float("nan")))
    return pc.if_else(pc.is_nan(values), nan, pc.if_else(pc.equal(values, zero), zero, values))


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions in it."""
    yield expression
    for argument in expression[1:]:
        if isinstance(argument, list):
            yield from parts(argument)


def type_of(name: Any) -> pa.DataType:
    """Return the type of Arrow for a type from the JSON of a plan.

    :raises pa.ArrowNotImplementedError: its values are not those of Spark in all functions.
    """
    if isinstance(name, str) and (decimal := re.fullmatch(r"decimal\((\d+),(\d+)\)", name)):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if not isinstance(name, str) or name not in _TYPES:
        raise pa.ArrowNotImplementedError(f"values of {name}")
    return _TYPES[name]


_TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "void": pa.null(),
}  # fmt: skip

TYPES = frozenset(_TYPES.values())
"""Types of columns, beside DECIMAL."""

_PARSERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "boolean": "true".__eq__, "string": str, "date": dt.date.fromisoformat,
    "timestamp": lambda text: dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC),
}  # fmt: skip


def _literal(kind: Any, text: str | None) -> pa.Scalar:
    type_ = type_of(kind)
    try:
        if pt.is_floating(type_):
            return pa.scalar(text).cast(type_)
        value = pa.scalar(None if text is None else _PARSERS.get(kind, Decimal)(text), type_)
        # Slices have no parts of milliseconds, so expressions over their columns have none either.
        return value.cast(pa.timestamp("ms", "UTC")).cast(type_) if pt.is_timestamp(type_) else value
    except (ValueError, ArithmeticError):  # a year that Python does not know
        raise pa.ArrowInvalid(f"{kind} {text}") from None


def _cast(value: Value, kind: pa.DataType) -> Value:
    """Return a value in a wider type, or the day of a time. Others are not what Spark makes of all values."""
    own = value.type
    if isinstance(value, pa.Scalar) and pt.is_decimal(own) and pt.is_float64(kind):
        number = value.as_py()  # rounded once, as in Java
        return pa.scalar(None if number is None else float(number), kind)
    if isinstance(value, pa.Scalar) and pt.is_integer(own) and pt.is_decimal(kind):  # of as many digits as it has
        number = value.as_py()
        return pa.scalar(None if number is None else Decimal(number), kind)
    is_wider = pt.is_null(own)
    if pt.is_integer(own):
        is_wider = pt.is_integer(kind) or pt.is_decimal(kind) or pt.is_float64(kind)
    is_wider |= pt.is_decimal(own) and pt.is_decimal(kind) and kind.scale >= own.scale
    is_wider |= pt.is_float32(own) and pt.is_float64(kind)
    is_between_days = {own, kind} == {pa.date32(), _TYPES["timestamp"]}
    if own != kind and not is_wider and not is_between_days:
        raise pa.ArrowNotImplementedError(f"{own} to {kind}")
    return value.cast(kind)


def _equal(one: Value, other: Value) -> Value:
    same = pc.equal(one, other)
    return pc.or_kleene(same, pc.and_kleene(pc.is_nan(one), pc.is_nan(other))) if pt.is_floating(one.type) else same


def _same(one: Value, other: Value) -> Value:
    both_null = pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(pc.fill_null(_equal(one, other), False), both_null)


def _less(one: Value, other: Value) -> Value:
    less = pc.less(one, other)
    if not pt.is_floating(one.type):
        return less
    return pc.or_kleene(less, pc.and_kleene(pc.is_nan(other), pc.invert(pc.is_nan(one))))


def _divided(one: Value, other: Value) -> Value:
    if not pt.is_floating(one.type):
        raise pa.ArrowNotImplementedError("digits of a quotient")
    return pc.divide_checked(one, other)


def _if(condition: Value, one: Value, other: Value) -> Value:
    return pc.if_else(pc.fill_null(condition, False), one, other)


def _case(*values: Value) -> Value:
    """Return the value after the first condition that holds; the last one has none, or there is none."""
    *branches, last = values if len(values) % 2 else (*values, pa.scalar(None, values[1].type))
    pairs = zip(branches[::2], branches[1::2], strict=True)
    return reduce(lambda otherwise, pair: _if(pair[0], pair[1], otherwise), reversed([*pairs]), last)


def _concatenated(*texts: Value) -> Value:
    if not all(pt.is_string(text.type) for text in texts):
        raise pa.ArrowNotImplementedError("parts that are no texts")
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _like(text: Value, pattern: Value) -> Value:
    """Return whether a text begins with, ends with, contains or is what a pattern says."""
    parts = re.fullmatch(r"(%?)([^%_\\]+)(%?)", _constant(pattern))
    if parts is None:
        raise pa.ArrowNotImplementedError("a pattern")
    if parts[1] and parts[3]:
        return pc.match_substring(text, parts[2])
    return (pc.ends_with if parts[1] else pc.starts_with if parts[3] else pc.equal)(text, parts[2])


def _of_constant(function: Callable[..., Value]) -> Callable[[Value, Value], Value]:
    return lambda text, part: function(text, _constant(part))


def _constant(value: Value) -> str:
    text = value.as_py() if isinstance(value, pa.Scalar) else None
    if not isinstance(text, str):
        raise pa.ArrowNotImplementedError("a pattern that is no constant")
    return text


_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"), "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"), "week": "week", **dict.fromkeys(("day", "dd"), "day"),
    **{unit: unit for unit in ("hour", "minute", "second")},
}  # fmt: skip


def _truncated(unit: Value, time: Value) -> Value:
    text = _constant(unit)
    name = _UNITS.get(text.lower()) if text.isascii() else None
    if name is None or not pt.is_timestamp(time.type):
        raise pa.ArrowNotImplementedError("a unit of time")
    return pc.floor_temporal(time, unit=name)


def _part(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda time: function(time).cast(pa.int32())


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "EqualTo": _equal,
    "EqualNullSafe": _same,
    "LessThan": _less,
    "GreaterThan": lambda one, other: _less(other, one),
    "LessThanOrEqual": lambda one, other: pc.invert(_less(other, one)),
    "GreaterThanOrEqual": lambda one, other: pc.invert(_less(one, other)),
    "In": lambda value, *those: reduce(pc.or_kleene, (_equal(value, one) for one in those)),
    "And": pc.and_kleene,
    "Or": pc.or_kleene,
    "Not": pc.invert,
    "IsNull": pc.is_null,
    "IsNotNull": pc.is_valid,
    "Coalesce": pc.coalesce,
    "If": _if,
    "CaseWhen": _case,
    "Add": pc.add_checked,
    "Subtract": pc.subtract_checked,
    "Multiply": pc.multiply_checked,
    "Divide": _divided,
    "UnaryMinus": pc.negate_checked,
    "Concat": _concatenated,
    "Like": _like,
    "StartsWith": _of_constant(pc.starts_with),
    "EndsWith": _of_constant(pc.ends_with),
    "Contains": _of_constant(pc.match_substring),
    "TruncTimestamp": _truncated,
    "Year": _part(pc.year),
    "Month": _part(pc.month),
    "DayOfMonth": _part(pc.day),
    "Hour": _part(pc.hour),
    "Minute": _part(pc.minute),
}
"""Class of Catalyst -> the same function of Arrow.

Overflow and division by zero are errors in both, so Spark computes these rows again, and its functions that return null
then (``try_add``), which plans do not tell from the others, have their value.
"""


def totals(rows: pa.Table, groups: Sequence[str], functions: Mapping[str, str], types: pa.Schema) -> pa.Table:
    """Return one row for each group, with the ``sum``, ``min`` or ``max`` of other columns.

    Null is a group, and no value. Sums are exact, and do not overflow in any order of the rows.

    :param types: columns of the result.
    :raises pa.ArrowException: a sum may overflow, or Arrow cannot compute it.
    """
    for name in (name for name, function in functions.items() if function == "sum"):
        values = rows[name].cast(_wide(rows.schema.field(name).type))
        pc.sum(pc.abs(values)).cast(types.field(name).type)
        rows = rows.set_column(rows.column_names.index(name), name, values)
    found = rows.group_by(list(groups), use_threads=False).aggregate([*functions.items()])
    names = {**{name: name for name in groups}, **{f"{name}_{function}": name for name, function in functions.items()}}
    return found.select([*names]).rename_columns([*names.values()]).select(types.names).cast(types)


def _wide(kind: pa.DataType) -> pa.DataType:
    """Return the type in which ten thousand million values of a type add up without an overflow."""
    if pt.is_decimal(kind) and kind.precision <= 28:
        return pa.decimal128(38, kind.scale)
    if not pt.is_integer(kind):
        raise pa.ArrowNotImplementedError(f"sums of {kind}")
    return pa.decimal128(38, 0)

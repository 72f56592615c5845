"""Arithmetic of Flink: + - * / % of numbers, and dates and times plus or minus intervals.

FLOAT has 32 bits; of FLOAT and DOUBLE the type of the left side is the result. With a DECIMAL a BIGINT has 19 digits.
Quotients of decimals are rounded half up. RisingWave has the same arithmetic of whole numbers and DOUBLE.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.comparisons import operand
from airflow_provider_odf.dialect.engine import NodeRule, Translation, chain
from airflow_provider_odf.dialect.literals import interval_parts
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, cast, convert, paren
from airflow_provider_odf.dialect.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    MAX_PRECISION,
    Type,
    decimal,
    timestamp,
)

OPERATORS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_BIGINT_DIGITS = 19
_LEAST_SCALE = 6
"""Minimum scale of a quotient."""
_DOUBLE_DIGITS, _COMPACT_DIGITS = 15, 18
"""Digits that a DOUBLE holds exactly, and maximum digits of a DECIMAL that Flink stores as a whole number."""


def operator_rule(calculate: Callable[[exp.Expr, Typed, Typed], Typed]) -> NodeRule:
    """Return a rule that applies ``calculate`` to each operator of a chain. Long sums do not recurse."""

    def rule(t: Translation, node: exp.Expr) -> Typed:
        first, operators = chain(node, OPERATORS)
        result = operand(t, first)
        for operator in operators:
            result = calculate(operator, result, operand(t, operator.expression))
        return result

    return rule


def calculate(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Return the result of an operator. Overflow and division by zero fail the query."""
    sides = (left.type, right.type)
    if INTERVAL in sides:
        return _with_interval(node, left, right)
    if not all(type_.is_numeric for type_ in sides):
        advice = SCHEMA_ADVICE if not all(type_.is_known for type_ in sides) else "cast them to numbers"
        raise Refused(node, f"arithmetic with {left.type} and {right.type} is not translated", advice)
    if isinstance(node, exp.Mod):
        return remainder(node, left, right)
    if any(type_.is_float for type_ in sides):
        return _floats(node, left, right)
    return _decimals(node, left, right) if any(type_.is_decimal for type_ in sides) else _whole(node, left, right)


def _whole(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    shared = types.common(left.type, right.type)
    assert shared is not None  # noqa: S101 - both are whole numbers
    if isinstance(node, exp.Div):
        quotient = paren(exp.IntDiv, left.sql, right.sql)
        return Typed(quotient if shared == BIGINT else cast(quotient, shared), shared)
    return Typed(paren(type(node), convert(left, shared), convert(right, shared)), shared)


def remainder(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Return the remainder. For whole numbers it has the type of the divisor."""
    if left.type.is_integer and right.type.is_integer:
        rest = paren(exp.Mod, left.sql, right.sql)
        return Typed(rest if left.type == right.type else cast(rest, right.type), right.type)
    if not all(type_.is_integer or type_.is_decimal for type_ in (left.type, right.type)):
        raise Refused(node, "Flink has % for whole numbers and DECIMAL only", "cast them")
    return _decimals(node, left, right)


def _floats(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Calculate in DOUBLE and round a FLOAT result. This is exact, since DOUBLE has more than twice the digits."""
    sides = (left.type, right.type)
    refuse_rounded_twice(node, *sides)
    type_ = DOUBLE
    if FLOAT in sides and not any(side.is_decimal for side in sides):
        type_ = left.type if DOUBLE in sides else FLOAT
    operands = [convert(Typed(convert(side, type_), type_), DOUBLE) for side in (left, right)]
    result = paren(type(node), *operands)
    return Typed(result if type_ == DOUBLE else cast(result, type_), type_)


def _decimals(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    a, b = _as_decimal(left.type), _as_decimal(right.type)
    wholes = (a.precision - a.scale, b.precision - b.scale)
    if isinstance(node, exp.Div):
        scale = max(_LEAST_SCALE, a.scale + b.precision + 1)
        precision = wholes[0] + b.scale + scale
    elif isinstance(node, exp.Mul):
        scale, precision = a.scale + b.scale, a.precision + b.precision + 1
    else:
        scale = max(a.scale, b.scale)
        precision = min(wholes) + scale if isinstance(node, exp.Mod) else max(wholes) + 1 + scale
    if precision > MAX_PRECISION:
        raise Refused(node, f"the result would need {precision} digits", "cast to smaller decimals first")
    return Typed(paren(type(node), cast(left.sql, a), cast(right.sql, b)), decimal(precision, scale))


def _as_decimal(type_: Type) -> Type:
    return decimal(_BIGINT_DIGITS, 0) if type_ == BIGINT else types.as_decimal(type_)


def is_rounded_twice(type_: Type) -> bool:
    """Return whether Flink converts a DECIMAL to DOUBLE through a whole number with more digits than DOUBLE holds."""
    return type_.is_decimal and type_.scale > 0 and _DOUBLE_DIGITS < type_.precision <= _COMPACT_DIGITS


def refuse_rounded_twice(node: exp.Expr, *types_: Type) -> None:
    """:raises Refused: one of the types is converted to DOUBLE in two steps, which may differ in the last bit."""
    for type_ in filter(is_rounded_twice, types_):
        advice = f"cast to DECIMAL({_COMPACT_DIGITS + 1},{type_.scale}) first"
        raise Refused(node, f"Flink rounds {type_} twice when it converts to DOUBLE", advice)


def _with_interval(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Return a date or time plus or minus an interval."""
    if isinstance(node, exp.Add) and left.type == INTERVAL:
        left, right = right, left
    is_time = left.type.is_timestamp or left.type == DATE
    if not is_time or right.type != INTERVAL or not isinstance(node, (exp.Add, exp.Sub)):
        message = f"arithmetic with {left.type} and {right.type} is not translated"
        raise Refused(node, message, "add intervals to times only")
    if left.type != DATE:
        return Typed(paren(type(node), left.sql, right.sql), left.type)
    literal = node.expression if isinstance(node.expression, exp.Interval) else node.this
    if any(interval_parts(literal)[4:]):
        raise Refused(node, "engines add hours to a DATE in different ways", "cast the date to TIMESTAMP first")
    moved = type(node)(this=cast(left.sql, timestamp()), expression=right.sql)
    return Typed(cast(moved, DATE), DATE)

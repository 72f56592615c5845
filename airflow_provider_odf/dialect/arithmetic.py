"""Arithmetic of Flink: + - * / % of numbers, the sign, and dates and times plus or minus intervals.

FLOAT has 32 bits; of FLOAT and DOUBLE the type of the left side is the result. With a DECIMAL a BIGINT has 19 digits.
Quotients of decimals are rounded half up. RisingWave has the same arithmetic of whole numbers and DOUBLE.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.engine import NodeRule, Translator, chain
from airflow_provider_odf.dialect.expressions import interval_parts, operand
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, cast, convert, in_parentheses, operation
from airflow_provider_odf.dialect.types import BIGINT, DATE, DOUBLE, FLOAT, INTERVAL, Type, decimal, timestamp

OPERATORS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_BIGINT_DIGITS = 19
_LEAST_SCALE = 6
"""Minimum scale of a quotient."""
_SIGN_DIGITS = 34
"""Digits to which Spark's unary minus and abs round a DECIMAL."""


def operator_rule(calculate: Callable[[exp.Expr, Value, Value], Value]) -> NodeRule:
    """Return a rule that applies ``calculate`` to each operator of a chain. Long sums do not recurse."""

    def rule(t: Translator, node: exp.Expr) -> Value:
        first, operators = chain(node, OPERATORS)
        result = operand(t, first)
        for operator in operators:
            result = calculate(operator, result, operand(t, operator.expression))
        return result

    return rule


def calculate(node: exp.Expr, left: Value, right: Value) -> Value:
    """Return the result of an operator. Overflow and division by zero fail the query."""
    sides = (left.type, right.type)
    if INTERVAL in sides:
        return _with_interval(node, left, right)
    if not all(type_.is_numeric for type_ in sides):
        message = f"arithmetic with {left.type} and {right.type} is not supported"
        raise Refusal(node, message, types.advice(sides, "cast them to numbers"))
    if isinstance(node, exp.Mod):
        return remainder(node, left, right)
    if any(type_.is_float for type_ in sides):
        return _floats(node, left, right)
    return _decimals(node, left, right) if any(type_.is_decimal for type_ in sides) else _whole(node, left, right)


def _whole(node: exp.Expr, left: Value, right: Value) -> Value:
    type_ = types.common(left.type, right.type)
    assert type_ is not None  # noqa: S101 - both are whole numbers
    if isinstance(node, exp.Div):
        quotient = operation(exp.IntDiv, left.sql, right.sql)
        return Value(quotient if type_ == BIGINT else cast(quotient, type_), type_)
    return Value(operation(type(node), convert(left, type_), convert(right, type_)), type_)


def remainder(node: exp.Expr, left: Value, right: Value) -> Value:
    """Return the remainder. For whole numbers it has the type of the divisor."""
    if left.type.is_integer and right.type.is_integer:
        rest = operation(exp.Mod, left.sql, right.sql)
        return Value(rest if left.type == right.type else cast(rest, right.type), right.type)
    if not all(type_.is_integer or type_.is_decimal for type_ in (left.type, right.type)):
        raise Refusal(node, "Flink supports % only for integers and DECIMAL", "cast them")
    return _decimals(node, left, right)


def _floats(node: exp.Expr, left: Value, right: Value) -> Value:
    """Calculate in DOUBLE and round a FLOAT result. This is exact, since DOUBLE has more than twice the digits."""
    sides = (left.type, right.type)
    if other := next((type_ for type_ in sides if not types.is_exact_double(type_)), None):
        raise Refusal(node, f"engines convert {other} to DOUBLE differently", "cast it to DOUBLE")
    type_ = DOUBLE
    if FLOAT in sides and not any(side.is_decimal for side in sides):
        type_ = left.type if DOUBLE in sides else FLOAT
    operands = [convert(Value(convert(side, type_), type_), DOUBLE) for side in (left, right)]
    result = operation(type(node), *operands)
    return Value(result if type_ == DOUBLE else cast(result, type_), type_)


def _decimals(node: exp.Expr, left: Value, right: Value) -> Value:
    a, b = (decimal(_BIGINT_DIGITS, 0) if s.type == BIGINT else types.as_decimal(s.type) for s in (left, right))
    wholes = (a.precision - a.scale, b.precision - b.scale)
    if isinstance(node, exp.Div):
        scale = max(_LEAST_SCALE, a.scale + b.precision + 1)
        precision = wholes[0] + b.scale + scale
    elif isinstance(node, exp.Mul):
        scale, precision = a.scale + b.scale, a.precision + b.precision + 1
    else:
        scale = max(a.scale, b.scale)
        precision = min(wholes) + scale if isinstance(node, exp.Mod) else max(wholes) + 1 + scale
    if precision > types.MAX_PRECISION:
        raise Refusal(node, f"the result would need {precision} digits", "cast to smaller decimals first")
    return Value(operation(type(node), cast(left.sql, a), cast(right.sql, b)), decimal(precision, scale))


def _with_interval(node: exp.Expr, left: Value, right: Value) -> Value:
    if isinstance(node, exp.Add) and left.type == INTERVAL:
        left, right = right, left
    if not left.type.is_time or right.type != INTERVAL or not isinstance(node, (exp.Add, exp.Sub)):
        message = f"arithmetic with {left.type} and {right.type} is not supported"
        raise Refusal(node, message, types.advice([left.type], "add intervals to times only"))
    if left.type != DATE:
        return Value(operation(type(node), left.sql, right.sql), left.type)
    literal = node.expression if isinstance(node.expression, exp.Interval) else node.this
    if any(interval_parts(literal)[4:]):
        raise Refusal(node, "engines add hours to a DATE differently", "cast the date to TIMESTAMP first")
    moved = type(node)(this=cast(left.sql, timestamp()), expression=right.sql)
    return Value(cast(moved, DATE), DATE)


def negation(t: Translator, node: exp.Expr) -> Value:
    value = t.expression(node.this)
    if not has_exact_sign(value.type):
        advice = types.advice([value.type], f"cast it to a number of at most {_SIGN_DIGITS} digits")
        raise Refusal(node, f"changing the sign of a {value.type} could lose digits", advice)
    return Value(exp.Neg(this=in_parentheses(value.sql)), value.type)


def has_exact_sign(type_: Type) -> bool:
    """Return whether Spark's unary minus and abs do not round numbers of a type."""
    return type_.is_numeric and type_.precision <= _SIGN_DIGITS

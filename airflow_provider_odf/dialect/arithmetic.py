"""+ - * / % between numbers, and between dates, times and intervals, as Flink and RisingWave have them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect import intervals
from airflow_provider_odf.dialect.engine import NodeRule, Translation, chain
from airflow_provider_odf.dialect.expressions import aligned, number_of_unknown_type, operand
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, as_int, call, cast, converted
from airflow_provider_odf.dialect.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTERVAL,
    MAX_PRECISION,
    NULL,
    UNKNOWN,
    Type,
    as_decimal,
    common,
    decimal,
    timestamp,
)

_OPERATORS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_DECIMAL_OPERATORS = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_DOUBLE_DIGITS = 15
"""Digits of a DECIMAL that a DOUBLE holds exactly."""


def chained(calculated: Callable[[exp.Expr, Typed, Typed], Typed]) -> NodeRule:
    """The rule of ``+ - * / %`` by what one operator makes of its sides; long sums do not recurse."""

    def rule(t: Translation, node: exp.Expr) -> Typed:
        first, operators = chain(node, _OPERATORS)
        result = operand(t, first)
        for operator in operators:
            result = calculated(operator, result, operand(t, operator.expression))
        return result

    return rule


def calculated(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Whole numbers stay whole (division truncates), numbers with a DOUBLE are DOUBLE; overflow stops the query."""
    if left.type.name in ("DATE", "TIMESTAMP", "INTERVAL") or right.type.name in ("DATE", "TIMESTAMP", "INTERVAL"):
        return with_time(node, left, right)
    if not (left.type.is_known and right.type.is_known):
        return _with_unknown(node, left, right)
    return _numbers(node, left, right)


def _numbers(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    if not all(side.type.is_numeric or side.type == NULL for side in (left, right)):
        raise Refused(node, f"{left.type} and {right.type} cannot be calculated with", "cast them to numbers")
    shared = common(left.type, right.type)
    if shared is None:
        raise Refused(node, f"engines calculate {left.type} with {right.type} in different ways", "cast both to DOUBLE")
    if shared == DOUBLE and any(s.type.name == "DECIMAL" and s.type.precision > _DOUBLE_DIGITS for s in (left, right)):
        message = f"engines round {left.type} with {right.type} in different ways"
        raise Refused(node, message, f"cast the DECIMAL to DECIMAL({_DOUBLE_DIGITS}, scale) first")
    if shared.name == "DECIMAL":
        return _decimals(node, left, right)
    if isinstance(node, exp.Div) and shared.is_integer:
        return Typed(exp.Paren(this=exp.IntDiv(this=left.sql, expression=right.sql)), shared)
    return _plain(node, Typed(aligned(left, shared), shared), Typed(aligned(right, shared), shared), shared)


def _plain(node: exp.Expr, left: Typed, right: Typed, type_: Type) -> Typed:
    return Typed(exp.Paren(this=type(node)(this=left.sql, expression=right.sql)), type_)


def _decimals(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    if not isinstance(node, _DECIMAL_OPERATORS):
        raise Refused(node, "engines round the division of decimals in different ways", "cast both to DOUBLE")
    a, b = as_decimal(left.type), as_decimal(right.type)
    scale = a.scale + b.scale if isinstance(node, exp.Mul) else max(a.scale, b.scale)
    wholes = (a.precision - a.scale, b.precision - b.scale)
    if isinstance(node, exp.Mul):
        precision = a.precision + b.precision + 1
    else:
        precision = min(wholes) + scale if isinstance(node, exp.Mod) else max(wholes) + 1 + scale
    if precision > MAX_PRECISION:
        raise Refused(node, f"the result would need {precision} digits", "cast to smaller decimals first")
    return _plain(node, Typed(converted(left, a), a), Typed(converted(right, b), b), decimal(precision, scale))


def _with_unknown(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    known, unknown = (left, right) if left.type.is_known else (right, left)
    if known.type != DOUBLE:
        raise Refused(
            node, f"the type of a side is not known, the other is {known.type}", f"cast it, or {SCHEMA_ADVICE}"
        )
    number = Typed(converted(Typed(number_of_unknown_type(unknown), UNKNOWN), UNKNOWN), DOUBLE)
    sides = (known, number) if known is left else (number, known)
    return _plain(node, *sides, DOUBLE)


def with_time(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    is_sum = isinstance(node, exp.Add)
    if not (is_sum or isinstance(node, exp.Sub)):
        raise Refused(node, "times can be added to and subtracted from only")
    if is_sum and left.type == INTERVAL:
        left, right = right, left
    if left.type.name == "TIMESTAMP" and right.type == INTERVAL:
        return _plain(node, left, right, left.type)
    if left.type == DATE and right.type == INTERVAL:
        return _date_and_interval(node, left, right)
    if left.type == DATE and right.type.is_integer:
        return Typed(call("date_add" if is_sum else "date_sub", left.sql, as_int(right)), DATE)
    if not is_sum and left.type == right.type == DATE:
        return Typed(cast(call("datediff", left.sql, right.sql), BIGINT), BIGINT)
    raise Refused(node, f"{left.type} and {right.type} are calculated with in different ways", "use to_unixtime")


def _date_and_interval(node: exp.Expr, date: Typed, interval: Typed) -> Typed:
    literal = node.expression if isinstance(node.expression, exp.Interval) else node.this
    if intervals.parse(literal).seconds:
        raise Refused(node, "engines take hours with a DATE in different ways", "cast the date to TIMESTAMP first")
    moved = type(node)(this=cast(date.sql, timestamp()), expression=interval.sql)
    return Typed(cast(moved, DATE), DATE)

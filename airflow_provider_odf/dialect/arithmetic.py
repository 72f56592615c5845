"""+ - * / % between numbers, and between dates, times and intervals, as DataFusion, Flink and RisingWave have them."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translation
from airflow_provider_odf.dialect.expressions import number_of_unknown_type
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, converted
from airflow_provider_odf.dialect.types import (
    DOUBLE,
    INTERVAL,
    MAX_PRECISION,
    NULL,
    UNKNOWN,
    Type,
    as_decimal,
    common,
    decimal,
)

_DECIMAL_OPERATORS = (exp.Add, exp.Sub, exp.Mul)


def arithmetic(t: Translation, node: exp.Expr) -> Typed:
    """Whole numbers stay whole (their division truncates), numbers and a DOUBLE are DOUBLE; overflow stops the query."""
    left, right = t.expression(node.this), t.expression(node.expression)
    if left.type.name in ("DATE", "TIMESTAMP", "INTERVAL") or right.type.name in ("DATE", "TIMESTAMP", "INTERVAL"):
        return _with_time(node, left, right)
    if not (left.type.is_known and right.type.is_known):
        return _with_unknown(node, left, right)
    return _numbers(node, left, right)


def _numbers(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    if not all(side.type.is_numeric or side.type == NULL for side in (left, right)):
        raise Refused(node, f"{left.type} and {right.type} cannot be calculated with", "cast them to numbers")
    shared = common(left.type, right.type)
    if shared is None:
        raise Refused(node, f"engines calculate {left.type} with {right.type} in different ways", "cast both to DOUBLE")
    if shared.name == "DECIMAL":
        return _decimals(node, left, right)
    if isinstance(node, exp.Div) and shared.is_integer:
        return Typed(exp.Paren(this=exp.IntDiv(this=left.sql, expression=right.sql)), shared)
    # FLOAT with FLOAT, DOUBLE with anything, INT with BIGINT: Spark's own conversions are the same.
    if shared == DOUBLE:
        left, right = Typed(converted(left, shared), shared), Typed(converted(right, shared), shared)
    return _plain(node, left, right, shared)


def _plain(node: exp.Expr, left: Typed, right: Typed, type_: Type) -> Typed:
    return Typed(exp.Paren(this=type(node)(this=left.sql, expression=right.sql)), type_)


def _decimals(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    if not isinstance(node, _DECIMAL_OPERATORS):
        raise Refused(node, "engines round the division of decimals in different ways", "cast both to DOUBLE")
    a, b = as_decimal(left.type), as_decimal(right.type)
    scale = a.scale + b.scale if isinstance(node, exp.Mul) else max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale) + 1 + scale
    precision = a.precision + b.precision + 1 if isinstance(node, exp.Mul) else whole
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


def _with_time(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    is_sum = isinstance(node, exp.Add)
    if not (is_sum or isinstance(node, exp.Sub)):
        raise Refused(node, "times can be added to and subtracted from only")
    if is_sum and left.type == INTERVAL:
        left, right = right, left
    if left.type.name == "TIMESTAMP" and right.type == INTERVAL:
        return _plain(node, left, right, left.type)
    if not is_sum and left.type == right.type == Type("DATE"):
        return Typed(call("datediff", left.sql, right.sql), Type("BIGINT"))
    raise Refused(node, f"{left.type} and {right.type}: engines give different types", "cast dates to TIMESTAMP first")

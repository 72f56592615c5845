"""DataFusion's functions of numbers, those whose results are the same to the last bit on Spark."""

from __future__ import annotations

import math

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule
from airflow_provider_odf.dialect.parameters import absolute, double
from airflow_provider_odf.dialect.typed import Typed, call, cast, fail, switch
from airflow_provider_odf.dialect.types import BOOLEAN, DOUBLE, decimal

_WHOLE_FROM = "4503599627370496D"
"""From 2**52 on a DOUBLE has no fraction."""


def _literal(text: str) -> exp.Expr:
    return exp.Literal.number(text)


def _with_fraction(value: exp.Expr) -> exp.Expr:
    return exp.LT(this=call("abs", value.copy()), expression=_literal(_WHOLE_FROM))


def _is_between(value: exp.Expr, low: str, high: str) -> exp.Expr:
    above = exp.GT(this=value.copy(), expression=_literal(low))
    return exp.And(this=above, expression=exp.LTE(this=value.copy(), expression=_literal(high)))


def _signed_zero(value: exp.Expr) -> exp.Expr:
    return exp.Mul(this=exp.Paren(this=value.copy()), expression=_literal("0D"))


def ceil(c: Call) -> Typed:
    """Stays DOUBLE, with -0.0 for (-1, 0]; Spark's gives a BIGINT."""
    c.expect(1)
    value = double(c, 0)
    whole = cast(call("ceil", value.copy()), DOUBLE)
    return Typed(
        switch([(_is_between(value, "-1D", "0D"), _signed_zero(value)), (_with_fraction(value), whole)], value), DOUBLE
    )


def floor(c: Call) -> Typed:
    c.expect(1)
    value = double(c, 0)
    whole = cast(call("floor", value.copy()), DOUBLE)
    is_zero = exp.EQ(this=value.copy(), expression=_literal("0D"))
    return Typed(switch([(is_zero, value.copy()), (_with_fraction(value), whole)], value), DOUBLE)


def round_(c: Call) -> Typed:
    c.expect(1, 2)
    value = c.argument(0)
    digits = c.argument(1).integer if len(c.arguments) == 2 else 0
    if digits is None or not 0 <= digits <= 15:
        raise c.refusal("takes a literal number of digits from 0 to 15 here")
    if value.type.is_integer:
        return value
    if value.type.name == "DECIMAL":
        return _rounded_decimal(value, min(digits, value.type.scale))
    if not digits:
        return Typed(nearest(double(c, 0)), DOUBLE)
    factor = _literal(f"{10**digits}D")
    scaled = exp.Paren(this=exp.Mul(this=double(c, 0), expression=factor))
    return Typed(exp.Paren(this=exp.Div(this=nearest(scaled), expression=factor.copy())), DOUBLE)


def _rounded_decimal(value: Typed, scale: int) -> Typed:
    type_ = decimal(value.type.precision, scale)
    return Typed(cast(value.sql, type_), type_)


def nearest(value: exp.Expr) -> exp.Expr:
    """Half away from zero, with -0.0 for (-0.5, 0]."""
    near_zero = _is_between(value, "-0.5D", "0D")
    return switch(
        [(near_zero, _signed_zero(value)), (_with_fraction(value), call("round", value.copy()))], value.copy()
    )


def signum(c: Call) -> Typed:
    c.expect(1)
    return Typed(exp.Paren(this=exp.Add(this=call("signum", double(c, 0)), expression=_literal("0D"))), DOUBLE)


def sqrt(c: Call) -> Typed:
    c.expect(1)
    value = double(c, 0)
    is_negative = exp.LT(this=value.copy(), expression=_literal("0D"))
    return Typed(switch([(is_negative, fail("sqrt of a negative number", DOUBLE))], call("sqrt", value)), DOUBLE)


def power(c: Call) -> Typed:
    """A power of two literals is calculated here, by the same C library that DataFusion uses."""
    c.expect(2)
    base, exponent = (_value(c.argument(i)) for i in (0, 1))
    if base is None or exponent is None:
        raise c.refusal("the last bit may differ unless both arguments are literals")
    return Typed(_literal(f"{math.pow(base, exponent)!r}D"), DOUBLE)


def _value(argument: Typed) -> float | None:
    node, sign = (argument.sql.this, -1) if isinstance(argument.sql, exp.Neg) else (argument.sql, 1)
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return sign * float(node.name.rstrip("LD"))


def isnan(c: Call) -> Typed:
    c.expect(1)
    value = double(c, 0)
    is_null = exp.Is(this=value.copy(), expression=exp.Null())
    return Typed(switch([(is_null, exp.Null())], call("isnan", value)), BOOLEAN)


def iszero(c: Call) -> Typed:
    c.expect(1)
    return Typed(exp.Paren(this=exp.EQ(this=double(c, 0), expression=_literal("0D"))), BOOLEAN)


def nanvl(c: Call) -> Typed:
    c.expect(2)
    return Typed(call("nanvl", double(c, 0), double(c, 1)), DOUBLE)


def pi(c: Call) -> Typed:
    c.expect(0)
    return Typed(_literal(f"{math.pi!r}D"), DOUBLE)


SCALARS: dict[str, FunctionRule] = {
    "abs": absolute,
    "ceil": ceil,
    "floor": floor,
    "isnan": isnan,
    "iszero": iszero,
    "nanvl": nanvl,
    "pi": pi,
    "pow": power,
    "power": power,
    "round": round_,
    "signum": signum,
    "sqrt": sqrt,
}

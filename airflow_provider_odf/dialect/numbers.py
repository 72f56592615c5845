"""Functions of DOUBLE that stay DOUBLE; Spark's ceil and floor give a BIGINT."""

from __future__ import annotations

import math

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call
from airflow_provider_odf.dialect.parameters import double
from airflow_provider_odf.dialect.typed import Typed, call, cast, switch
from airflow_provider_odf.dialect.types import DOUBLE

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


def pi(c: Call) -> Typed:
    c.expect(0)
    return Typed(_literal(f"{math.pi!r}D"), DOUBLE)

"""Flink's types of two numbers side by side, and its functions of numbers."""

from __future__ import annotations

import sys
from fractions import Fraction

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.arithmetic import OPERATORS, calculate, is_rounded_twice, operator_rule, remainder
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.flink.times import floor_to
from airflow_provider_odf.dialect.functions import absolute, nullif, of_common_type
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, call, cast, is_null, number, switch
from airflow_provider_odf.dialect.types import DOUBLE, Type, decimal

_MOST_DIGITS = 15
"""Digits after the point to which ROUND is the same."""
_LARGEST_EXPONENT = 300
_NEVER_COMPARED = ({"FLOAT", "DOUBLE"}, {"DATE", "TIMESTAMP"})
"""Flink compares the first in 32 bits, and refuses the second."""
_NEVER_COMMON = (*_NEVER_COMPARED, {"FLOAT", "DECIMAL"}, {"BIGINT", "DECIMAL"})
"""Flink's choice depends on the order, or it counts the digits of a BIGINT in another way."""
_WHOLE_FROM = "4503599627370496D"
"""From 2**52 on a DOUBLE has no fraction."""


def common(left: Type, right: Type) -> Type | None:
    is_refused = {left.name, right.name} in _NEVER_COMMON or _meets_double(left, right)
    return None if is_refused else types.common(left, right)


def compared(left: Type, right: Type) -> Type | None:
    is_refused = {left.name, right.name} in _NEVER_COMPARED or _meets_double(left, right)
    return None if is_refused else types.common(left, right)


def _meets_double(left: Type, right: Type) -> bool:
    return any(a == DOUBLE and is_rounded_twice(b) for a, b in ((left, right), (right, left)))


def is_member(value: Type, member: Type) -> bool:
    """Flink converts the list of an IN to the type of the value: 1 IN (1.5) is true, 1.5 IN (30) is null."""
    if value.is_integer:
        return member.is_integer or not member.is_numeric
    if value.is_decimal and member.is_integer:
        return value.precision - value.scale >= types.as_decimal(member).precision
    return not (value.is_decimal and member.is_float)


# --- functions -------------------------------------------------------------------------------------------------------


def whole_number(name: str) -> NodeRule:
    """FLOOR and CEIL, which keep the type, and FLOOR of a time to a unit."""

    def rule(t: Translation, node: exp.Expr) -> Typed:
        if node.args.get("to") is not None:
            if name == "ceil":
                raise Refused(node, "CEIL of a time is not translated", "use FLOOR")
            return floor_to(t, node)
        value = t.expression(node.this)
        if value.type.is_integer:
            return value
        if value.type.is_decimal:
            type_ = decimal(value.type.precision, 0)
            return Typed(cast(call(name, value.sql), type_), type_)
        if value.type != DOUBLE:
            raise Refused(node, f"{name} is not translated for {value.type}", "cast it to DOUBLE")
        return Typed(_whole_double(name, value.sql), DOUBLE)

    return rule


def _whole_double(name: str, value: exp.Expr) -> exp.Expr:
    """Stays a DOUBLE, where Spark's is a BIGINT; a zero keeps its sign, and ceil of (-1, 0) is -0.0."""
    zero, one = number("0D"), number("-1D")
    is_zero: exp.Expr = exp.EQ(this=value.copy(), expression=zero)
    if name == "ceil":
        above = exp.GT(this=value.copy(), expression=one)
        is_zero = exp.And(this=above, expression=exp.LTE(this=value.copy(), expression=zero))
    signed_zero = exp.Mul(this=exp.Paren(this=value.copy()), expression=zero.copy())
    has_fraction = exp.LT(this=call("abs", value.copy()), expression=number(_WHOLE_FROM))
    rounded = cast(call(name, value.copy()), DOUBLE)
    return switch([(is_zero, signed_zero), (has_fraction, rounded)], value)


def round_(c: Call) -> Typed:
    """Half up by the decimal digits that a DOUBLE is written with, as Spark does."""
    c.expect(1, 2)
    value, digits = c.argument(0), c.size(1) if len(c.arguments) == 2 else 0
    if digits > _MOST_DIGITS:
        raise c.refusal(f"takes at most {_MOST_DIGITS} digits here")
    if value.type.is_integer:
        return value
    if value.type.is_decimal:
        kept = min(digits, value.type.scale)
        type_ = decimal(value.type.precision - value.type.scale + kept + (kept < value.type.scale), kept)
        return Typed(cast(value.sql, type_), type_)
    if value.type != DOUBLE:
        raise c.refusal(f"is not translated for {value.type}", "cast it to DOUBLE")
    return Typed(call("round", value.sql, digits), DOUBLE)


def power(c: Call) -> Typed:
    """Two literals whose power a DOUBLE holds exactly; of others the last bit depends on the library."""
    c.expect(2)
    base, exponent = (_literal(argument) for argument in c.arguments)
    if base and exponent is not None and exponent.denominator == 1 and abs(exponent) <= _LARGEST_EXPONENT:
        exact = base ** int(exponent)
        if abs(exact) <= sys.float_info.max and Fraction(float(exact)) == exact:
            return Typed(number(f"{float(exact)!r}D"), DOUBLE)
    raise c.refusal("the last bit may differ unless both arguments are literals with an exact result")


def _literal(argument: Typed) -> Fraction | None:
    node, factor = (argument.sql.this, -1) if isinstance(argument.sql, exp.Neg) else (argument.sql, 1)
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return factor * Fraction(node.name.rstrip("LD")) if is_number else None


def modulo(c: Call) -> Typed:
    c.expect(2)
    return remainder(exp.Mod(this=c.node.expressions[0], expression=c.node.expressions[1]), *c.arguments)


def if_(t: Translation, node: exp.Expr) -> Typed:
    """IF(condition, value, other) is CASE with one branch."""
    if node.args.get("false") is None:
        raise Refused(node, "IF needs three arguments")
    branch = exp.If(this=node.this.copy(), true=node.args["true"].copy())
    return t.expression(exp.Case(ifs=[branch], default=node.args["false"].copy()))


def extreme(name: str) -> FunctionRule:
    """GREATEST and LEAST, null where one argument is; Spark ignores nulls."""
    of_values = of_common_type(name)

    def rule(c: Call) -> Typed:
        result = of_values(c)
        # Engines order -0.0 and 0.0 differently, and Flink fails on a null DECIMAL.
        if result.type.is_float or result.type.is_decimal or not result.type.is_known:
            raise c.refusal(f"is not translated for {result.type}", "write it as CASE WHEN a > b THEN a ELSE b END")
        absent = exp.or_(*[is_null(argument.sql) for argument in c.arguments], copy=False)
        return Typed(switch([(absent, exp.Null())], result.sql), result.type)

    return rule


SCALARS: dict[str, FunctionRule] = {
    "abs": absolute,
    "coalesce": of_common_type("coalesce"),
    "greatest": extreme("greatest"),
    "ifnull": of_common_type("coalesce"),
    "least": extreme("least"),
    "mod": modulo,
    "nullif": nullif,
    "power": power,
    "round": round_,
}
NODES: dict[type[exp.Expr], NodeRule] = {
    **dict.fromkeys(OPERATORS, operator_rule(calculate)),
    exp.Ceil: whole_number("ceil"),
    exp.Floor: whole_number("floor"),
    exp.If: if_,
}

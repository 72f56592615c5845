"""Flink's functions of numbers, and of the greatest and least of values."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from airflow_provider_odf.dialect import arithmetic, functions, types
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translator
from airflow_provider_odf.dialect.flink import times
from airflow_provider_odf.dialect.functions import by_type, form
from airflow_provider_odf.dialect.spark import Value, sql
from airflow_provider_odf.dialect.types import DOUBLE, Type, decimal

_DIGITS = functions.size(1, most=15)
"""Numbers of decimal places for which ROUND gives the same result in both engines."""

_WHOLE_DOUBLE = "CASE WHEN {} WHEN abs(a) < 4503599627370496D THEN CAST({}(a) AS DOUBLE) ELSE a END"
"""FLOOR or CEIL of a DOUBLE: a zero keeps its sign, and from 2**52 on there is no fraction. Spark's are BIGINT."""


def whole_number(name: str, zero: str) -> FunctionRule:
    """Return the rule of FLOOR or CEIL, which keep the type. ``zero`` are the cases with a signed zero."""
    of_double = _WHOLE_DOUBLE.format(zero, name)
    return by_type(
        {"INTEGER": "a", "DECIMAL": f"CAST({name}(a) AS {{}})", "DOUBLE": of_double},
        lambda type_: decimal(type_.precision, 0) if type_.is_decimal else type_,
    )


def floor(t: Translator, node: exp.Expr) -> Value:
    """Translate FLOOR of a number, and FLOOR of a time to a unit."""
    return times.floor_to(t, node) if node.args.get("to") is not None else form("floor", "this")(t, node)


def round_(c: Call) -> Value:
    """Translate ROUND: half up by the decimal digits that a DOUBLE is written with, as Spark does."""
    digits = 0
    if len(c.expect(1, 2)) == 2:
        _DIGITS.of(c, 1)
        digits = c.arguments[1].integer or 0
    scale = min(digits, c.arguments[0].type.scale)
    templates = {"INTEGER": "a", "DECIMAL": "CAST(a AS {})", "DOUBLE": f"round(a, {digits})"}
    return by_type(templates, lambda type_: _rounded(type_, scale))(replace(c, arguments=c.arguments[:1]))


def _rounded(type_: Type, scale: int) -> Type:
    whole = type_.precision - type_.scale
    return decimal(whole + scale + (scale < type_.scale), scale) if type_.is_decimal else type_


def modulo(c: Call) -> Value:
    left, right = c.expect(2)
    return arithmetic.remainder(exp.Mod(this=c.node.expressions[0], expression=c.node.expressions[1]), left, right)


_LARGEST_EXPONENT = 300


def power(c: Call) -> Value:
    """Translate POWER whose result a DOUBLE holds exactly: of two literals, or of a whole number and an integer.

    In other cases the last bit depends on the library."""
    base, exponent = map(_literal, c.expect(2))
    if base and base.denominator == 1 and abs(base) > 1 and c.arguments[1].type.is_integer and exponent is None:
        return _whole_power(int(base), c.arguments[1].sql)
    if base and exponent is not None and exponent.denominator == 1 and abs(exponent) <= _LARGEST_EXPONENT:
        result = base ** int(exponent)
        if abs(result) <= sys.float_info.max and Fraction(float(result)) == result:
            return Value(exp.Literal.number(f"{float(result)!r}D"), DOUBLE)
    raise c.refusal("the last bit may differ unless both arguments are literals with an exact result")


def _whole_power(base: int, exponent: exp.Expr) -> Value:
    """Return the power of a whole number and integers. Exponents without an exact result stop the query."""
    largest = next(n for n in range(1, 2000) if not _is_exact(base ** (n + 1)))
    message = f"POWER of {base} is exact only for exponents from 0 to {largest}, not for "
    exact = f"CASE WHEN a BETWEEN 0 AND {largest} THEN power(b, a) WHEN a IS NULL THEN NULL"
    form = f"{exact} ELSE raise_error(concat(c, a)) END"
    return Value(sql(form, exponent, exp.Literal.number(f"{float(base)!r}D"), message), DOUBLE)


def _is_exact(number: int) -> bool:
    return abs(number) <= sys.float_info.max and int(float(number)) == number


def _literal(value: Value) -> Fraction | None:
    node, sign = (value.sql.this, -1) if isinstance(value.sql, exp.Neg) else (value.sql, 1)
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return sign * Fraction(node.name.rstrip("LD")) if is_number else None


def extreme(name: str) -> FunctionRule:
    """Return the rule of GREATEST or LEAST, null if an argument is null; Spark ignores nulls."""
    of_values = functions.of_common_type(name)

    def rule(c: Call) -> Value:
        value = of_values(c)
        # Engines order -0.0 and 0.0 differently, and Flink fails on a null DECIMAL.
        if value.type.is_float or value.type.is_decimal or not value.type.is_known:
            advice = types.advice([value.type], "write it as CASE WHEN a > b THEN a ELSE b END")
            raise c.refusal(f"does not support {value.type}", advice)
        nulls = [sql("a IS NULL", argument.sql.copy()) for argument in c.arguments]
        return Value(sql("CASE WHEN a THEN NULL ELSE b END", exp.or_(*nulls, copy=False), value.sql), value.type)

    return rule


SCALARS: dict[str, FunctionRule] = {
    "ceil": whole_number("ceil", "a > -1D AND a <= 0D THEN a * 0D"),
    "floor": whole_number("floor", "a = 0D THEN a"),
    "greatest": extreme("greatest"),
    "least": extreme("least"),
    "mod": modulo,
    "power": power,
    "round": round_,
}
NODES: dict[type[exp.Expr], NodeRule] = {exp.Ceil: form("ceil", "this"), exp.Floor: floor}

"""Flink's arithmetic and functions of numbers.

FLOAT is calculated with in 32 bits, and beside a DOUBLE the type of the left side decides. A BIGINT has 19 digits
beside a DECIMAL. Quotients of decimals are rounded half up.
"""

from __future__ import annotations

import sys
from fractions import Fraction

from sqlglot import exp

from airflow_provider_odf.dialect import arithmetic as shared
from airflow_provider_odf.dialect import numbers as double_numbers
from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.expressions import negation
from airflow_provider_odf.dialect.parameters import CONDITIONS, absolute, extreme, first_nullif
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, cast, converted, number, switch
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, FLOAT, INTERVAL, MAX_PRECISION, Type, decimal

_BIGINT_DIGITS = 19
_LEAST_SCALE = 6
_DOUBLE_DIGITS, _COMPACT_DIGITS = 15, 18
"""Digits that a DOUBLE holds exactly, and those up to which Flink keeps a DECIMAL as a whole number."""


def is_rounded_twice(type_: Type) -> bool:
    """Whether Flink makes a DECIMAL a DOUBLE by way of a whole number that has more digits than a DOUBLE holds."""
    return type_.name == "DECIMAL" and type_.scale > 0 and _DOUBLE_DIGITS < type_.precision <= _COMPACT_DIGITS


def refuse_rounded_twice(node: exp.Expr, *types_: Type) -> None:
    """:raises Refused: if one of the types becomes a DOUBLE in two steps, which may differ in the last bit."""
    for type_ in filter(is_rounded_twice, types_):
        advice = f"cast to DECIMAL({_COMPACT_DIGITS + 1},{type_.scale}) first"
        raise Refused(node, f"Flink rounds {type_} twice on its way to a DOUBLE", advice)


def _meets_double(left: Type, right: Type) -> bool:
    return any(a == DOUBLE and is_rounded_twice(b) for a, b in ((left, right), (right, left)))


def common(left: Type, right: Type) -> Type | None:
    """None also where Flink's choice depends on the order, and where it counts the digits of a BIGINT."""
    pair = {left.name, right.name}
    is_refused = pair in ({"FLOAT", "DOUBLE"}, {"FLOAT", "DECIMAL"}, {"BIGINT", "DECIMAL"}, {"DATE", "TIMESTAMP"})
    return None if is_refused or _meets_double(left, right) else types.common(left, right)


def compared(left: Type, right: Type) -> Type | None:
    """None where Flink compares in 32 bits, rounds twice, or does not compare."""
    is_refused = {left.name, right.name} in ({"FLOAT", "DOUBLE"}, {"DATE", "TIMESTAMP"})
    return None if is_refused or _meets_double(left, right) else types.common(left, right)


def is_member(value: Type, member: Type) -> bool:
    """Flink converts the list of an IN to the type of the value: 1 IN (1.5) is true, 1.5 IN (30) is null."""
    if value.is_integer:
        return member.is_integer or not member.is_numeric
    if value.name == "DECIMAL" and member.is_integer:
        return value.precision - value.scale >= types.as_decimal(member).precision
    return not (value.name == "DECIMAL" and member.is_float)


def calculated(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """+ - * / and %, also of times with intervals; overflow and division by zero stop the query."""
    sides = (left.type, right.type)
    if INTERVAL in sides:
        return shared.with_time(node, left, right)
    if not all(type_.is_numeric for type_ in sides):
        advice = SCHEMA_ADVICE if not all(type_.is_known for type_ in sides) else "cast them to numbers"
        raise Refused(node, f"{left.type} and {right.type} are not calculated with", advice)
    if isinstance(node, exp.Mod):
        return _rest(node, left, right)
    if any(type_.is_float for type_ in sides):
        return _floats(node, left, right)
    return (
        _decimals(node, left, right) if any(type_.name == "DECIMAL" for type_ in sides) else _whole(node, left, right)
    )


def _paren(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=type(node)(this=left, expression=right))


def _whole(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    shared_type = types.common(left.type, right.type)
    assert shared_type is not None  # noqa: S101 - both are whole numbers
    if isinstance(node, exp.Div):
        quotient = exp.Paren(this=exp.IntDiv(this=left.sql, expression=right.sql))
        return Typed(quotient if shared_type == BIGINT else cast(quotient, shared_type), shared_type)
    return Typed(_paren(node, converted(left, shared_type), converted(right, shared_type)), shared_type)


def _rest(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """% of whole numbers has the type of the divisor."""
    if left.type.is_integer and right.type.is_integer:
        rest = _paren(node, left.sql, right.sql)
        return Typed(rest if left.type == right.type else cast(rest, right.type), right.type)
    if left.type.is_float or right.type.is_float:
        raise Refused(node, "Flink has % for whole numbers and DECIMAL only", "cast them")
    return _decimals(node, left, right)


def _floats(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """In DOUBLE, then rounded where the result is FLOAT: that is exact, as a DOUBLE has more than twice the digits."""
    names = (left.type.name, right.type.name)
    refuse_rounded_twice(node, left.type, right.type)
    if "DECIMAL" in names:
        type_ = DOUBLE
    elif "FLOAT" in names and "DOUBLE" in names:
        type_ = left.type
    else:
        type_ = FLOAT if "FLOAT" in names else DOUBLE
    sides = [converted(Typed(converted(side, type_), type_), DOUBLE) for side in (left, right)]
    result = _paren(node, sides[0], sides[1])
    return Typed(result if type_ == DOUBLE else cast(result, type_), type_)


def as_decimal(type_: Type) -> Type:
    return decimal(_BIGINT_DIGITS, 0) if type_ == BIGINT else types.as_decimal(type_)


def _decimals(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    a, b = as_decimal(left.type), as_decimal(right.type)
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
    sides = [cast(side.sql, type_) for side, type_ in ((left, a), (right, b))]
    return Typed(_paren(node, *sides), decimal(precision, scale))


# --- functions -------------------------------------------------------------------------------------------------------


def _rounded(c: Call, name: str, of_double: FunctionRule) -> Typed:
    """Of a DECIMAL a DECIMAL of as many digits."""
    value = c.argument(0)
    if value.type.is_integer:
        return value
    if value.type.name == "DECIMAL":
        type_ = decimal(value.type.precision, 0)
        return Typed(cast(call(name, value.sql), type_), type_)
    return of_double(c)


def ceil(t: Translation, node: exp.Expr) -> Typed:
    return _floor_or_ceil(t, node, "ceil", double_numbers.ceil)


def floor(t: Translation, node: exp.Expr) -> Typed:
    return _floor_or_ceil(t, node, "floor", double_numbers.floor)


def _floor_or_ceil(t: Translation, node: exp.Expr, name: str, of_double: FunctionRule) -> Typed:
    if node.args.get("to") is None:
        return _rounded(Call(t, node, name, (t.expression(node.this),)), name, of_double)
    from airflow_provider_odf.dialect.flink.times import floor_to

    if name == "ceil":
        raise Refused(node, "CEIL of a time is not translated", "use FLOOR")
    return floor_to(t, node)


def round_(c: Call) -> Typed:
    """Half up by the decimal digits that a DOUBLE is written with, as Spark does."""
    c.expect(1, 2)
    value, digits = c.argument(0), c.argument(1).integer if len(c.arguments) == 2 else 0
    if digits is None or not 0 <= digits <= 15:
        raise c.refusal("takes a literal number of digits from 0 to 15 here")
    if value.type.is_integer:
        return value
    if value.type.name == "DECIMAL":
        kept = min(digits, value.type.scale)
        type_ = decimal(value.type.precision - value.type.scale + kept + (kept < value.type.scale), kept)
        return Typed(cast(value.sql, type_), type_)
    if value.type != DOUBLE:
        raise c.refusal(f"is not translated for {value.type}", "cast it to DOUBLE")
    return Typed(call("round", value.sql, number(digits)), DOUBLE)


def sign(c: Call) -> Typed:
    c.expect(1)
    value = c.argument(0)
    if value.type == DOUBLE:
        return Typed(call("signum", value.sql), DOUBLE)
    if not value.type.is_integer:
        raise c.refusal(f"is translated for whole numbers and DOUBLE, not {value.type}")
    return Typed(cast(call("signum", value.sql), value.type), value.type)


def power(c: Call) -> Typed:
    """Two literals whose power a DOUBLE holds exactly; of others the last bit depends on the library."""
    c.expect(2)
    base, exponent = (_literal(c.argument(i)) for i in (0, 1))
    if base is not None and exponent is not None and exponent.denominator == 1 and abs(exponent) <= 300 and base:
        exact = base ** int(exponent)
        if abs(exact) <= sys.float_info.max and Fraction(float(exact)) == exact:
            return Typed(exp.Literal.number(f"{float(exact)!r}D"), DOUBLE)
    raise c.refusal("the last bit may differ unless both arguments are literals with an exact result")


def _literal(argument: Typed) -> Fraction | None:
    node, factor = (argument.sql.this, -1) if isinstance(argument.sql, exp.Neg) else (argument.sql, 1)
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return factor * Fraction(node.name.rstrip("LD")) if is_number else None


def modulo(c: Call) -> Typed:
    c.expect(2)
    return _rest(exp.Mod(this=c.node.expressions[0], expression=c.node.expressions[1]), c.argument(0), c.argument(1))


def if_(t: Translation, node: exp.Expr) -> Typed:
    """IF(condition, value, other) is CASE with one branch."""
    if node.args.get("false") is None:
        raise Refused(node, "IF needs three arguments")
    branch = exp.If(this=node.this.copy(), true=node.args["true"].copy())
    return t.expression(exp.Case(ifs=[branch], default=node.args["false"].copy()))


def strict_extreme(name: str) -> FunctionRule:
    """GREATEST and LEAST are null where one argument is; Spark passes over nulls."""
    of_known = extreme(name)

    def rule(c: Call) -> Typed:
        result = of_known(c)
        if result.type.name == "DECIMAL":
            raise c.refusal("fails on nulls in Flink itself", "write it as CASE WHEN a > b THEN a ELSE b END")
        absent = [exp.Is(this=_grouped(a.sql.copy()), expression=exp.Null()) for a in c.arguments]
        return Typed(switch([(exp.or_(*absent, copy=False), exp.Null())], result.sql), result.type)

    return rule


def _grouped(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node


SCALARS: dict[str, FunctionRule] = {
    **{name: CONDITIONS[name] for name in ("coalesce", "ifnull")},
    "abs": absolute,
    "greatest": strict_extreme("greatest"),
    "least": strict_extreme("least"),
    "mod": modulo,
    "nullif": first_nullif,
    "pi": double_numbers.pi,
    "power": power,
    "round": round_,
    "sign": sign,
}
NODES: dict[type[exp.Expr], NodeRule] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), shared.chained(calculated)),
    exp.Ceil: ceil,
    exp.Floor: floor,
    exp.If: if_,
    exp.Neg: negation,
}

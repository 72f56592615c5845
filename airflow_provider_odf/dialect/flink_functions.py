"""Flink's functions of numbers, of dates and times, and of the greatest and least of values.

Times are in UTC, and parts of a time are BIGINT. Flink cuts a time of day before 1970 towards 1970 in some functions;
here the calendar holds.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from airflow_provider_odf.dialect import arithmetic, functions, ordering, types
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translator
from airflow_provider_odf.dialect.expressions import DATE_PATTERN, INTERVAL_UNITS
from airflow_provider_odf.dialect.functions import TEXT, TIME, TIMESTAMP, WHOLE, Parameter, by_type, form, row
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, cast, sql
from airflow_provider_odf.dialect.types import BIGINT, DATE, DOUBLE, INT, Type, decimal, timestamp
from airflow_provider_odf.manifest import time_format
from airflow_provider_odf.manifest.time_format import parts

_FLOORED = ("second", "minute", "hour", "day", "month", "quarter", "year")
_PARTS = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "weekofyear", "day": "day", "doy": "dayofyear",
    "dow": "dayofweek",
}  # fmt: skip
"""Parts of a date for EXTRACT, and Spark's functions that return them."""
_PARTS_OF_DAY = ("hour", "minute", "second")
_EXTRACT: dict[str, FunctionRule] = {
    "epoch": row("(unix_micros(CAST(a AS TIMESTAMP)) DIV 1000000)", TIME, result=BIGINT),
    **{part: row(f"CAST({name}(a) AS BIGINT)", TIME, result=BIGINT) for part, name in _PARTS.items()},
    **{part: row(f"CAST({part}(a) AS BIGINT)", TIMESTAMP, result=BIGINT) for part in _PARTS_OF_DAY},
}
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


def extract(t: Translator, node: exp.Expr) -> Value:
    part = node.this.name.lower()
    if part not in _EXTRACT:
        raise Refusal(node, f"EXTRACT of {part} is not supported", f"use one of {', '.join(_EXTRACT)}")
    return _EXTRACT[part](Call(t, node, f"EXTRACT of {part}", (t.expression(node.expression),)))


def floor_to(t: Translator, node: exp.Expr) -> Value:
    """Translate FLOOR(time TO unit)."""
    value, unit = t.expression(node.this), node.args["to"].name.lower()
    if unit not in _FLOORED or not value.type.is_time:
        advice = types.advice([value.type], f"use one of {', '.join(_FLOORED)}")
        raise Refusal(node, f"FLOOR of {value.type} to {unit} is not supported", advice)
    floor = sql("date_trunc(a, b)", unit, value.sql)
    return Value(cast(floor, DATE) if value.type == DATE else floor, value.type)


def _add(unit: str) -> FunctionRule:
    interval = f"make_interval({'0, ' * INTERVAL_UNITS[unit]}a)"
    moment = TIMESTAMP if unit in _PARTS_OF_DAY else TIME

    def rule(c: Call) -> Value:
        type_ = c.expect(2)[1].type
        sum_ = f"CAST((CAST(b AS TIMESTAMP) + {interval}) AS DATE)" if type_ == DATE else f"(b + {interval})"
        return Value(sql(sum_, WHOLE.of(c, 0), moment.of(c, 1)), type_)

    return rule


_DIFFERENCE = "CAST(((unix_micros(CAST(b AS TIMESTAMP)) - unix_micros(CAST(a AS TIMESTAMP))) DIV {}000000L) AS INT)"
"""Whole units, cut towards zero."""
_WITH_UNIT: dict[str, FunctionRule] = {
    **{f"timestampadd {unit}": _add(unit) for unit in INTERVAL_UNITS},
    **{
        f"timestampdiff {u}": row(_DIFFERENCE.format(seconds), TIME, TIME, result=INT)
        for u, seconds in _SECONDS.items()
    },
}


def scalar_or_aggregate(t: Translator, node: exp.Expr) -> Value:
    """Translate a call. TIMESTAMPADD and TIMESTAMPDIFF have the name of a unit as first argument."""
    if node.name.lower() not in ("timestampadd", "timestampdiff") or not node.expressions:
        return ordering.scalar_or_aggregate(t, node)
    unit, *arguments = node.expressions
    return t.call(node, _WITH_UNIT, arguments, f"{node.name} {unit.name}")


_TEXTS = {
    "DATE": rf"^{DATE_PATTERN}$",
    "TIMESTAMP": rf"^{DATE_PATTERN}( [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,3}})?)?$",
}
"""Strings that Flink and Spark parse alike."""
_READ = ("yyyy", "MM", "dd", "HH", "mm", "ss", "SSS")
"""Format letters that both engines parse alike. Both also format these, and those of the next constant, alike."""
_WRITTEN = (*_READ, "yy", "M", "d", "MMM", "MMMM", "EEE", "EEEE", "H", "m", "s", "hh", "a", "DDD")


def _format(letters: Collection[str], required: Collection[str] = ()) -> Parameter:
    """Return the kind of a literal format with these letters."""

    def accepts(value: Value) -> bool:
        all_parts = list(parts(value.text or ""))
        is_exact = all(p.letters in letters if p.letters else p.sign not in tuple("[]{}#'") for p in all_parts)
        return value.text is not None and is_exact and {*required} <= {part.letters for part in all_parts}

    needs = f" with {', '.join(required)}" if required else ""
    return Parameter(
        accepts, f"a literal format{needs}; possible letters are {' '.join(letters)}", "", lambda v: v.text or ""
    )


_READ_FORMAT, _WRITE_FORMAT = _format(_READ, required=("yyyy", "MM", "dd")), _format(_WRITTEN)


def read_time(text: exp.Expr | str | int, type_: Type, *, or_null: bool) -> exp.Expr:
    """Return text as a DATE or TIMESTAMP(3). With ``or_null`` text without a digit or with a letter is null; text that
    Flink may or may not read, such as ``2020-1-2``, stops the query."""
    no_time = "OR regexp_like(a, '^[^0-9]*$|[^-0-9 :.+/]')" if or_null else ""
    return sql(
        f"CASE WHEN regexp_like(a, b) THEN CAST(a AS {type_.ddl}) WHEN a IS NULL {no_time} THEN NULL "
        f"ELSE raise_error(concat('cannot parse as {type_.ddl} (correct or filter it first): ', a)) END",
        text,
        _TEXTS[type_.ddl],
    )


def _from_text(type_: Type) -> FunctionRule:
    """Return the rule of TO_TIMESTAMP or TO_DATE: null where text cannot be read. Flink reads by a format as leniently
    as Java; a day that does not exist stops the query here."""
    name = "to_date" if type_ == DATE else "to_timestamp"
    # Of other text Flink's TO_DATE makes dates in the year 1705471.
    no_time = "" if type_ == DATE else "OR regexp_like(a, '^[^+-]|^$')"
    by_format = (
        f"CASE WHEN regexp_like(a, b) THEN {name}(a, c) WHEN a IS NULL {no_time} THEN NULL "
        f"ELSE raise_error(concat('cannot parse as {type_.ddl} with ', c, ' (correct or filter it first): ', a)) END"
    )

    def rule(c: Call) -> Value:
        has_format = len(c.expect(1, 2)) == 2
        text = TEXT.of(c, 0)
        if not has_format:
            return Value(read_time(text, type_, or_null=True), type_)
        pattern = str(_READ_FORMAT.of(c, 1))
        return Value(sql(by_format, text, f"^{time_format.regex(pattern)}$", pattern), type_)

    return rule


_WHOLE = Parameter(lambda value: value.type.is_integer, "an integer", "cast it to BIGINT")


def to_timestamp_ltz(c: Call) -> Value:
    """Translate TO_TIMESTAMP_LTZ of seconds (precision 0) or milliseconds (3) since 1970."""
    value, *precision = c.expect(1, 2)
    name = {0: "timestamp_seconds", 3: "timestamp_millis"}.get(3 if not precision else precision[0].integer or 0)
    if name is None or (precision and precision[0].integer is None):
        raise c.refusal("takes a literal precision of 0 or 3")
    return row(f"{name}(CAST(a AS BIGINT))", _WHOLE, result=timestamp(3))(replace(c, arguments=[value]))


_FROM_UNIXTIME = (
    "CASE WHEN CAST(a AS BIGINT) > 253402300799L THEN raise_error('FROM_UNIXTIME: the value is after the year 9999') "
    "ELSE date_format(timestamp_seconds(CAST(a AS BIGINT)), b) END"
)


_DIGITS = functions.size(1, 15)
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
    return floor_to(t, node) if node.args.get("to") is not None else form("floor", "this")(t, node)


def round_(c: Call) -> Value:
    """Translate ROUND: half up by the decimal digits that a DOUBLE is written with, as Spark does."""
    digits = 0
    if len(c.expect(1, 2)) == 2:
        _DIGITS.of(c, 1)
        digits = c.arguments[1].integer or 0

    def rounded(type_: Type) -> Type:
        whole, scale = type_.precision - type_.scale, min(digits, type_.scale)
        return decimal(whole + scale + (scale < type_.scale), scale) if type_.is_decimal else type_

    templates = {"INTEGER": "a", "DECIMAL": "CAST(a AS {})", "DOUBLE": f"round(a, {digits})"}
    return by_type(templates, rounded)(replace(c, arguments=c.arguments[:1]))


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
    powers = (base ** (n + 1) for n in range(1, 2000))
    largest = next(n for n, p in enumerate(powers, 1) if abs(p) > sys.float_info.max or int(float(p)) != p)
    message = f"POWER of {base} is exact only for exponents from 0 to {largest}, not for "
    exact = f"CASE WHEN a BETWEEN 0 AND {largest} THEN power(b, a) WHEN a IS NULL THEN NULL"
    form = f"{exact} ELSE raise_error(concat(c, a)) END"
    return Value(sql(form, exponent, exp.Literal.number(f"{float(base)!r}D"), message), DOUBLE)


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
    **{name: _EXTRACT[name] for name in ("year", "quarter", "month", "week", "hour", "minute", "second")},
    "date_format": row("date_format", TIMESTAMP, _WRITE_FORMAT),
    "dayofmonth": _EXTRACT["day"],
    "dayofweek": _EXTRACT["dow"],
    "dayofyear": _EXTRACT["doy"],
    "from_unixtime": row(_FROM_UNIXTIME, _WHOLE, _WRITE_FORMAT, defaults=("yyyy-MM-dd HH:mm:ss",)),
    "to_date": _from_text(DATE),
    "to_timestamp": _from_text(timestamp(3)),
    "to_timestamp_ltz": to_timestamp_ltz,
    "ceil": whole_number("ceil", "a > -1D AND a <= 0D THEN a * 0D"),
    "floor": whole_number("floor", "a = 0D THEN a"),
    "greatest": extreme("greatest"),
    "least": extreme("least"),
    "mod": modulo,
    "power": power,
    "round": round_,
}
NODES: dict[type[exp.Expr], NodeRule] = {
    exp.Anonymous: scalar_or_aggregate,
    exp.Ceil: form("ceil", "this"),
    exp.Extract: extract,
    exp.Floor: floor,
}

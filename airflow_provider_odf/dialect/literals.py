"""Translate literals: numbers, texts, dates, times, and intervals such as ``INTERVAL '1 day 2 hours'``."""

from __future__ import annotations

import math
import re

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.engine import NodeRule, Translator
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, call, cast
from airflow_provider_odf.dialect.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Type, decimal, timestamp

_LARGEST_INT, _LARGEST_BIGINT = 2**31 - 1, 2**63 - 1
DATE_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP_PATTERN = (
    rf"{DATE_PATTERN}([ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,9}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?"
)
INTERVAL_UNITS = {"year": 0, "month": 1, "week": 2, "day": 3, "hour": 4, "minute": 5, "second": 6}
"""Units of intervals, with their positions in the arguments of Spark's make_interval."""
_INTERVAL_PART = re.compile(r"([+-]?\d+)\s*([A-Za-z]+)\s*")


def literal(t: Translator, node: exp.Expr) -> Value:
    """Translate a literal. Whole numbers are INT or BIGINT by size, others DECIMAL, or DOUBLE with an exponent."""
    if node.args.get("is_string"):
        return Value(exp.Literal.string(node.name), STRING)
    if node.name.isdigit():
        return _whole(node)
    if "e" in node.name.lower():
        if math.isinf(float(node.name)):
            raise Refusal(node, f"{_shorten(node.name)} is out of range for DOUBLE")
        return Value(exp.Literal.number(f"{node.name}D"), DOUBLE)
    whole, _, fraction = node.name.partition(".")
    if len(whole) + len(fraction) > types.MAX_PRECISION:
        raise Refusal(
            node, f"the number has more than {types.MAX_PRECISION} digits", "write fewer, or with an exponent"
        )
    type_, number = decimal(len(whole) + len(fraction), len(fraction)), exp.Literal.number(node.name)
    # Spark does not count the zero before the point.
    return Value(cast(number, type_) if whole.startswith("0") else number, type_)


def _whole(node: exp.Expr) -> Value:
    digits = node.name.lstrip("0") or "0"
    if len(digits) > len(str(_LARGEST_BIGINT)) or int(digits) > _LARGEST_BIGINT:
        raise Refusal(node, f"{_shorten(node.name)} is out of range for BIGINT")
    is_int = int(digits) <= _LARGEST_INT
    return Value(exp.Literal.number(digits if is_int else f"{digits}L"), INT if is_int else BIGINT)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def time_literal(node: exp.Expr, text: str, type_: Type) -> Value:
    """Return a text as a DATE or TIMESTAMP; without a zone it is UTC.

    :raises Refusal: engines may parse the text in different ways."""
    is_date = type_ == DATE
    if not re.fullmatch(DATE_PATTERN if is_date else _TIMESTAMP_PATTERN, text):
        form = "YYYY-MM-DD" if is_date else "YYYY-MM-DD hh:mm:ss, with Z or +hh:mm for a zone"
        raise Refusal(node, f"'{text}' is not a {'date' if is_date else 'time'}", f"write it as {form}")
    return Value(cast(exp.Literal.string(text), type_), DATE if is_date else timestamp())


def interval_parts(node: exp.Expr) -> list[int]:
    """Return the arguments of make_interval for a literal interval.

    :raises Refusal: the interval has fractions or unknown units."""
    unit, value = node.args.get("unit"), node.this
    if not isinstance(node, exp.Interval) or not isinstance(value, exp.Literal):
        raise Refusal(node, "an interval must be a literal, such as INTERVAL '1 day'")
    if unit is not None and not isinstance(unit, exp.Var):
        raise Refusal(node, "intervals of the form A TO B are not supported", "write INTERVAL '1 day 2 hours'")
    text = f"{value.name} {unit.name if unit is not None else ''}".strip()
    parts = [0] * len(INTERVAL_UNITS)
    for count, name in _INTERVAL_PART.findall(text):
        place = INTERVAL_UNITS.get(name.lower().removesuffix("s"))
        if place is None:
            raise Refusal(node, f"the unit {name} of the interval is not supported")
        parts[place] += int(count)
    if _INTERVAL_PART.sub("", text) or not text:
        advice = "write integers with units, such as '1 day 2 hours'"
        raise Refusal(node, f"INTERVAL '{text}' is not supported", advice)
    if max(map(abs, parts)) > _LARGEST_INT:
        raise Refusal(node, "the interval is too long", f"at most {_LARGEST_INT} of each unit")
    return parts


NODES: dict[type[exp.Expr], NodeRule] = {
    exp.Boolean: lambda t, node: Value(node.copy(), BOOLEAN),
    exp.Interval: lambda t, node: Value(call("make_interval", *interval_parts(node)), types.INTERVAL),
    exp.Literal: literal,
    exp.Null: lambda t, node: Value(exp.Null(), types.NULL),
    exp.Star: lambda t, node: Value(exp.Star(), BIGINT),
}

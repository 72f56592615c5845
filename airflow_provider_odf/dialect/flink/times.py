"""Flink's functions of dates and times, in UTC. Parts of a time are BIGINT.

Flink cuts a time of day before 1970 towards 1970 in some functions; here the calendar holds.
"""

from __future__ import annotations

import re

from sqlglot import exp

from airflow_provider_odf.dialect import calls
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.literals import DATE_PATTERN, INTERVAL_UNITS
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import (
    SCHEMA_ADVICE,
    Typed,
    as_int,
    call,
    cast,
    fail,
    is_like,
    is_null,
    number,
    paren,
    switch,
)
from airflow_provider_odf.dialect.types import BIGINT, DATE, INT, STRING, Type, timestamp
from airflow_provider_odf.manifest.time_format import parts

_FLOORED = ("second", "minute", "hour", "day", "month", "quarter", "year")
_OF_DATE = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "weekofyear", "day": "day", "doy": "dayofyear",
    "dow": "dayofweek",
}  # fmt: skip
"""Parts of a date, and the functions that give them on Spark."""
_OF_TIME = {**_OF_DATE, "hour": "hour", "minute": "minute", "second": "second"}
_FUNCTIONS = {
    **{name: name for name in ("year", "quarter", "month", "week", "hour", "minute", "second")},
    "dayofyear": "doy", "dayofmonth": "day", "dayofweek": "dow",
}  # fmt: skip
"""Functions that give a part of a time."""
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_LAST_SECOND = "253402300799L"
"""The last one of the year 9999."""


def _is_date_or_time(type_: Type) -> bool:
    return type_ == DATE or type_.is_timestamp


# --- parts -----------------------------------------------------------------------------------------------------------


def _part(node: exp.Expr, field: str, value: Typed) -> Typed:
    if not value.type.is_known:
        raise Refused(node, "the type of the date or time is not known", SCHEMA_ADVICE)
    functions = _OF_TIME if value.type.is_timestamp else _OF_DATE if value.type == DATE else {}
    if field == "epoch" and functions:
        return Typed(paren(exp.IntDiv, _micros(value), number(1_000_000)), BIGINT)
    if field not in functions:
        advice = f"parts: epoch, {', '.join(functions)}" if functions else ""
        raise Refused(node, f"{field} of {value.type} is not translated", advice)
    return Typed(cast(call(functions[field], value.sql), BIGINT), BIGINT)


def _micros(value: Typed) -> exp.Expr:
    return call("unix_micros", cast(value.sql, timestamp()))


def extract(t: Translation, node: exp.Expr) -> Typed:
    return _part(node, node.this.name.lower(), t.expression(node.expression))


def part_function(field: str) -> FunctionRule:
    return lambda c: _part(c.node, field, c.only())


def floor_to(t: Translation, node: exp.Expr) -> Typed:
    """FLOOR(time TO unit)."""
    value, unit = t.expression(node.this), node.args["to"].name.lower()
    if unit not in _FLOORED or not _is_date_or_time(value.type):
        raise Refused(node, f"FLOOR of {value.type} to {unit} is not translated", f"units: {', '.join(_FLOORED)}")
    floored = call("date_trunc", unit, value.sql)
    return Typed(cast(floored, DATE) if value.type == DATE else floored, value.type)


# --- arithmetic with units -------------------------------------------------------------------------------------------


def anonymous(t: Translation, node: exp.Expr) -> Typed:
    """A call. TIMESTAMPADD and TIMESTAMPDIFF have the name of a unit as first argument."""
    rule = {"timestampadd": _timestampadd, "timestampdiff": _timestampdiff}.get(node.name.lower())
    if rule is None:
        return calls.anonymous(t, node)
    unit = node.expressions[0].name.lower() if len(node.expressions) == 3 else ""
    if unit not in INTERVAL_UNITS:
        raise Refused(node, f"{node.name} takes a unit ({', '.join(INTERVAL_UNITS)}) and two arguments")
    return rule(Call(t, node, node.name, t.expressions(node.expressions[1:])), unit)


def _timestampadd(c: Call, unit: str) -> Typed:
    amount, value = c.arguments
    is_of_day = unit in ("hour", "minute", "second")
    if not amount.type.is_integer or not (value.type.is_timestamp or (value.type == DATE and not is_of_day)):
        raise c.refusal(f"is not translated for {amount.type} {unit}s and {value.type}")
    interval = call("make_interval", *[0] * INTERVAL_UNITS[unit], as_int(amount))
    moved = paren(exp.Add, value.sql if value.type != DATE else cast(value.sql, timestamp()), interval)
    return Typed(cast(moved, DATE) if value.type == DATE else moved, value.type)


def _timestampdiff(c: Call, unit: str) -> Typed:
    """Whole units, cut towards zero."""
    start, end = c.arguments
    if unit not in _SECONDS or not all(_is_date_or_time(side.type) for side in c.arguments):
        raise c.refusal(f"of {start.type} and {end.type} in {unit}s is not translated", f"units: {', '.join(_SECONDS)}")
    length = number(f"{_SECONDS[unit] * 1_000_000}L")
    return Typed(cast(paren(exp.IntDiv, paren(exp.Sub, _micros(end), _micros(start)), length), INT), INT)


# --- from and to text ------------------------------------------------------------------------------------------------

_TEXTS = {
    "DATE": rf"^{DATE_PATTERN}$",
    "TIMESTAMP": rf"^{DATE_PATTERN}( [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,3}})?)?$",
}
"""Texts that Flink and Spark read alike."""
_READ = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2, "SSS": 3}
"""Letters of formats by which both read, and their digits."""
_WRITTEN = {*_READ, "yy", "M", "d", "MMM", "MMMM", "EEE", "EEEE", "H", "m", "s", "hh", "a", "DDD"}
"""Letters of formats by which both write."""


def read_time(value: exp.Expr, type_: Type, *, or_null: bool) -> exp.Expr:
    """Return text as a DATE or TIMESTAMP(3). With ``or_null`` text without a digit or with a letter is null; text that
    Flink may or may not read, such as ``2020-1-2``, stops the query."""
    branches = [(is_like(value, _TEXTS[type_.name]), cast(value, type_)), (is_null(value), exp.Null())]
    if or_null:
        branches.append((is_like(value, "^[^0-9]*$|[^-0-9 :.+/]"), exp.Null()))
    return switch(branches, fail(f"cannot read as {type_.name}", type_, value))


def _format(c: Call, allowed: set[str]) -> str:
    """Return the second argument, a literal format with no other letters than those allowed."""
    text = c.text(1)
    if any((part.letters and part.letters not in allowed) or part.sign in tuple("[]{}#'") for part in parts(text)):
        raise c.refusal(f"the format '{text}' is not translated", f"letters: {' '.join(sorted(allowed))}")
    return text


def _by_format(c: Call, type_: Type) -> exp.Expr:
    """Text of a format, which Flink reads as leniently as Java: a day that does not exist stops the query here."""
    text, pattern = c.string(0), _format(c, set(_READ))
    if not {"yyyy", "MM", "dd"} <= {part.letters for part in parts(pattern)}:
        raise c.refusal(f"the format '{pattern}' is not translated", "it needs yyyy, MM and dd")
    shape = "".join(
        f"[0-9]{{{_READ[part.letters]}}}" if part.letters else re.sub(r"([^\w\s])", r"\\\1", part.text)
        for part in parts(pattern)
    )
    read = call("to_date" if type_ == DATE else "to_timestamp", text.copy(), pattern)
    branches = [(is_like(text, f"^{shape}$"), read), (is_null(text), exp.Null())]
    # Of other text Flink's TO_DATE makes dates in the year 1705471.
    branches += [] if type_ == DATE else [(is_like(text, "^[^+-]|^$"), exp.Null())]
    return switch(branches, fail(f"cannot read as {type_.name}", type_, text))


def from_text(type_: Type) -> FunctionRule:
    """TO_TIMESTAMP and TO_DATE of text: null where it cannot be read."""

    def rule(c: Call) -> Typed:
        c.expect(1, 2)
        read = _by_format(c, type_) if len(c.arguments) == 2 else read_time(c.string(0), type_, or_null=True)
        return Typed(read, type_)

    return rule


def to_timestamp_ltz(c: Call) -> Typed:
    """Seconds (precision 0) or milliseconds (3) since 1970."""
    c.expect(1, 2)
    function = {0: "timestamp_seconds", 3: "timestamp_millis"}.get(c.size(1) if len(c.arguments) == 2 else 3)
    if function is None or not c.argument(0).type.is_integer:
        raise c.refusal("is translated for whole numbers with precision 0 or 3")
    return Typed(call(function, cast(c.argument(0).sql, BIGINT)), timestamp(3))


def date_format(c: Call) -> Typed:
    c.expect(2)
    if not c.argument(0).type.is_timestamp:
        raise c.refusal(f"takes a TIMESTAMP here, not {c.argument(0).type}")
    return Typed(call("date_format", c.argument(0).sql, _format(c, _WRITTEN)), STRING)


def from_unixtime(c: Call) -> Typed:
    c.expect(1, 2)
    if not c.argument(0).type.is_integer:
        raise c.refusal(f"takes a whole number, not {c.argument(0).type}")
    pattern = _format(c, _WRITTEN) if len(c.arguments) == 2 else "yyyy-MM-dd HH:mm:ss"
    seconds = cast(c.argument(0).sql, BIGINT)
    is_later = exp.GT(this=seconds.copy(), expression=number(_LAST_SECOND))
    text = call("date_format", call("timestamp_seconds", seconds), pattern)
    return Typed(switch([(is_later, fail("FROM_UNIXTIME after the year 9999", STRING))], text), STRING)


SCALARS: dict[str, FunctionRule] = {
    **{name: part_function(field) for name, field in _FUNCTIONS.items()},
    "date_format": date_format,
    "from_unixtime": from_unixtime,
    "to_date": from_text(DATE),
    "to_timestamp": from_text(timestamp(3)),
    "to_timestamp_ltz": to_timestamp_ltz,
}
NODES: dict[type[exp.Expr], NodeRule] = {exp.Anonymous: anonymous, exp.Extract: extract}

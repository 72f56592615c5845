"""Flink's functions of dates and times, in UTC. Parts of a time are BIGINT.

Flink cuts a time of day before 1970 towards 1970 in some functions; here the calendar holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect.calls import anonymous as call_of
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.time_text import DATE_PATTERN
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, as_int, call, cast, fail, number, switch
from airflow_provider_odf.dialect.types import BIGINT, DATE, INT, STRING, Type, timestamp

_TRUNCATED = ("second", "minute", "hour", "day", "month", "quarter", "year")
_PARTS: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "year": lambda value: call("year", value),
    "quarter": lambda value: call("quarter", value),
    "month": lambda value: call("month", value),
    "week": lambda value: call("weekofyear", value),
    "day": lambda value: call("day", value),
    "doy": lambda value: call("dayofyear", value),
    "dow": lambda value: call("dayofweek", value),
    "isodow": lambda value: exp.Paren(this=exp.Add(this=call("weekday", value), expression=number(1))),
    "isoyear": lambda value: call("date_part", "YEAROFWEEK", value),
}
_OF_DAY: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    name: lambda value, name=name: call(name, value)  # type: ignore[misc]
    for name in ("hour", "minute", "second")
}
_FUNCTIONS = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "week", "dayofyear": "doy", "dayofmonth": "day",
    "dayofweek": "dow", "hour": "hour", "minute": "minute", "second": "second",
}  # fmt: skip
_UNITS = {"year": 1, "quarter": 3, "month": 1, "week": 7, "day": 1, "hour": 3, "minute": 1, "second": 1}
_YEAR_10000 = 253_402_300_799
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


def is_time(value: Typed) -> bool:
    return value.type.name == "TIMESTAMP"


# --- parts -----------------------------------------------------------------------------------------------------------


def _part(node: exp.Expr, field: str, value: Typed) -> Typed:
    if not value.type.is_known:
        raise Refused(node, "the type of the date or time is not known", SCHEMA_ADVICE)
    if field == "epoch" and (is_time(value) or value.type == DATE):
        micros = call("unix_micros", cast(value.sql, timestamp()))
        return Typed(exp.Paren(this=exp.IntDiv(this=micros, expression=number(1_000_000))), BIGINT)
    parts = {**_PARTS, **_OF_DAY} if is_time(value) else _PARTS if value.type == DATE else {}
    if field not in parts:
        known = f"parts: epoch, {', '.join(parts)}" if parts else ""
        raise Refused(node, f"{field} of {value.type} is not translated", known)
    return Typed(cast(parts[field](value.sql), BIGINT), BIGINT)


def extract(t: Translation, node: exp.Expr) -> Typed:
    return _part(node, node.this.name.lower(), t.expression(node.expression))


def part_function(field: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        return _part(c.node, field, c.argument(0))

    return rule


def floor_to(t: Translation, node: exp.Expr) -> Typed:
    """FLOOR(time TO unit)."""
    value, unit = t.expression(node.this), node.args["to"].name.lower()
    if unit not in _TRUNCATED or not (is_time(value) or value.type == DATE):
        raise Refused(node, f"FLOOR of {value.type} to {unit} is not translated", f"units: {', '.join(_TRUNCATED)}")
    floored = call("date_trunc", unit, value.sql)
    return Typed(floored if is_time(value) else cast(floored, DATE), value.type)


# --- arithmetic with units -------------------------------------------------------------------------------------------


def anonymous(t: Translation, node: exp.Expr) -> Typed:
    """A call; of those whose first argument is the name of a unit, the others are arguments."""
    functions = {"timestampadd": _timestampadd, "timestampdiff": _timestampdiff}
    rule = functions.get(node.name.lower())
    if rule is None:
        return call_of(t, node)
    if len(node.expressions) != 3 or node.expressions[0].name.lower() not in _UNITS:
        raise Refused(node, f"{node.name} takes a unit ({', '.join(_UNITS)}) and two arguments")
    return rule(Call(t, node, node.name, t.expressions(node.expressions[1:])), node.expressions[0].name.lower())


def _timestampadd(c: Call, unit: str) -> Typed:
    amount, value = c.argument(0), c.argument(1)
    is_of_day = unit in ("hour", "minute", "second")
    if not amount.type.is_integer or not (is_time(value) or (value.type == DATE and not is_of_day)):
        raise c.refusal(f"is not translated for {amount.type} {unit}s and {value.type}")
    place = {"year": 0, "quarter": 1, "month": 1, "week": 3, "day": 3, "hour": 4, "minute": 5, "second": 6}[unit]
    factor = _UNITS[unit] if unit in ("quarter", "week") else 1
    count = as_int(amount)
    scaled = count if factor == 1 else exp.Paren(this=exp.Mul(this=exp.Paren(this=count), expression=number(factor)))
    interval = call("make_interval", *[0] * place, scaled)
    start = value.sql if is_time(value) else cast(value.sql, timestamp())
    moved = exp.Paren(this=exp.Add(this=start, expression=interval))
    return Typed(moved if is_time(value) else cast(moved, DATE), value.type)


def _timestampdiff(c: Call, unit: str) -> Typed:
    """Whole units, cut towards zero."""
    start, end = c.argument(0), c.argument(1)
    if unit not in _SECONDS or not all(is_time(side) or side.type == DATE for side in (start, end)):
        raise c.refusal(f"of {start.type} and {end.type} in {unit}s is not translated", f"units: {', '.join(_SECONDS)}")
    micros = [call("unix_micros", cast(side.sql, timestamp())) for side in (end, start)]
    difference = exp.Paren(this=exp.Sub(this=micros[0], expression=micros[1]))
    length = exp.Literal.number(f"{_SECONDS[unit] * 1_000_000}L")
    return Typed(cast(exp.Paren(this=exp.IntDiv(this=difference, expression=length)), INT), INT)


# --- from and to text ------------------------------------------------------------------------------------------------

_TIMESTAMP_TEXT = rf"^{DATE_PATTERN}( [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,3}})?)?$"
_DATE_TEXT = rf"^{DATE_PATTERN}$"
_DIGITS = {"yyyy": "[0-9]{4}", "MM": "[0-9]{2}", "dd": "[0-9]{2}", "HH": "[0-9]{2}", "mm": "[0-9]{2}",
           "ss": "[0-9]{2}", "SSS": "[0-9]{3}"}  # fmt: skip
_WRITTEN = (*_DIGITS, "yy", "M", "d", "MMM", "MMMM", "EEE", "EEEE", "H", "m", "s", "hh", "a", "DDD")
_FORMAT_TOKEN = re.compile(
    r"(?P<letters>(?P<letter>[A-Za-z])(?P=letter)*)|'(?P<quoted>(?:[^']|'')*)'|(?P<sign>[^A-Za-z'])"
)


def parsed(value: exp.Expr, type_: Type, *, or_null: bool) -> exp.Expr:
    """Text as a DATE or TIMESTAMP(3). With ``or_null`` text without a digit or with a letter is null; text that Flink
    may or may not read, such as ``2020-1-2``, stops the query."""
    pattern = _DATE_TEXT if type_ == DATE else _TIMESTAMP_TEXT
    branches = [(_is_like(value, pattern), cast(value, type_)), (_is_null(value), exp.Null())]
    if or_null:
        branches.append((_is_like(value, "^[^0-9]*$|[^-0-9 :.+/]"), exp.Null()))
    return switch(branches, _unreadable(value, type_))


def _by_format(c: Call, type_: Type) -> exp.Expr:
    """Text of the format, which Flink reads as leniently as Java: a day that does not exist stops the query here."""
    pattern, text = c.text(1), c.string(0).sql
    tokens = list(_FORMAT_TOKEN.finditer(pattern))
    letters = [token["letters"] for token in tokens if token["letters"]]
    if "".join(t.group() for t in tokens) != pattern or not {"yyyy", "MM", "dd"} <= set(letters) <= set(_DIGITS):
        raise c.refusal(f"the format '{pattern}' is not translated", f"letters: {' '.join(_DIGITS)}, the date complete")
    shape = "".join(_shape(token) for token in tokens)
    reading = call("to_timestamp" if type_ != DATE else "to_date", text.copy(), pattern)
    branches = [(_is_like(text, f"^{shape}$"), reading), (_is_null(text), exp.Null())]
    # Of other text Flink's TO_DATE makes dates in the year 1705471.
    branches += [] if type_ == DATE else [(_is_like(text, "^[^+-]|^$"), exp.Null())]
    return switch(branches, _unreadable(text, type_))


def _shape(token: re.Match[str]) -> str:
    if token["letters"]:
        return _DIGITS[token["letters"]]
    quoted = token["quoted"]
    plain = token["sign"] if quoted is None else (quoted or "'").replace("''", "'")
    return "".join(f"\\{char}" if not char.isalnum() and not char.isspace() else char for char in plain)


def _is_like(value: exp.Expr, pattern: str) -> exp.Expr:
    return call("regexp_like", value.copy(), pattern)


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _unreadable(value: exp.Expr, type_: Type) -> exp.Expr:
    return cast(call("raise_error", call("concat", f"cannot read as {type_.name}: ", value.copy())), type_)


def from_text(type_: Type) -> FunctionRule:
    """TO_TIMESTAMP and TO_DATE of text: null where it cannot be read."""

    def rule(c: Call) -> Typed:
        c.expect(1, 2)
        if len(c.arguments) == 2:
            return Typed(_by_format(c, type_), type_)
        return Typed(parsed(c.string(0).sql, type_, or_null=True), type_)

    return rule


def to_timestamp_ltz(c: Call) -> Typed:
    """Seconds (precision 0) or milliseconds (3) since 1970."""
    c.expect(1, 2)
    precision = c.argument(1).integer if len(c.arguments) == 2 else 3
    if precision not in (0, 3) or not c.argument(0).type.is_integer:
        raise c.refusal("is translated for whole numbers with precision 0 or 3")
    ticks = cast(c.argument(0).sql, BIGINT)
    function = "timestamp_millis" if precision else "timestamp_seconds"
    return Typed(call(function, ticks), timestamp("ms", is_zoned=True))


def _written(c: Call, index: int) -> str:
    pattern = c.text(index)
    tokens = list(_FORMAT_TOKEN.finditer(pattern))
    unknown = [t["letters"] for t in tokens if t["letters"] and t["letters"] not in _WRITTEN]
    if (
        unknown
        or "".join(t.group() for t in tokens) != pattern
        or any(t["sign"] in "[]{}#" for t in tokens if t["sign"])
    ):
        raise c.refusal(f"the format '{pattern}' is not translated", f"letters: {' '.join(_WRITTEN)}")
    return pattern


def date_format(c: Call) -> Typed:
    c.expect(2)
    if not is_time(c.argument(0)):
        raise c.refusal(f"takes a TIMESTAMP here, not {c.argument(0).type}")
    return Typed(call("date_format", c.argument(0).sql, _written(c, 1)), STRING)


def from_unixtime(c: Call) -> Typed:
    c.expect(1, 2)
    if not c.argument(0).type.is_integer:
        raise c.refusal(f"takes a whole number, not {c.argument(0).type}")
    pattern = _written(c, 1) if len(c.arguments) == 2 else "yyyy-MM-dd HH:mm:ss"
    seconds = cast(c.argument(0).sql, BIGINT)
    is_later = exp.GT(this=seconds.copy(), expression=exp.Literal.number(f"{_YEAR_10000}L"))
    text = call("date_format", call("timestamp_seconds", seconds), pattern)
    return Typed(switch([(is_later, fail("FROM_UNIXTIME after the year 9999", STRING))], text), STRING)


SCALARS: dict[str, FunctionRule] = {
    **{name: part_function(field) for name, field in _FUNCTIONS.items()},
    "date_format": date_format,
    "from_unixtime": from_unixtime,
    "to_date": from_text(DATE),
    "to_timestamp": from_text(timestamp("ms")),
    "to_timestamp_ltz": to_timestamp_ltz,
}
NODES: dict[type[exp.Expr], NodeRule] = {exp.Extract: extract}

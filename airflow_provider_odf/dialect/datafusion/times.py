"""DataFusion's functions of dates and times. Times are UTC; what is finer than a microsecond is cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from airflow_provider_odf.dialect import intervals, time_format
from airflow_provider_odf.dialect.datafusion.casts import convert
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.parameters import whole
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.time_text import checked
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, cast, number
from airflow_provider_odf.dialect.types import BIGINT, DATE, DOUBLE, INT, STRING, Type, timestamp

_TRUNCATED = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
_SECOND = 1_000_000
_Format = TypeVar("_Format")


def _is_time(value: Typed) -> bool:
    return value.type.name == "TIMESTAMP"


# --- from numbers and text -------------------------------------------------------------------------------------------


def to_timestamp(unit: str, ticks: str, per_second: int | None = None) -> FunctionRule:
    """to_timestamp and its kin: whole numbers count in a unit from 1970, text is ISO 8601 or of the formats given.

    ``ticks`` is Spark's function of such a number. Text is cut towards 1970 to ``per_second`` parts of a second."""

    def rule(c: Call) -> Typed:
        value, type_ = c.argument(0), timestamp(unit)
        if len(c.arguments) == 1 and value.type.is_integer:
            return Typed(call(ticks, cast(value.sql, BIGINT)), type_)
        if len(c.arguments) == 1 and not value.type.is_known and per_second:
            return Typed(call(ticks, convert(c.node, value, BIGINT).sql), type_)
        if _is_time(value) and per_second is None:
            return Typed(value.sql, type_)
        if value.type.is_known and value.type != STRING:
            raise c.refusal(f"is translated for whole numbers and strings here, not {value.type}")
        form = _by_formats(c) if len(c.arguments) > 1 else convert(c.node, value, timestamp("ns")).sql
        return Typed(call(ticks, _since_1970(form, per_second)) if per_second else form, type_)

    return rule


def _since_1970(value: exp.Expr, per_second: int = 1) -> exp.Expr:
    """Whole parts of a second since 1970, cut towards 1970."""
    step = exp.Literal.number(1_000_000 // per_second)
    return exp.Paren(this=exp.IntDiv(this=call("unix_micros", cast(value, timestamp())), expression=step))


def _by_formats(c: Call) -> exp.Expr:
    if len(c.arguments) > 2:
        advice = "give one, and choose by CASE WHEN regexp_like(text, …)"
        raise c.refusal("which of several formats reads a text may differ", advice)
    return _by_format(c, timestamp())


def _by_format(c: Call, type_: Type) -> exp.Expr:
    """Text that does not fit the format stops the query."""
    text = c.string(0).sql
    reading = _format(c, time_format.to_read)
    read = call("to_date" if type_ == DATE else "to_timestamp", text, reading.java)
    return checked(text, reading.texts, read, type_)


def _format(c: Call, translate: Callable[[str], _Format]) -> _Format:
    try:
        return translate(c.text(1))
    except ValueError as error:
        raise c.refusal(str(error)) from None


def from_nanoseconds(c: Call) -> Typed:
    c.expect(1)
    if not c.argument(0).type.is_integer:
        raise c.refusal(f"is translated for whole numbers here, not {c.argument(0).type}")
    micros = exp.Paren(this=exp.IntDiv(this=c.argument(0).sql, expression=number(1000)))
    return Typed(call("timestamp_micros", micros), timestamp("ns"))


def to_date(c: Call) -> Typed:
    if len(c.arguments) == 1:
        return convert(c.node, c.argument(0), DATE)
    c.expect(2)
    return Typed(_by_format(c, DATE), DATE)


def from_unixtime(c: Call) -> Typed:
    c.expect(1)
    if not c.argument(0).type.is_integer:
        raise c.refusal(f"takes a whole number, not {c.argument(0).type}")
    return Typed(call("timestamp_seconds", c.argument(0).sql), timestamp("s"))


def make_date(c: Call) -> Typed:
    c.expect(3)
    return Typed(call("make_date", *[whole(c, i) for i in range(3)]), DATE)


# --- to numbers and text ---------------------------------------------------------------------------------------------


def to_unixtime(c: Call) -> Typed:
    """Seconds since 1970, cut towards zero."""
    c.expect(1)
    value = c.argument(0)
    if value.type == DATE:
        return Typed(call("unix_seconds", cast(value.sql, timestamp())), BIGINT)
    if not _is_time(value):
        raise c.refusal(f"takes a TIMESTAMP or a DATE here, not {value.type}", "use to_timestamp first")
    return Typed(_since_1970(value.sql), BIGINT)


def to_char(c: Call) -> Typed:
    c.expect(2)
    if not (_is_time(c.argument(0)) or c.argument(0).type == DATE):
        raise c.refusal(f"takes a TIMESTAMP or a DATE here, not {c.argument(0).type}")
    return Typed(call("date_format", c.argument(0).sql, _format(c, time_format.to_write)), STRING)


def _spark_part(name: str, shift: int = 0) -> Callable[[exp.Expr], exp.Expr]:
    def part(value: exp.Expr) -> exp.Expr:
        found = call(name, value)
        return exp.Paren(this=exp.Add(this=found, expression=number(shift))) if shift else found

    return part


def _second_times(factor: int) -> Callable[[exp.Expr], exp.Expr]:
    def part(value: exp.Expr) -> exp.Expr:
        seconds = call("date_part", "SECOND", value)
        return cast(exp.Mul(this=seconds, expression=number(factor)), INT)

    return part


_OF_DATES: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "year": _spark_part("year"),
    "quarter": _spark_part("quarter"),
    "month": _spark_part("month"),
    "week": _spark_part("weekofyear"),
    "day": _spark_part("day"),
    "doy": _spark_part("dayofyear"),
    "dow": _spark_part("dayofweek", -1),
    "isodow": _spark_part("weekday", 1),
    "isoyear": lambda value: call("date_part", "YEAROFWEEK", value),
}
_OF_TIMES: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    **_OF_DATES,
    "hour": _spark_part("hour"),
    "minute": _spark_part("minute"),
    "second": _spark_part("second"),
    "millisecond": _second_times(1000),
    "microsecond": _second_times(_SECOND),
}


def _part(node: exp.Expr, field: str, value: Typed) -> Typed:
    field = field.lower()
    if field == "epoch":
        return _epoch(node, value)
    if not value.type.is_known:
        raise Refused(node, "the type of the date or time is not known", SCHEMA_ADVICE)
    parts = _OF_TIMES if _is_time(value) else _OF_DATES if value.type == DATE else {}
    if field not in parts:
        raise Refused(
            node, f"{field} of {value.type} is not translated", f"parts: epoch, {', '.join(parts)}" if parts else ""
        )
    return Typed(parts[field](value.sql), INT)


def _epoch(node: exp.Expr, value: Typed) -> Typed:
    if value.type == DATE:
        return Typed(cast(call("unix_seconds", cast(value.sql, timestamp())), DOUBLE), DOUBLE)
    # A count of nanoseconds is rounded once more on its way to a DOUBLE.
    if not _is_time(value) or value.type.unit not in ("s", "ms", "us"):
        raise Refused(node, f"epoch of {value.type} in nanoseconds has no exact form", "use to_unixtime")
    micros = cast(call("unix_micros", cast(value.sql, timestamp())), DOUBLE)
    return Typed(exp.Paren(this=exp.Div(this=micros, expression=exp.Literal.number("1000000D"))), DOUBLE)


def date_part(c: Call) -> Typed:
    c.expect(2)
    return _part(c.node, c.text(0), c.argument(1))


def extract(t: Translation, node: exp.Expr) -> Typed:
    return _part(node, node.this.name, t.expression(node.expression))


# --- rounding --------------------------------------------------------------------------------------------------------


def date_trunc(c: Call) -> Typed:
    c.expect(2)
    unit, value = c.text(0).lower(), c.argument(1)
    if unit not in _TRUNCATED or not (_is_time(value) or value.type == DATE):
        raise c.refusal(f"of {value.type} to {unit} is not translated", f"units: {', '.join(_TRUNCATED)}")
    return Typed(call("date_trunc", unit, value.sql), value.type if _is_time(value) else timestamp("ns"))


def date_bin(c: Call) -> Typed:
    """Steps of a fixed length from an origin (1970 if none is given)."""
    c.expect(2, 3)
    step = intervals.parse(c.node.expressions[0]).fixed_seconds
    value = c.argument(1)
    if not step or step < 0 or not _is_time(value):
        raise c.refusal("is translated for TIMESTAMP with steps of days or less")
    if len(c.arguments) == 3 and not _is_time(c.argument(2)):
        raise c.refusal("the origin must be a TIMESTAMP", "write TIMESTAMP '…'")
    micros = call("unix_micros", cast(value.sql, timestamp()))
    since: exp.Expr = micros.copy()
    if len(c.arguments) == 3:
        since = exp.Sub(this=since, expression=call("unix_micros", cast(c.argument(2).sql, timestamp())))
    rest = call("pmod", since, exp.Literal.number(f"{step * _SECOND}L"))
    return Typed(call("timestamp_micros", exp.Sub(this=micros, expression=rest)), replace(value.type, unit="ns"))


def to_local_time(c: Call) -> Typed:
    """Times are UTC here, so that only the zone's mark goes."""
    c.expect(1)
    if not _is_time(c.argument(0)):
        raise c.refusal(f"takes a TIMESTAMP, not {c.argument(0).type}")
    return Typed(c.argument(0).sql, replace(c.argument(0).type, is_zoned=False))


def _now(name: str, type_: Type) -> FunctionRule:
    return lambda c: Typed(call(name), type_)


SCALARS: dict[str, FunctionRule] = {
    "current_date": _now("current_date", DATE),
    "current_timestamp": _now("current_timestamp", timestamp("ns", is_zoned=True)),
    "date_bin": date_bin,
    "date_format": to_char,
    "date_part": date_part,
    "date_trunc": date_trunc,
    "datepart": date_part,
    "datetrunc": date_trunc,
    "from_unixtime": from_unixtime,
    "make_date": make_date,
    "now": _now("current_timestamp", timestamp("ns", is_zoned=True)),
    "to_char": to_char,
    "to_date": to_date,
    "to_local_time": to_local_time,
    "to_timestamp": to_timestamp("ns", "timestamp_seconds"),
    "to_timestamp_micros": to_timestamp("us", "timestamp_micros", _SECOND),
    "to_timestamp_millis": to_timestamp("ms", "timestamp_millis", 1000),
    "to_timestamp_nanos": from_nanoseconds,
    "to_timestamp_seconds": to_timestamp("s", "timestamp_seconds", 1),
    "to_unixtime": to_unixtime,
    "today": _now("current_date", DATE),
}

NODES: dict[type[exp.Expr], NodeRule] = {
    exp.CurrentDate: lambda t, node: Typed(call("current_date"), DATE),
    exp.CurrentTimestamp: lambda t, node: Typed(call("current_timestamp"), timestamp("ns", is_zoned=True)),
    exp.Extract: extract,
    exp.Interval: intervals.interval,
}

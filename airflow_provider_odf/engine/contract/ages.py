"""Service levels that times in the data answer: freshness, retention and latency."""

from __future__ import annotations

import re

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.conditions import (
    Aggregate,
    Count,
    Decided,
    Measured,
    Values,
    Verdict,
    masked,
)
from airflow_provider_odf.engine.contract.fields import Found
from airflow_provider_odf.engine.contract.rows import Rows
from airflow_provider_odf.engine.sql import first_group, text
from airflow_provider_odf.protocol import Check
from airflow_provider_odf.wording import counted

TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)


def literal(instant: str) -> str:
    """Return SQL for an instant of RFC 3339, now if it is empty."""
    return f"to_timestamp({text(instant)})" if instant else "current_timestamp()"


def freshness(check: Check, rows: Rows) -> Measured:
    """Return whether the newest time is at most a duration before the time of the test."""
    return _extreme(check, rows, "max", "the newest")


def retention(check: Check, rows: Rows) -> Measured:
    """Return whether the oldest time is at most a duration before the time of the test."""
    return _extreme(check, rows, "min", "the oldest")


def latency(check: Check, rows: Rows) -> Measured:
    """Return whether each row was processed at most a duration after its source time."""
    source, processed = (_time(path, rows) for path in check.columns)
    late = f"{_instant(processed)} > {_instant(source)} + {_interval(check)}"
    age = first_group(f"CAST({_instant(processed)} - {_instant(source)} AS STRING)", _QUOTED)
    example = None if check.is_sensitive else age
    shown = (source.column, processed.column)
    about = f"{source.sql} IS NOT NULL AND {processed.sql} IS NOT NULL"
    return Measured(Values(late, about), f"at most {check.arguments['threshold']} later", example, "too late", shown)


def _extreme(check: Check, rows: Rows, aggregate: str, what: str) -> Measured:
    found = _time(check.field or "", rows)
    now = literal(rows.as_of)
    value = f"{aggregate}({_instant(found)})"
    # One value for the report and the verdict, in one aggregate.
    is_ok = f"{value} >= {now} - {_interval(check)}"
    sql = f"struct(date_format({value}, {_FORMAT}), {is_ok}, CAST({now} - {value} AS STRING))"
    expected = f"{what} is at most {check.arguments['threshold']} old"
    measured = Measured(Aggregate(sql), expected, verdict=lambda count: _verdict(count, expected, what))
    return masked(measured) if check.is_sensitive else measured


def _verdict(count: Count, expected: str, what: str) -> Verdict:
    time, is_ok, age = count.value
    if time is None:
        return Verdict("fail", "no row has a time", expected)
    return Verdict("pass" if is_ok else "fail", f"{what} is from {time}, {_plain(age)} old", expected, time)


def _plain(interval: str) -> str:
    """Return an interval of Spark in plain words: ``3 days 4:05:06``."""
    match = re.fullmatch(r"INTERVAL '(-?)(\d+) 0?(\d+:\d\d:\d\d)[.\d]*' DAY TO SECOND", interval)
    return f"{match[1]}{counted(int(match[2]), 'day')} {match[3]}" if match else interval


_QUOTED = "'(.*)'"
_FORMAT = text("yyyy-MM-dd'T'HH:mm:ss'Z'")


def _time(path: str, rows: Rows) -> Found:
    found = rows.find(path)
    if found is None:
        raise Decided("fail", f"column {path} not found", "a column")
    if found.levels or not isinstance(found.type, TIMES):
        raise Decided("error", f"{path} is of type {found.type_name}, not a time")
    return found


def _instant(found: Found) -> str:
    return f"CAST({found.sql} AS TIMESTAMP)"


def _interval(check: Check) -> str:
    """Return SQL for a duration. Months and years are those of the calendar."""
    months, seconds = int(check.arguments["months"]), check.arguments["seconds"]
    return f"make_interval(0, {months}, 0, 0, 0, 0, CAST('{seconds}' AS DECIMAL(18, 6)))"

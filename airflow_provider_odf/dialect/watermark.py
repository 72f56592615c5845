"""Conditions on the watermark of a transform's inputs, which Spark SQL gets as a named parameter."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.literals import INTERVAL_UNITS, interval_parts
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, cast, sql
from airflow_provider_odf.dialect.types import timestamp

WATERMARK = "odf_watermark"
"""Parameter with the earliest watermark of the inputs; null decides nothing."""

_MICROSECONDS = {"week": 604_800_000_000, "day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000}
_MICROSECONDS["second"] = 1_000_000


def has_passed(time: Value, delay: int = 0) -> exp.Expr:
    """Return the condition that the watermark is at least ``delay`` microseconds past a time."""
    moment = in_microseconds(time)
    late = sql(f"timestamp_micros(a {'-' if delay < 0 else '+'} {abs(delay)})", moment) if delay else as_timestamp(time)
    return exp.LTE(this=late, expression=exp.Placeholder(this=WATERMARK))


def as_timestamp(time: Value) -> exp.Expr:
    return time.sql if time.type.is_timestamp else cast(time.sql, timestamp())


def in_microseconds(time: Value) -> exp.Expr:
    """Return a DATE or TIMESTAMP in microseconds since 1970."""
    return sql("unix_micros(a)", as_timestamp(time))


def microseconds(node: exp.Expr) -> int:
    """Return the length of a literal interval.

    :raises Refusal: it is not a literal, or contains months or years, whose length varies."""
    parts = dict(zip(INTERVAL_UNITS, interval_parts(node), strict=True))
    if parts.pop("year") or parts.pop("month"):
        raise Refusal(node, "months and years have no fixed length", "write the interval in days")
    return sum(count * _MICROSECONDS[unit] for unit, count in parts.items())

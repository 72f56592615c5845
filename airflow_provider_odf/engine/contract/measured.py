"""What a judge of a clause returns: a verdict, or how to measure the clause."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from airflow_provider_odf.engine.contract.conditions import Condition, Count
from airflow_provider_odf.engine.contract.rules import Verdict as Verdict
from airflow_provider_odf.engine.contract.thresholds import Limits, shown

MASK = "***"
"""What reports show in place of a sensitive value."""

_NULL = "null"


@dataclass(frozen=True)
class Measured:
    """A clause that needs rows for a result.

    ``example`` is SQL for the text of a failing row in the report, None for no text. ``shown`` are the columns of a
    sample. ``verdict`` judges the numbers; without it, the clause fails if a row fails.
    """

    condition: Condition
    expected: str
    example: str | None = None
    what: str = ""
    shown: tuple[str, ...] = ()
    verdict: Callable[[Count], Verdict] | None = None


def masked(measured: Measured) -> Measured:
    """Return the same clause for a report that does not show its value."""

    def verdict(count: Count) -> Verdict:
        return without_value(measured.verdict(count) if measured.verdict else Verdict("error"))

    return replace(measured, verdict=verdict)


def without_value(verdict: Verdict) -> Verdict:
    """Return a verdict that does not show its value; null is none."""
    if verdict.observed in ("", _NULL):
        return verdict
    return replace(verdict, reason="the value is sensitive", observed=MASK)


@dataclass(frozen=True)
class Query:
    """A clause about the one number that a query returns. ``query`` is SQL of the contract's author. A report shows no
    number if it is sensitive."""

    query: str
    limits: Limits
    is_sensitive: bool = False


@dataclass(frozen=True)
class Expectation:
    """A clause that the library Great Expectations evaluates. A report shows no value if it is sensitive."""

    type: str
    kwargs: Mapping[str, Any]
    is_sensitive: bool = False


def of_number(value: Any, limits: Limits, what: str = "the value is") -> Verdict:
    """Return the verdict on a number of a database."""
    if value is None:
        return Verdict("fail", f"{what} null", limits.text, _NULL)
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, int | float | Decimal):
        kind = _KINDS.get(type(value), type(value).__name__)
        # The value itself may be sensitive: a query can read any column.
        return Verdict("error", f"{what} {kind}, not a number", limits.text)
    outcome = "pass" if limits.hold(value) else "fail"
    return Verdict(outcome, f"{what} {shown(value)} {limits.unit}".rstrip(), limits.text, shown(value))


_KINDS = {str: "a string", dt.date: "a date", dt.datetime: "a time", dt.timedelta: "an interval"}

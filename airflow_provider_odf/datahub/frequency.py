"""The frequency of updates that a contract promises, as a schedule of DataHub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from datahub.metadata import schema_classes as dh

_Unit = dh.CalendarIntervalClass

_WORDS = {
    "hourly": (_Unit.HOUR, 1),
    "daily": (_Unit.DAY, 1),
    "weekly": (_Unit.WEEK, 1),
    "monthly": (_Unit.MONTH, 1),
    "quarterly": (_Unit.QUARTER, 1),
    "yearly": (_Unit.YEAR, 1),
    "annually": (_Unit.YEAR, 1),
}
_UNITS = {
    "s": _Unit.SECOND, "sec": _Unit.SECOND, "second": _Unit.SECOND,
    "m": _Unit.MINUTE, "min": _Unit.MINUTE, "minute": _Unit.MINUTE,
    "h": _Unit.HOUR, "hr": _Unit.HOUR, "hour": _Unit.HOUR,
    "d": _Unit.DAY, "day": _Unit.DAY,
    "w": _Unit.WEEK, "week": _Unit.WEEK,
    "mo": _Unit.MONTH, "month": _Unit.MONTH,
    "quarter": _Unit.QUARTER,
    "y": _Unit.YEAR, "yr": _Unit.YEAR, "year": _Unit.YEAR,
}  # fmt: skip
_OF_ISO = {"PTS": _Unit.SECOND, "PTM": _Unit.MINUTE, "PTH": _Unit.HOUR} | {
    f"P{letter}": unit for letter, unit in zip("DWMY", (_Unit.DAY, _Unit.WEEK, _Unit.MONTH, _Unit.YEAR), strict=True)
}


def schedule(arguments: Mapping[str, Any]) -> dh.FreshnessAssertionScheduleClass | None:
    """Return the schedule of a frequency with a ``cron`` expression or an ``interval``; None if DataHub has no such
    schedule, as for a stream."""
    kinds = dh.FreshnessAssertionScheduleTypeClass
    if cron := arguments.get("cron"):
        return dh.FreshnessAssertionScheduleClass(kinds.CRON, cron=dh.FreshnessCronScheduleClass(str(cron), "UTC"))
    interval = _interval(str(arguments.get("interval") or ""))
    if interval is None:
        return None
    return dh.FreshnessAssertionScheduleClass(kinds.FIXED_INTERVAL, fixedInterval=interval)


def _interval(text: str) -> dh.FixedIntervalScheduleClass | None:
    """Return an interval in words, in ISO 8601 or as a number with a unit, if it has one unit."""
    text = text.strip()
    if (word := _WORDS.get(text.lower())) is not None:
        return dh.FixedIntervalScheduleClass(*word)
    if iso := re.fullmatch(r"(PT?)(\d+)([SMHDWY])", text.upper()):
        unit = _OF_ISO.get(iso[1] + iso[3])
        return dh.FixedIntervalScheduleClass(unit, int(iso[2])) if unit else None
    if plain := re.fullmatch(r"(\d+)\s*([a-z]+?)s?", text.lower()):
        unit = _UNITS.get(plain[2])
        return dh.FixedIntervalScheduleClass(unit, int(plain[1])) if unit else None
    return None

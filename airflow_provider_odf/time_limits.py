"""Limits of dates and times in a contract: ``2024-05-02``, ``2024-05-02T08:30:00Z``, ``08:30:00``."""

from __future__ import annotations

import re
from datetime import date

_TIME = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?"
_MOMENT = rf"(\d{{4}}-\d{{2}}-\d{{2}})([Tt ](?=\d\d:\d\d:){_TIME}([Zz]|[+-]\d{{2}}:\d{{2}})?)?"


def problem(limit: str, *, is_time: bool) -> str:
    """Return why a text is no time of day, or no date or timestamp; empty if it is one.

    Spark's cast would guess: the moment of the run for ``now``, its day for ``08:30``, January 1 for ``2024``.
    """
    if is_time:
        return "" if re.fullmatch(_TIME, limit) else f"{limit!r} is no time: write one such as 08:30:00"
    match = re.fullmatch(_MOMENT, limit)
    if match is None or not _is_date(match[1]):
        return f"{limit!r} is no timestamp: write one such as 2024-05-02T08:30:00Z"
    return ""


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True

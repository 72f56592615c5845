"""Durations of service levels: ISO 8601 (``P1Y``, ``PT25H``) and a number with a unit (``25h``, ``1 year``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from airflow_provider_odf.contract.thresholds import RuleError

_NUMBER = r"(\d+(?:[.,]\d+)?)"
_ISO = re.compile(
    rf"P(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.IGNORECASE,
)
_PART = re.compile(rf"\s*{_NUMBER}\s*([a-z]+)\s*(?:,|and\b)?", re.IGNORECASE)

_MONTHS = {"mo": 1, "mon": 1, "month": 1, "quarter": 3, "y": 12, "yr": 12, "year": 12}
_SECONDS: dict[str, Decimal | int] = {
    "ms": Decimal("0.001"), "millisecond": Decimal("0.001"), "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60,
    "minute": 60, "h": 3600, "hr": 3600, "hour": 3600, "d": 86400, "day": 86400, "w": 604800, "wk": 604800,
    "week": 604800,
}  # fmt: skip
_ISO_UNITS = ("y", "mo", "w", "d", "h", "m", "s")


@dataclass(frozen=True)
class Duration:
    """Months of the calendar, and seconds. A day has 24 hours, because times are in UTC."""

    months: int
    seconds: Decimal


def parse(value: object) -> Duration:
    """Return a duration.

    >>> parse("1 year"), parse("PT1H30M")
    (Duration(months=12, seconds=Decimal('0')), Duration(months=0, seconds=Decimal('5400')))

    :raises RuleError: the text is no duration.
    """
    text = str(value).strip()
    if (iso := _ISO.fullmatch(text)) and any(iso.groups()):
        return _total([(n, u) for n, u in zip(iso.groups(), _ISO_UNITS, strict=True) if n], text)
    parts, end = [], 0
    while match := _PART.match(text, end):
        parts.append((match[1], match[2].lower()))
        end = match.end()
    if not parts or text[end:].strip():
        raise RuleError(f"{text!r} is not a duration, such as 24 hours, 30d or P1Y")
    return _total(parts, text)


def _total(parts: list[tuple[str, str]], text: str) -> Duration:
    months = seconds = Decimal(0)
    for number, name in parts:
        amount, unit = Decimal(number.replace(",", ".")), name if name in _SECONDS else name.removesuffix("s")
        if unit in _SECONDS:
            seconds += amount * _SECONDS[unit]
        elif unit in _MONTHS:
            months += amount * _MONTHS[unit]
        else:
            raise RuleError(f"{text!r} is not a duration: {name} is not a unit of time")
    if months != int(months):
        raise RuleError(f"{text!r} is not a whole number of months")
    return Duration(int(months), seconds)

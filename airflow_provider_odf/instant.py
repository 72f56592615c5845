"""``Instant``: a moment in UTC with nanoseconds, as ODF stores times (RFC 3339 in text, ``Timestamp`` in blocks)."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000
_MILLISECOND = 1_000_000
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
_FIRST = -62_135_596_800 * _SECOND
_LAST = 253_402_300_800 * _SECOND - 1


@dataclass(frozen=True, order=True)
class Instant:
    """Number of nanoseconds since 1970-01-01T00:00:00Z, between the years 1 and 9999."""

    epoch_ns: int

    def __post_init__(self) -> None:
        if not _FIRST <= self.epoch_ns <= _LAST:
            raise ValueError(f"{self.epoch_ns} ns since 1970 is not within the years 1 to 9999")

    @classmethod
    def parse(cls, text: str) -> Instant:
        """Return the instant of an RFC 3339 text; digits beyond nanoseconds are dropped.

        >>> str(Instant.parse("2024-05-02T10:00:00.5+02:00"))
        '2024-05-02T08:00:00.500Z'

        :raises ValueError: the text is not RFC 3339, or its date, time or offset is missing or out of range.
        """
        match = _RFC3339.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an RFC 3339 time such as 2024-05-02T08:00:00Z")
        *numbers, fraction, zulu, sign, hours, minutes = match.groups()
        try:
            offset = timedelta() if zulu else _offset(sign, int(hours), int(minutes))
            local = datetime(*map(int, numbers), tzinfo=UTC)  # type: ignore[arg-type, misc]
            return cls.from_datetime(local - offset).plus_ns(int((fraction or "").ljust(9, "0")))
        except (ValueError, OverflowError) as e:
            raise ValueError(f"{text!r} is not an RFC 3339 time: {e}") from None

    @classmethod
    def from_datetime(cls, moment: datetime) -> Instant:
        """Return the instant of a datetime.

        :raises ValueError: ``moment`` has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError(f"{moment} has no time zone")
        return cls((moment - _EPOCH) // timedelta(microseconds=1) * 1000)

    @classmethod
    def now(cls) -> Instant:
        return cls(time.time_ns())

    @property
    def nanosecond(self) -> int:
        """Nanoseconds within the second."""
        return self.epoch_ns % _SECOND

    def to_datetime(self) -> datetime:
        """Return the time in UTC with its time zone, rounded down to microseconds."""
        return _EPOCH + timedelta(microseconds=self.epoch_ns // 1000)

    def floor_ms(self) -> Instant:
        """Return the instant rounded down to milliseconds, the precision of a slice's time columns."""
        return Instant(self.epoch_ns // _MILLISECOND * _MILLISECOND)

    def plus_ns(self, nanoseconds: int) -> Instant:
        return Instant(self.epoch_ns + nanoseconds)

    def __str__(self) -> str:
        """Return the time in RFC 3339 with ``Z`` and 0, 3, 6 or 9 digits of a second's fraction."""
        moment = self.to_datetime().replace(microsecond=0, tzinfo=None).isoformat()
        digits = f"{self.nanosecond:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        return f"{moment}.{digits}Z" if digits else f"{moment}Z"


def _offset(sign: str, hours: int, minutes: int) -> timedelta:
    if hours > 23 or minutes > 59:
        raise ValueError(f"offset {sign}{hours:02}:{minutes:02} is out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return offset if sign == "+" else -offset

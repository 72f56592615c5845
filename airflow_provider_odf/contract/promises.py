"""Promises of a compiled contract about time, which a clock judges without reading data: freshness and frequency."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from airflow_provider_odf.contract import durations
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.protocol import Check, Contract

FRESHNESS, FREQUENCY = "service_level_freshness", "service_level_frequency"
PROMISES = (FRESHNESS, FREQUENCY)
"""Kinds of checks."""

CRON = {
    "minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "midnight": "0 0 * * *",
    "weekly": "0 0 * * 0", "monthly": "0 0 1 * *", "quarterly": "0 0 1 */3 *", "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}  # fmt: skip
"""Interval name, such as daily -> the cron expression of its periods."""

_MOST = 1000
"""Maximum number of periods of a cron expression that are counted."""


@dataclass(frozen=True)
class Freshness:
    """The newest value of the column ``field`` is at most ``months`` and ``seconds`` old; without a field, the
    watermark.

    ``path`` is the JSON pointer of the clause, ``threshold`` the duration as it is written.
    """

    path: str
    field: str
    threshold: str
    months: int
    seconds: Decimal

    def limit(self, now: datetime) -> datetime:
        """Return the time that the newest value has to reach. Months are those of the calendar, as in Spark."""
        month = now.year * 12 + now.month - 1 - self.months
        year, index = divmod(month, 12)
        day = min(now.day, calendar.monthrange(year, index + 1)[1])
        return now.replace(year=year, month=index + 1, day=day) - timedelta(microseconds=int(self.seconds * 10**6))

    def holds(self, newest: datetime, now: datetime) -> bool:
        """Whether the newest value is fresh at a time. Both times are aware."""
        return newest >= self.limit(now)


@dataclass(frozen=True)
class Frequency:
    """No period is without an update. Periods are those of ``cron``, or of ``interval``, such as daily; in UTC."""

    path: str
    interval: str = ""
    cron: str = ""

    def periods(self, start: datetime, end: datetime) -> int:
        """Return how many periods begin after one time and up to another: at most one if the promise holds.

        :raises RuleError: the promise is not valid.
        """
        if cron := self.cron or CRON.get(self.interval.lower(), ""):
            return _ticks(cron, start, end)
        number = _numbering(self.interval)
        return number(end) - number(start)

    def holds(self, newest: datetime, now: datetime) -> bool:
        """Whether no whole period up to a time is without an update since the newest one. Both times are aware.

        :raises RuleError: the promise is not valid.
        """
        return self.periods(newest, now) <= 1


def freshness(contract: Contract) -> tuple[Freshness, ...]:
    """Return the promises of freshness of a compiled contract that can be tested on the model of the contract."""
    promises = filter(None, map(freshness_of, contract.checks))
    return tuple(promise for promise in promises if promise.field)


def freshness_of(check: Check) -> Freshness | None:
    """Return the promise of a check about freshness, or None if it is about another model or has no threshold.

    :raises RuleError: the threshold is not valid.
    """
    arguments = check.arguments
    if check.kind != FRESHNESS or "threshold" not in arguments:
        return None
    if not check.outcome and check.field:
        seconds = Decimal(arguments["seconds"])
        return Freshness(check.path, check.field, arguments["threshold"], arguments["months"], seconds)
    if check.outcome != "informational" or "timestampField" in arguments:
        return None
    duration = durations.parse(arguments["threshold"])
    return Freshness(check.path, "", str(arguments["threshold"]), duration.months, duration.seconds)


def frequency(contract: Contract) -> tuple[Frequency, ...]:
    """Return the promises of a compiled contract about the time between updates."""
    return tuple(filter(None, map(frequency_of, contract.checks)))


def frequency_of(check: Check) -> Frequency | None:
    """Return the promise of a check about the time between updates, or None if it has no period."""
    if check.kind != FREQUENCY:
        return None
    interval, cron = (_text(check.arguments, key) for key in ("interval", "cron"))
    return Frequency(check.path, interval, cron) if interval or cron else None


def _text(arguments: Mapping[str, Any], key: str) -> str:
    return str(arguments.get(key) or "").strip()


def _numbering(interval: str) -> Callable[[datetime], int]:
    """Return the function from a time to the number of its period.

    :raises RuleError: the interval is not valid.
    """
    duration = durations.parse(interval)
    months, seconds = duration.months, duration.seconds
    if months and seconds:
        raise RuleError(f"interval {interval} mixes months and days")
    if months:
        return lambda time: (time.year * 12 + time.month) // months
    if not seconds:
        raise RuleError(f"interval {interval} has no length")
    return lambda time: int(Decimal(time.timestamp()) // seconds)


def _ticks(cron: str, start: datetime, end: datetime) -> int:
    from croniter import CroniterError, croniter

    try:
        times = croniter(cron, start)
        count = 0
        while count < _MOST and times.get_next(datetime) <= end:
            count += 1
    except CroniterError as e:
        raise RuleError(f"cron {cron} is not valid: {e}") from e
    return count

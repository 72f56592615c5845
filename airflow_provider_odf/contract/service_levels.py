"""Service levels: durations, the checks of freshness, latency and retention of data and of promises that data cannot
show, and promises about time, which a clock judges without reading data.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from airflow_provider_odf.clauses import Number
from airflow_provider_odf.contract.model import Clause, DataContract, Model
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.protocol import SERVICE_LEVEL, Check

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


def parse_duration(value: object) -> Duration:
    """Return a duration.

    >>> parse_duration("1 year"), parse_duration("PT1H30M")
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


PROMISE = "it is a promise about the service, which cannot be tested on data"
NO_HISTORY = "only the history of a dataset shows how often it is updated"


@dataclass(frozen=True)
class _Level:
    """A service level of a contract; ``tested`` are the names of the tested models."""

    clause: Clause
    value: Mapping[str, Any]
    contract: DataContract
    tested: Collection[str]

    def duration(self, key: str) -> dict[str, Any]:
        """Return the arguments of a check for a duration."""
        duration = parse_duration(self.value[key])
        return {"threshold": str(self.value[key]), "months": duration.months, "seconds": str(duration.seconds)}

    def field(self, key: str) -> tuple[Model, str]:
        """Return the model and the path of the field that a key names: ``orders.order_timestamp``."""
        reference = str(self.value[key])
        name, _, path = reference.partition(".")
        model = next((m for m in self.contract.models if m.name == name), None) if path else None
        if model is None and len(self.contract.models) == 1:
            model, path = self.contract.models[0], reference
        if model is None:
            raise RuleError(f"{key}: the contract has no model with the field {reference}")
        return model, path


def checks(contract: DataContract, tested: Collection[str]) -> Iterator[Check]:
    """Yield the checks of the service levels of a contract; ``tested`` are the tested models."""
    for clause in contract.service_levels:
        value = clause.value if isinstance(clause.value, dict) else {}
        text = " ".join(str(value.get("description") or "").split()) or f"service level {clause.name}"
        kind = SERVICE_LEVEL + clause.name
        scalars = {str(key): v for key, v in value.items() if key != "description" and isinstance(v, _SCALAR)}
        check = Check(clause.path, kind, text, line=clause.place.line, arguments=scalars)
        try:
            yield _compiled(check, _Level(clause, value, contract, tested))
        except RuleError as e:
            yield replace(check, outcome="error", reason=str(e))


def is_one(check: Check) -> bool:
    """Whether a check is of a service level."""
    return check.kind.startswith(SERVICE_LEVEL)


_SCALAR = str | Number | bool
_FIELDS = {
    "freshness": ("threshold", "timestampField"),
    "retention": ("period", "timestampField"),
    "latency": ("threshold", "sourceTimestampField", "processedTimestampField"),
}
"""Service level that data can show -> its duration, and its fields with times. All others are promises."""


def _compiled(check: Check, level: _Level) -> Check:
    name = level.clause.name
    if name not in _FIELDS:
        return replace(check, outcome="informational", reason=NO_HISTORY if name == "frequency" else PROMISE)
    if name != "retention":
        return _of_times(check, level, *_FIELDS[name])
    if level.value.get("unlimited"):
        return replace(check, outcome="informational", reason="data is kept forever")
    # Old rows break a promise, and publishing new ones does not make it worse.
    return replace(_of_times(check, level, *_FIELDS[name]), severity="warning")


def _of_times(check: Check, level: _Level, duration: str, *fields: str) -> Check:
    if missing := [key for key in (duration, *fields) if level.value.get(key) is None]:
        return replace(check, outcome="informational", reason=f"cannot be measured without {' and '.join(missing)}")
    places = [level.field(key) for key in fields]
    models = {model.name for model, _ in places}
    if len(models) > 1:
        reason = f"it refers to times of several models: {', '.join(sorted(models))}"
        return replace(check, outcome="unsupported", reason=reason)
    arguments = level.duration(duration)
    if not models & set(level.tested):
        return replace(check, outcome="informational", reason=f"it applies to model {', '.join(models)}")
    paths = tuple(path for _, path in places)
    columns = paths if len(paths) > 1 else ()
    hides = any(model.is_sensitive(path) for model, path in places)
    return replace(check, model=models.pop(), field=paths[-1], columns=columns, arguments=arguments, is_sensitive=hides)


FRESHNESS, FREQUENCY = "service_level_freshness", "service_level_frequency"
PROMISES = (FRESHNESS, FREQUENCY)
"""Kinds of checks."""

CRON = {
    "minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "midnight": "0 0 * * *",
    "weekly": "0 0 * * 0", "monthly": "0 0 1 * *", "quarterly": "0 0 1 */3 *", "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}  # fmt: skip
"""Interval name, such as daily -> the cron expression of its periods."""

_MOST_PERIODS = 1000
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
    duration = parse_duration(arguments["threshold"])
    return Freshness(check.path, "", str(arguments["threshold"]), duration.months, duration.seconds)


def frequency_of(check: Check) -> Frequency | None:
    """Return the promise of a check about the time between updates, or None if it has no period."""
    if check.kind != FREQUENCY:
        return None
    interval, cron = (str(check.arguments.get(key) or "").strip() for key in ("interval", "cron"))
    return Frequency(check.path, interval, cron) if interval or cron else None


def _numbering(interval: str) -> Callable[[datetime], int]:
    """Return the function from a time to the number of its period.

    :raises RuleError: the interval is not valid.
    """
    duration = parse_duration(interval)
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
        while count < _MOST_PERIODS and times.get_next(datetime) <= end:
            count += 1
    except CroniterError as e:
        raise RuleError(f"cron {cron} is not valid: {e}") from e
    return count

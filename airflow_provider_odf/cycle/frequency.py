"""Service level ``frequency``: how often a dataset is updated, by the blocks of its history and by its schedule.

Late data break a promise, but that is no reason to refuse them: the clause has severity warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract import durations
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder import settings_for
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.protocol import Check, Contract

KIND = "service_level_frequency"

_MOST = 1000
"""Maximum number of periods that are counted."""

_CRON = {
    "minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "midnight": "0 0 * * *",
    "weekly": "0 0 * * 0", "monthly": "0 0 1 * *", "quarterly": "0 0 1 */3 *", "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}  # fmt: skip
"""Interval name, such as daily -> the cron expression of its periods."""


def with_frequency(cycle: Cycle, contract: Contract, dataset: Dataset, base: str | None, now: Instant) -> Contract:
    """Return the contract with an outcome of its clause about the frequency of updates.

    ``base`` is the block that the new data come after, ``now`` the time of the update.
    """
    if not any(check.kind == KIND for check in contract.checks):
        return contract
    manifest = cycle.manifest
    schedule = settings_for(manifest.file, manifest.snapshot.name).schedule if manifest else None
    newest = next(_updates(dataset, base), None) if base else None
    checks = (_measured(c, newest, now.to_datetime(), schedule) if c.kind == KIND else c for c in contract.checks)
    return replace(contract, checks=tuple(checks))


def _updates(dataset: Dataset, base: str) -> Iterator[datetime]:
    """Yield the times of blocks with data, the newest first."""
    for _, block in dataset.walk(base):
        if isinstance(block.event, model.AddData | model.ExecuteTransform) and block.event.new_data is not None:
            yield block.system_time.to_datetime()


def _measured(check: Check, before: datetime | None, now: datetime, schedule: str | None) -> Check:
    try:
        passed = _periods(check.arguments, before or now, now)
        ahead = _of_schedule(check.arguments, schedule, now)
    except RuleError as e:
        return replace(check, severity="warning", outcome="error", reason=str(e))
    if passed is None:
        return check
    check = replace(check, severity="warning")
    if ahead > 1:
        reason = f"the DAG schedule {schedule} leaves {counted(ahead - 1, 'period')} without a run"
        return replace(check, outcome="fail", reason=reason)
    if before is None:
        return replace(check, outcome="pass", reason="the first update")
    gap = f"between {_shown(before)} and {_shown(now)}"
    if passed > 1:
        reason = f"{counted(passed - 1, 'period')} without an update {gap}"
        return replace(check, outcome="fail", reason=reason)
    return replace(check, outcome="pass", reason=f"no period without an update {gap}")


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _periods(arguments: Mapping[str, Any], start: datetime, end: datetime) -> int | None:
    """Return how many periods of a promise begin after one time and up to another; None without a period.

    :raises RuleError: the promise is not valid.
    """
    interval = str(arguments.get("interval") or "").strip()
    if cron := str(arguments.get("cron") or _CRON.get(interval.lower(), "")):
        return _ticks(cron, start, end)
    if not interval:
        return None
    duration = durations.parse(interval)
    if duration.months and duration.seconds:
        raise RuleError(f"interval {interval} mixes months and days")
    if duration.months:
        return _month(end) // duration.months - _month(start) // duration.months
    if not duration.seconds:
        raise RuleError(f"interval {interval} has no length")
    return _number(end, duration.seconds) - _number(start, duration.seconds)


def _month(time: datetime) -> int:
    return time.year * 12 + time.month


def _number(time: datetime, seconds: Decimal) -> int:
    return int(Decimal(time.timestamp()) // seconds)


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


def _of_schedule(arguments: Mapping[str, Any], schedule: str | None, now: datetime) -> int:
    """Return how many periods of a promise are between two runs of a DAG, 0 if its schedule has no times."""
    from croniter import croniter

    cron = _CRON.get((schedule or "").removeprefix("@"), schedule)
    if cron is None or cron.startswith("@"):
        return 0
    times = croniter(cron, now)
    first = times.get_next(datetime)
    return _periods(arguments, first, times.get_next(datetime)) or 0

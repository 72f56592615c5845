"""The health of a dataset in one word, and why: rules on facts, runs and a time, without any input or output.

Health is what the data is, not what a run said. A promise of the contract is compared with the clock, also when nothing
arrives; without a promise, the dataset's own past says how old its data usually is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.publications import ACCEPTED, ANYWAY
from airflow_provider_odf.contract.service_levels import frequency_of, freshness_of
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.wording import counted, listed

if TYPE_CHECKING:
    from airflow_provider_odf.contract.service_levels import Frequency, Freshness
    from airflow_provider_odf.health.facts import ChainFacts, Facts, NewerInput
    from airflow_provider_odf.protocol import Check

REJECTED, FAILING, UNPUBLISHED, LATE, EXCEPTION = "rejected", "failing", "unpublished", "late", "exception"
NO_DATA, WAITING, STALE, DISCARDED, FRESH = "no data", "waiting", "stale", "discarded", "fresh"
MEANINGS = {
    REJECTED: "new data failed its contract or was held back, and waits for a decision",
    FAILING: "the newest run failed",
    UNPUBLISHED: "new data was merged, and no run has published it",
    LATE: "the contract promises newer data",
    EXCEPTION: "the newest data was rejected, and a person published it anyway",
    NO_DATA: "nothing was published yet",
    WAITING: "the inputs have no data yet, or new data of one waits for a decision",
    STALE: "the data is older than usual, an input has newer data, or no run looks for it",
    DISCARDED: "the newest input was discarded by a decision",
    FRESH: "published as its contract and its past say, and no newer data is known",
}
"""Word -> its meaning for readers, worst first."""

WORDS = tuple(MEANINGS)

GRACE = timedelta(minutes=10)
"""How long a due run may wait for the scheduler, and a merged candidate for its publication."""

LEAST_UPDATES = 3
"""How many updates show how often a dataset is updated."""

UNKNOWN_AGE = timedelta(days=30)
"""Age from which data counts as stale where nothing says how often it is updated."""

_LEAST_AGE = timedelta(days=1)
_PATIENCE = 2
"""Longest gaps between updates that may pass without one."""


@dataclass(frozen=True)
class Health:
    """A word of the module, and the reason as a sentence."""

    word: str
    reason: str

    @property
    def style(self) -> str:
        return self.word.replace(" ", "-")


@dataclass(frozen=True)
class Runs:
    """What Airflow knows of the runs of a dataset's DAG. ``state`` is that of the newest run; ``unpublished`` its id if
    it succeeded although its task that publishes did not; ``due`` the time from which it could start; ``deciding`` its
    id while it carries out a decision on a candidate."""

    state: str | None = None
    is_paused: bool = False
    next_run: datetime | None = None
    unpublished: str | None = None
    due: datetime | None = None
    deciding: str | None = None

    @property
    def is_running(self) -> bool:
        return self.state in ("queued", "running")


def health(facts: Facts, runs: Runs, now: datetime) -> Health:
    """Return the health of a dataset: the worst of `findings`, else fresh."""
    return next(findings(facts, runs, now), Health(FRESH, "No newer data is known."))


def findings(facts: Facts, runs: Runs, now: datetime) -> Iterator[Health]:
    """Yield all that is to be said against a dataset, worst first."""
    for word, rule in _RULES:
        if (reason := rule(facts, runs, now)) is not None:
            yield Health(word, reason)


def _rejected(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if not facts.undecided:
        return None
    if runs.deciding is not None:
        return f"New data was not published: run {runs.deciding} carries out the decision on it."
    return f"New data was not published: {counted(facts.undecided, 'candidate')} waiting for a decision."


def _failing(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if runs.state != "failed":
        return None
    # A run that failed because of a candidate is no news once somebody has decided on that.
    if facts.decided is not None and runs.due is not None and runs.due < facts.decided.to_datetime():
        return None
    return "The newest run of the DAG failed."


def _unpublished(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if runs.unpublished is not None:
        return f"Run {runs.unpublished} has the state success, but published nothing: its publication did not succeed."
    merged = facts.unpublished.to_datetime() if facts.unpublished is not None else None
    if merged is None or runs.is_running or now - merged <= GRACE:
        return None
    return f"New data was merged at {_shown(merged)}, and no run has published it."


def _late(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if not facts.has_data or facts.chain is None:
        return None
    reasons = (_broken(check, facts.chain, now) for check in facts.chain.promises)
    return next((reason for reason in reasons if reason is not None), None)


def _broken(check: Check, chain: ChainFacts, now: datetime) -> str | None:
    """Return how a promise is broken now, or None if it is kept or says nothing."""
    try:
        fresh, often = freshness_of(check), frequency_of(check)
        if fresh is not None:
            return _too_old(fresh, chain, now)
        return _too_rare(often, chain, now) if often is not None else None
    except (RuleError, OverflowError, ValueError):  # The report of each test says what is wrong with the clause.
        return None


def _too_old(promise: Freshness, chain: ChainFacts, now: datetime) -> str | None:
    newest = (chain.newest_time if promise.field else None) or chain.watermark
    if newest is None or promise.holds(time := newest.to_datetime(), now):
        return None
    return (
        f"The contract promises data that is at most {promise.threshold} old: the newest is of {_shown(time)}, "
        f"{_age(now - time)} old."
    )


def _too_rare(promise: Frequency, chain: ChainFacts, now: datetime) -> str | None:
    last = chain.changed or chain.published
    if last is None or promise.holds(time := last.to_datetime(), now):
        return None
    missed = counted(promise.periods(time, now) - 1, "period")
    return (
        f"The contract promises updates ({promise.cron or promise.interval}): the last publication is of "
        f"{_shown(time)}, {missed} without an update since."
    )


def _exception(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if facts.chain is None or facts.chain.decision not in (ACCEPTED, ANYWAY):
        return None
    why = f": {facts.chain.reason}" if facts.chain.reason else "."
    return f"The newest data was rejected, and {facts.chain.who or 'a person'} published it anyway{why}"


def _no_data(facts: Facts, runs: Runs, now: datetime) -> str | None:
    is_explained = facts.has_data or facts.inputs.missing or facts.is_discarded
    return None if is_explained else "No data was published yet."


def _waiting(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if facts.inputs.undecided:
        return f"New data of inputs is not published, and waits for a decision: {listed(facts.inputs.undecided)}."
    if facts.has_data or not facts.inputs.missing:
        return None
    return f"No data was published yet: inputs have none either: {listed(list(facts.inputs.missing))}."


def _stale(facts: Facts, runs: Runs, now: datetime) -> str | None:
    if not facts.has_data:
        return None
    if runs.is_paused:
        return "The DAG is paused: no run looks for new data."
    if facts.inputs.behind:
        return f"Inputs have newer data: {listed([_since(newer, now) for newer in facts.inputs.behind])}."
    if runs.next_run is not None and not runs.is_running and runs.next_run + GRACE < now:
        return "A run is overdue: the scheduler has not started it."
    return _old(facts.chain, now) if facts.chain is not None and not facts.chain.promises else None


def _since(newer: NewerInput, now: datetime) -> str:
    """Return an input with newer data, and since when it has it."""
    if newer.published is None:
        return newer.name
    time = newer.published.to_datetime()
    return f"{newer.name} since {_shown(time)}, {_age(now - time)} ago"


def _old(chain: ChainFacts, now: datetime) -> str | None:
    """Return why data is older than it usually is, by the newest updates: publications that moved the watermark."""
    newest = chain.watermark or chain.published
    if newest is None:
        return None
    age, usual = now - newest.to_datetime(), usual_age(chain)
    if age <= (usual or UNKNOWN_AGE):
        return None
    if usual is None:
        why = "nothing says how often it is updated"
    else:
        why = f"it is usually at most {_age(usual)} old before the next update"
    return f"The newest data is of {_shown(newest.to_datetime())}, {_age(age)} old: {why}."


def usual_age(chain: ChainFacts) -> timedelta | None:
    """Return how old the newest data of a dataset may be by its own past: its longest way to its publication, and twice
    the longest gap between publications; at least a day. None with too few updates."""
    if len(chain.updates) < LEAST_UPDATES:
        return None
    times = [update.published.to_datetime() for update in chain.updates]
    gap = max(later - earlier for earlier, later in pairwise(times))
    way = max(u.published.to_datetime() - (u.data or u.published).to_datetime() for u in chain.updates)
    return max(_LEAST_AGE, max(way, timedelta(0)) + _PATIENCE * gap)


_NEWEST_DISCARDED = "The newest input was discarded by a decision: the data is older."

_RULES: tuple[tuple[str, Callable[[Facts, Runs, datetime], str | None]], ...] = (
    (REJECTED, _rejected),
    (FAILING, _failing),
    (UNPUBLISHED, _unpublished),
    (LATE, _late),
    (EXCEPTION, _exception),
    (NO_DATA, _no_data),
    (WAITING, _waiting),
    (STALE, _stale),
    (DISCARDED, lambda facts, runs, now: _NEWEST_DISCARDED if facts.is_discarded else None),
)
"""Word -> its rule, worst first. A rule returns the reason where its word holds."""


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _age(duration: timedelta) -> str:
    """Return a duration in its largest unit.

    >>> _age(timedelta(days=199, hours=5)), _age(timedelta(minutes=90))
    ('199 days', '1 hour')
    """
    seconds = int(duration.total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(seconds // length, unit)
    return counted(seconds, "second")

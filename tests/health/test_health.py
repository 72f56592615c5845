"""The health of a dataset: a table of named cases with literal words, and what holds for every combination of facts."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_odf.contract.service_levels import FREQUENCY, FRESHNESS
from airflow_provider_odf.health.facts import ChainFacts, Facts, Inputs, NewerInput, Update
from airflow_provider_odf.health.health import WORDS, Runs, findings, health, usual_age
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import Check

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def ago(**duration) -> Instant:
    return Instant.from_datetime(NOW - timedelta(**duration))


def fresh_within(threshold: str, months: int, seconds: int) -> Check:
    arguments = {"threshold": threshold, "months": months, "seconds": str(seconds), "timestampField": "t.at"}
    return Check("/servicelevels/freshness", FRESHNESS, "fresh", field="at", severity="warning", arguments=arguments)


def every(interval: str = "", cron: str = "") -> Check:
    arguments = {"interval": interval, "cron": cron}
    return Check(
        "/servicelevels/frequency", FREQUENCY, "often", severity="warning", outcome="informational", arguments=arguments
    )


UNMEASURED = Check(
    *("/servicelevels/freshness", FRESHNESS, "fresh"),
    outcome="informational",
    reason="cannot be measured without timestampField",
    arguments={"threshold": "2d"},
)


def updates(*days: float, way: float = 0) -> tuple[Update, ...]:
    """Updates so many days ago, of data that is older by so many days."""
    return tuple(Update(ago(days=day), ago(days=day + way)) for day in days)


def chain(days: float = 0.1, *, way: float = 0, usual: tuple[float, ...] = (), **facts) -> ChainFacts:
    """A dataset whose newest data was published so many days ago."""
    of_past = updates(*usual, days, way=way)
    return ChainFacts(ago(days=days), ago(days=days + way), of_past, **facts)


DAILY = (3, 2, 1)
CASES = {
    "an hour old, first load": (Facts(chain(0.04), True), Runs(), "fresh"),
    "first load of a month ago": (Facts(chain(29), True), Runs(), "fresh"),
    "a watermark of 199 days ago, loaded today": (Facts(chain(0.1, way=199), True), Runs(), "stale"),
    "one load, 199 days ago": (Facts(chain(199), True), Runs(state="success"), "stale"),
    "daily, today": (Facts(chain(0.5, usual=DAILY), True), Runs(), "fresh"),
    "daily, three days ago": (Facts(chain(3, usual=(6, 5, 4)), True), Runs(state="success"), "stale"),
    "weekly, eight days ago": (Facts(chain(8, usual=(29, 22, 15)), True), Runs(), "fresh"),
    "weekly, a month ago": (Facts(chain(30, usual=(51, 44, 37)), True), Runs(), "stale"),
    "daily with data of last year": (Facts(chain(0.5, way=365, usual=DAILY), True), Runs(), "fresh"),
    "hourly, paused over night": (Facts(chain(0.9, usual=(1.0, 0.98, 0.94)), True), Runs(), "fresh"),
    "promise of a day, kept": (
        Facts(chain(0.5, newest_time=ago(hours=20), promises=(fresh_within("24h", 0, 86400),)), True),
        Runs(),
        "fresh",
    ),
    "promise of a day, broken though nothing arrives": (
        Facts(chain(1.5, newest_time=ago(hours=36), promises=(fresh_within("24h", 0, 86400),)), True),
        Runs(state="success"),
        "late",
    ),
    "promise of a day, broken by new data that is old": (
        Facts(chain(0.01, newest_time=ago(days=9), promises=(fresh_within("24h", 0, 86400),)), True),
        Runs(state="success"),
        "late",
    ),
    "promise of five years, 199 days ago": (
        Facts(chain(199, newest_time=ago(days=199), promises=(fresh_within("P5Y", 60, 0),)), True),
        Runs(),
        "fresh",
    ),
    "promise without a column, by the watermark": (Facts(chain(3, promises=(UNMEASURED,)), True), Runs(), "late"),
    "promise of a hidden column, by the watermark": (
        Facts(chain(3, promises=(fresh_within("2d", 0, 172800),)), True),
        Runs(),
        "late",
    ),
    "promised daily, yesterday": (Facts(chain(1, promises=(every("daily"),)), True), Runs(), "fresh"),
    "promised daily, two days ago": (Facts(chain(2, promises=(every("daily"),)), True), Runs(), "late"),
    "promised by cron": (Facts(chain(0.2, promises=(every(cron="0 * * * *"),)), True), Runs(), "late"),
    "promised daily, published today without a change": (
        Facts(chain(0.1, changed=ago(days=2), promises=(every("daily"),)), True),
        Runs(),
        "late",
    ),
    "promise that is not valid": (Facts(chain(1, promises=(every("fortnightly"),)), True), Runs(), "fresh"),
    "late, and the newest run failed": (
        Facts(chain(2, promises=(every("daily"),)), True),
        Runs(state="failed"),
        "failing",
    ),
    "rejected, and late": (Facts(chain(2, promises=(every("daily"),)), True, undecided=1), Runs(), "rejected"),
    "rejected first load": (Facts(ChainFacts(), undecided=1), Runs(state="failed"), "rejected"),
    "discarded first load": (Facts(ChainFacts(), is_discarded=True), Runs(state="success"), "discarded"),
    "discarded, with earlier data": (Facts(chain(), True, is_discarded=True), Runs(state="success"), "discarded"),
    "published anyway": (
        Facts(chain(decision="published anyway", who="ann", reason="refunds"), True),
        Runs(state="success"),
        "exception",
    ),
    "published as its input was accepted": (Facts(chain(decision="accepted", who="ann"), True), Runs(), "exception"),
    "never run": (Facts(), Runs(), "no data"),
    "only metadata": (Facts(ChainFacts()), Runs(state="success", is_paused=True), "no data"),
    "waiting for an input": (Facts(ChainFacts(), inputs=Inputs(missing=("orders",))), Runs(), "waiting"),
    "an input waits for a decision": (
        Facts(chain(), True, inputs=Inputs((NewerInput("orders", None),), undecided=("orders",))),
        Runs(),
        "waiting",
    ),
    "an input has newer data": (Facts(chain(), True, inputs=Inputs((NewerInput("orders", None),))), Runs(), "stale"),
    "an input has had newer data for two hours": (
        Facts(chain(), True, inputs=Inputs((NewerInput("orders", ago(hours=2)),))),
        Runs(),
        "stale",
    ),
    "paused": (Facts(chain(), True), Runs(is_paused=True), "stale"),
    "overdue": (Facts(chain(), True), Runs(next_run=NOW - timedelta(minutes=30)), "stale"),
    "overdue, while a run is running": (
        Facts(chain(), True),
        Runs("running", next_run=NOW - timedelta(minutes=30)),
        "fresh",
    ),
    "due": (Facts(chain(), True), Runs(next_run=NOW - timedelta(minutes=5)), "fresh"),
    "run marked success without a publication": (
        Facts(chain(), True),
        Runs(state="success", unpublished="manual__1"),
        "unpublished",
    ),
    "first run marked success without a publication": (
        Facts(ChainFacts()),
        Runs(state="success", unpublished="manual__1"),
        "unpublished",
    ),
    "merged an hour ago, and not published": (Facts(chain(), True, unpublished=ago(hours=1)), Runs(), "unpublished"),
    "merged an hour ago by a run that still runs": (
        Facts(chain(), True, unpublished=ago(hours=1)),
        Runs(state="running"),
        "fresh",
    ),
    "merged just now": (Facts(chain(), True, unpublished=ago(minutes=1)), Runs(), "fresh"),
}


@pytest.mark.parametrize("name", CASES)
def test_health(name):
    facts, runs, word = CASES[name]
    assert health(facts, runs, NOW).word == word


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("one load, 199 days ago", "The newest data is of 2025-10-14T12:00:00Z, 199 days old: nothing says how often "
         "it is updated."),
        ("daily, three days ago", "The newest data is of 2026-04-28T12:00:00Z, 3 days old: it is usually at most 2 "
         "days old before the next update."),
        ("promise of a day, broken though nothing arrives", "The contract promises data that is at most 24h old: the "
         "newest is of 2026-04-30T00:00:00Z, 1 day old."),
        ("promised daily, two days ago", "The contract promises updates (daily): the last publication is of "
         "2026-04-29T12:00:00Z, 1 period without an update since."),
        ("published anyway", "The newest data was rejected, and ann published it anyway: refunds"),
        ("published as its input was accepted", "The newest data was rejected, and ann published it anyway."),
        ("run marked success without a publication", "Run manual__1 has the state success, but published nothing: its "
         "publication did not succeed."),
        ("an input has had newer data for two hours", "Inputs have newer data: orders since 2026-05-01T10:00:00Z, 2 "
         "hours ago."),
        ("waiting for an input", "No data was published yet: inputs have none either: orders."),
    ],
)  # fmt: skip
def test_reasons(name, reason):
    facts, runs, _ = CASES[name]
    assert health(facts, runs, NOW).reason == reason


def combinations():
    """Chains, promises, ages, candidates, inputs and states of runs, each with each."""
    promises = ((), (fresh_within("24h", 0, 86400),), (every("P1D"),), (UNMEASURED, every("PT1H")))
    for has_data, promise, days, usual in itertools.product(
        (False, True), promises, (0.01, 1.5, 40, 400), ((), DAILY, (90, 60, 30))
    ):
        known = (
            chain(days, usual=tuple(d + days for d in usual), promises=promise, newest_time=ago(days=days))
            if has_data
            else ChainFacts()
        )
        for undecided, is_discarded, behind, missing in itertools.product(
            (0, 2), (False, True), ((), (NewerInput("a", None),)), ((), ("b",))
        ):
            facts = Facts(known, has_data, undecided, is_discarded, inputs=Inputs(behind, missing))
            for state, is_paused in itertools.product((None, "success", "failed", "running"), (False, True)):
                yield facts, Runs(state, is_paused), days


def test_what_holds_for_every_combination():
    count = 0
    for facts, runs, days in combinations():
        count += 1
        found = list(findings(facts, runs, NOW))
        words = [one.word for one in found]
        assert words == sorted(set(words), key=WORDS.index)
        assert health(facts, runs, NOW).word == (words[0] if words else "fresh")
        assert all(one.reason.endswith(".") and len(one.reason) > 10 for one in found)
        assert ("rejected" in words) == (facts.undecided > 0)
        assert ("failing" in words) == (runs.state == "failed")
        if not facts.has_data:
            assert words, "a dataset without data is never fresh"
            assert not {"late", "stale"} & set(words)
        elif days == 400:
            assert {"late", "stale"} & set(words), "data of last year is fresh for nobody who updates more often"
        # Time alone never improves health.
        later = [one.word for one in findings(facts, runs, NOW + timedelta(days=1))]
        for word in ("late", "stale"):
            assert word not in words or word in later
    assert count == 2 * 4 * 4 * 3 * 16 * 8


def test_the_usual_age_needs_three_updates():
    assert usual_age(ChainFacts(updates=updates(2, 1))) is None
    assert usual_age(ChainFacts(updates=updates(9, 5, 4))) == timedelta(days=8)
    assert usual_age(ChainFacts(updates=updates(9, 5, 4, way=3))) == timedelta(days=11)
    assert usual_age(ChainFacts(updates=updates(0.3, 0.2, 0.1))) == timedelta(days=1)

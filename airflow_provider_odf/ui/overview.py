"""A dataset's first page: its health, what people should know about it, and its facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf import settings
from airflow_provider_odf.chain import dataset_facts
from airflow_provider_odf.cycle import held_back
from airflow_provider_odf.errors import DatasetNotFound
from airflow_provider_odf.health.health import FAILING, REJECTED
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.lineage.naming.uri import from_uri
from airflow_provider_odf.reading.completeness import FEW, GAP, Totals, newest_over
from airflow_provider_odf.ui import verification
from airflow_provider_odf.ui.airflow_api import Failure, Notice, newest_failure, newest_notices, unresumed_task
from airflow_provider_odf.ui.chain_cache import SchemaBlock
from airflow_provider_odf.ui.completeness_page import totals_if_near
from airflow_provider_odf.ui.forms import TokenOf
from airflow_provider_odf.ui.subject import ReadersOf, Subject, SubjectOf
from airflow_provider_odf.wording import counted

_MOST_NEW_BLOCKS = 100
"""Blocks that the page reads to count rows; if more are new, only the page about completeness reads them."""

_NOTICES, _DAYS_OF_NOTICES = 3, timedelta(days=7)
"""Newest tasks with notices that are shown, and how old these may be."""

_AHEAD = timedelta(hours=1)
"""How far a watermark may be ahead of the clock of this machine."""

_RECENT = 14
"""Newest periods of which unusual ones are named."""

_MEANINGS = ("number of the record", "operation: 0 is +A, 1 -R, 2 -C, 3 +C", "time of the merge", "")
"""What system columns are, in the order of the vocabulary; the event time is data."""


async def _failure(request: Request, subject: SubjectOf) -> Failure | None:
    return await newest_failure(request, subject.publication)


async def _unresumed(request: Request, subject: SubjectOf) -> str | None:
    return await unresumed_task(request, subject.publication)


async def _said(request: Request, dag_id: str) -> list[Notice]:
    """Return what tasks said in the newest days."""
    since = str(Instant.from_datetime(datetime.now(UTC) - _DAYS_OF_NOTICES))
    return [notice for notice in await newest_notices(request, dag_id, _NOTICES) if notice.time >= since]


def overview(
    subject: SubjectOf,
    token: TokenOf,
    failure: Annotated[Failure | None, Depends(_failure)],
    task_notices: Annotated[list[Notice], Depends(_said)],
    unresumed: Annotated[str | None, Depends(_unresumed)],
    readers: ReadersOf,
) -> HTMLResponse:
    """Return the dataset at a glance."""
    try:
        state = subject.history.state
        health = subject.health
    except DatasetNotFound:
        return subject.render("never_run.html", "", failure=failure)
    # Somebody has decided since on what the run failed for.
    is_settled = subject.publication.run_state == "failed" and health.word not in (REJECTED, FAILING)
    facts = dataset_facts.facts(subject.dataset, state, subject.positions.published)
    totals, record = totals_if_near(subject, _MOST_NEW_BLOCKS), subject.newest_record
    system = {name: meaning for name, meaning in zip(state.vocab.columns, _MEANINGS, strict=True) if meaning}
    places = {name: place for place, name in enumerate((state.vocab.event_time_column, *system))}  # data comes first
    return subject.render(
        "overview.html",
        "",
        token=token,
        lineage_name=from_uri(subject.dataset.uri).in_edition(settings.read().naming_spec).primary,
        health=health,
        failure=None if is_settled else failure,
        facts=facts,
        columns=sorted(facts["schema"], key=lambda column: places.get(column["name"], -1)),
        system=system,
        event_time=state.vocab.event_time_column,
        said=record[1].columns if record is not None else {},
        terms=record[1].terms if record is not None else {},
        rows=totals.current_rows(state) if totals is not None else None,
        key={name.lower() for name in state.primary_key},
        source=list(dataset_facts.origins(state, " → ")),
        notices=[*_notices_of_triggerer(unresumed), *_notices(subject), *_notices_of_times(totals)],
        is_settled=is_settled,
        task_notices=task_notices,
        readers=readers,
        verification=verification.newest(subject.pages_folder),
        newest_period=newest_over(totals.periods()) if totals is not None else None,
        schema_changes=list(_schema_changes(subject.history.schemas)),
    )


def _notices_of_triggerer(unresumed: str | None) -> Iterator[tuple[str, str]]:
    if unresumed is not None:
        yield "no triggerer", f"Task {unresumed} is deferred, and no triggerer runs to resume it: start one."


def _notices(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield badge and sentence of what people should know about a dataset that looks well, which otherwise only the log
    of a task tells."""
    newest = verification.newest(subject.pages_folder)
    if newest is not None and not (newest.verified or newest.is_running or newest.is_lost):
        yield "verification failed", "The newest one, below, found damage, or could not read the dataset."
    if any(rejection.record.held for rejection in subject.candidates.undecided):
        yield "held back", "An input looks like an error of its source. It waits for a decision below."
    for block_hash in subject.history.headers[-1:]:
        header = held_back.header_of_block(subject.dataset, block_hash)
        if header is not None and not header.is_by_name:
            yield "columns by position", f"Names in files differ: {held_back.header_explanation(header)}."
    results = subject.newest_report[1].results if subject.newest_report is not None else ()
    ignored = sum(not result.is_enforced for result in results)
    if results and ignored == len(results):
        yield "contract not enforced", "No clause of the contract was tested: its report says why."
    elif ignored:
        yield "contract in part", f"Clauses of the contract that are not tested: {ignored} of {len(results)}."


def _notices_of_times(totals: Totals | None) -> Iterator[tuple[str, str]]:
    """Yield what the times of records tell: a watermark in the future, and recent periods that are not as usual."""
    if totals is None:
        return
    now = datetime.now(UTC)
    if totals.watermark is not None and totals.watermark.to_datetime() > now + _AHEAD:
        yield "future times", f"The watermark is in the future, {totals.watermark}: rows of now count as late."
    recent = [period for period in totals.periods()[-_RECENT:] if period.start <= now]
    found = [f"{period.label}: {period.verdict}" for period in recent if period.verdict in (GAP, FEW)]
    late = sum(period.numbers.late for period in recent)
    words = [*found, *([f"{counted(late, 'late record')}"] if late else [])]
    if words:
        yield "completeness", f"Of the newest {len(recent)} {recent[-1].unit.name}s: {', '.join(words)}."


def _schema_changes(schemas: Sequence[SchemaBlock]) -> Iterator[tuple[SchemaBlock, list[str]]]:
    """Yield the blocks that changed columns, newest first, with how, such as ``added price DOUBLE``."""
    for before, after in reversed(list(pairwise(schemas))):
        if changes := list(dataset_facts.column_changes(before.event, after.event)):
            yield after, changes

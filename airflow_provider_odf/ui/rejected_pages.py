"""Pages about rejected candidates, and the forms that decide on them.

To publish a candidate or to test it again, a page starts a run of the dataset's DAG with the decision in its conf: see
`operators.decision`. Only discarding is done by the API server, since it changes nothing but the candidate's record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain.replay import blocks_after, extend, replay
from airflow_provider_odf.chain.slices import count_in_all
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle import decisions, tested
from airflow_provider_odf.cycle.candidates import Rejection, load_record, rejections
from airflow_provider_odf.cycle.tested import rejected_rows
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.operators.decision import run_prefix
from airflow_provider_odf.ui.airflow_api import Run, newest_runs, start_run
from airflow_provider_odf.ui.block_view import BlockView
from airflow_provider_odf.ui.forms import ReasonOf, TokenOf
from airflow_provider_odf.ui.row_table import RowTable, records_table, row_table
from airflow_provider_odf.ui.subject import HashOf, ReadersOf, Subject, SubjectOf

_ROWS, _RUNS = 50, 20
_DECIDED = {
    tested.DISCARDED: "Somebody has discarded this candidate.",
    tested.ACCEPTED: "Somebody has decided to publish this candidate: the next run that merges the same input does.",
    tested.LOST: "The report of this candidate is missing or damaged: trigger the DAG to merge its input again.",
}


@dataclass(frozen=True)
class CandidateView:
    """A rejected candidate: why it was rejected, its rows, and how it differs from the head."""

    subject: Subject
    rejection: Rejection

    @property
    def block_hash(self) -> str:
        return self.rejection.block_hash

    @cached_property
    def status(self) -> str:
        """What became of it: a word of `cycle.tested`."""
        return tested.status(self.subject.dataset, self.rejection, self.subject.history.state.head)

    @cached_property
    def decider(self) -> Author | None:
        """Who decided on it, when and why; None if nobody did, or if a run carries it out."""
        return decisions.decider(self.subject.dataset, self.rejection)

    @cached_property
    def block(self) -> BlockView:
        """Its newest block."""
        return BlockView(self.subject, self.block_hash, self.subject.dataset.block(self.block_hash))

    @property
    def future_watermark(self) -> Instant | None:
        """The watermark that its publication sets, if it is in the future."""
        watermark = self.block.watermark
        return watermark if watermark is not None and watermark > Instant.now() else None

    @property
    def operation_column(self) -> str:
        return self._state.vocab.operation_type_column

    @property
    def is_retestable(self) -> bool:
        """Whether a contract rejected it."""
        return self.rejection.report is not None and not self.rejection.record.held

    @cached_property
    def failing(self) -> RowTable:
        """The rows for which it was rejected."""
        subject = self.subject
        rows = rejected_rows(subject.cached, self.rejection, _ROWS, self._state, sensitive=subject.sensitive)
        return row_table(self._state, rows.columns, list(rows), rows.total, ())

    @cached_property
    def difference(self) -> RowTable:
        """Its records: what it would add to, retract from and correct in the head."""
        subject, total = self.subject, self.rejection.records
        return records_table(subject.cached, self._state, self._first, total, _ROWS, subject.sensitive)

    @cached_property
    def counts(self) -> Mapping[str, int] | None:
        """Numbers of its records by operation; None if a slice cannot be read."""
        own = [data_slice for data_slice in self._state.slices if data_slice.offset_interval.start >= self._first]
        return count_in_all(self.subject.dataset, own, self.operation_column)

    @property
    def _first(self) -> int:
        """The offset of its first record."""
        return self._state.next_offset - self.rejection.records

    @cached_property
    def _state(self) -> ChainState:
        """The state at the candidate. Where it builds on the head, only its own blocks are read."""
        head = self.subject.history.state
        if self.rejection.base != head.head:
            return replay(self.subject.dataset, self.block_hash)
        blocks, _ = blocks_after(self.subject.dataset, head.head, self.block_hash)
        return extend(self.subject.dataset, head, blocks)


async def _runs(request: Request, dag_id: str, block_hash: HashOf) -> list[Run]:
    """Return the runs with decisions on a candidate that pages started, newest first."""
    return await newest_runs(request, dag_id, _RUNS, run_prefix(block_hash))


RunsOf = Annotated[list[Run], Depends(_runs)]


def _view(subject: SubjectOf, block_hash: HashOf) -> CandidateView | None:
    """Return a rejected candidate, or None if it is published.

    :raises DatasetNotFound: there is no such candidate.
    """
    if (rejection := subject.rejection(block_hash)) is not None:
        return CandidateView(subject, rejection)
    if load_record(subject.dataset, block_hash) is not None:
        return None
    raise DatasetNotFound(f"dataset {subject.publication.alias} has no rejected candidate {block_hash}")


ViewOf = Annotated[CandidateView | None, Depends(_view)]


def candidates(subject: SubjectOf) -> HTMLResponse:
    """Return the rejected candidates of a dataset, those that wait for a decision first."""
    newest_first = reversed(list(rejections(subject.dataset)))
    views = sorted((CandidateView(subject, r) for r in newest_first), key=lambda view: view.status != tested.WAITING)
    return subject.render("candidates.html", "/rejected", views=views)


def candidate(
    subject: SubjectOf, block_hash: HashOf, view: ViewOf, token: TokenOf, runs: RunsOf, readers: ReadersOf
) -> Response:
    """Return a rejected candidate; that of a published one leads to its report."""
    if view is None:
        return subject.redirect(f"/contract/{block_hash}")
    return subject.render("candidate.html", "/rejected", view=view, token=token, runs=runs, readers=readers)


def _waiting(view: ViewOf, runs: RunsOf) -> CandidateView:
    """Return the candidate of a form.

    :raises HTTPException: it is published, or somebody decided on it.
    """
    if view is None:
        raise HTTPException(409, "This candidate is published: nothing is left to decide.")
    if view.status in _DECIDED:
        raise HTTPException(409, _DECIDED[view.status])
    if (run := next((r for r in runs if r.is_active), None)) is not None:
        raise HTTPException(409, f"{run.user or 'Somebody'} has decided: run {run.run_id} is {run.state}.")
    return view


WaitingOf = Annotated[CandidateView, Depends(_waiting)]


async def publish(request: Request, view: WaitingOf, reason: ReasonOf) -> RedirectResponse:
    """Start the run that publishes a candidate. A candidate has at most one."""
    return await _start(request, view, decisions.PUBLISH, reason)


async def retest(request: Request, view: WaitingOf, reason: ReasonOf) -> RedirectResponse:
    """Start the run that tests a candidate again."""
    decisions.to_test_again(view.subject.dataset, view.rejection)
    return await _start(request, view, decisions.RETEST, reason)


def discard(view: WaitingOf, reason: ReasonOf, user: GetUserDep) -> RedirectResponse:
    """Discard a candidate."""
    dataset, rejection = view.subject.dataset, view.rejection
    if view.status == tested.SUPERSEDED:
        raise InvalidInput(f"{rejection.ref} is superseded: the head has moved since, so no decision is needed")
    try:
        decisions.discard(dataset, rejection, Author(user.get_name(), reason))
    except (OSError, StorageError) as e:
        command = f"odf rejected discard {dataset.alias} {rejection.ref} --store STORE"
        raise HTTPException(
            503, f"The API server cannot write to the store. Where that is allowed, run: {command}"
        ) from e
    return view.subject.redirect(f"/rejected/{view.block_hash}")


async def _start(request: Request, view: CandidateView, action: str, reason: str) -> RedirectResponse:
    """Start the run for a decision.

    :raises HTTPException: somebody has started it before, or Airflow refuses it.
    """
    publication, sources = view.subject.publication, view.subject.history.state.push_sources
    prefix = run_prefix(view.block_hash)
    name = f"{prefix}{action}"
    if action != decisions.PUBLISH:
        name += f"_{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
    decision = {"dataset": publication.alias, action: view.block_hash, "reason": reason}
    conf: dict[str, Any] = {"decision": decision}
    if sources:  # Airflow checks the conf of a DAG with several push sources: it must name one.
        conf["source"] = next(iter(sources))
    try:
        await start_run(request, publication.dag_id, name, conf)
    except HTTPException as e:
        # Of two requests at once, the database may refuse one without a reason.
        runs = await newest_runs(request, publication.dag_id, _RUNS, prefix)
        if (run := next((r for r in runs if r.run_id == name), None)) is None:
            raise
        raise HTTPException(
            409,
            f"{run.user or 'Somebody'} has decided: run {name} is {run.state}. If it failed, correct the reason, and "
            "clear the run in Airflow.",
        ) from e
    return view.subject.redirect(f"/rejected/{view.block_hash}")

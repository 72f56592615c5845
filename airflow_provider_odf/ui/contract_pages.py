"""Pages about what was published and why: the publications of a dataset, the clauses of its contract, and the report
of one publication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import HTTPException, Query
from fastapi.responses import HTMLResponse, Response

from airflow_provider_odf.chain.publications import PUBLISHED, newest
from airflow_provider_odf.cycle import candidates, tested
from airflow_provider_odf.errors import DatasetNotFound
from airflow_provider_odf.ui.block_pages import LinkedOf, PublishedOf
from airflow_provider_odf.ui.block_view import BlockView
from airflow_provider_odf.ui.subject import HashOf, SubjectOf

if TYPE_CHECKING:
    from airflow_provider_odf.chain.publications import Publication
    from airflow_provider_odf.cycle.tested import Tested

_ROWS_OF_A_PAGE = 50
_CELLS = {
    "": ("not run", "–"),
    "pass": ("passed", "✓"),
    "fail": ("failed", "✗"),
    "warning": ("warning", "!"),
    "error": ("could not be evaluated", "?"),
    "unsupported": ("not enforced", "–"),
    "informational": ("not enforced", "–"),
}
"""State of a clause -> words for readers, and the sign of its cell."""


def publications(subject: SubjectOf, before: Annotated[int | None, Query()] = None) -> HTMLResponse:
    """Return the publications of a dataset, newest first: what was merged when, and who published it when and why.

    :param before: number of a block: only publications of earlier blocks.
    """
    history = subject.positions.published
    rows = newest(history, _ROWS_OF_A_PAGE, before)
    views = [BlockView(subject, entry.block_hash, subject.dataset.block(entry.block_hash)) for entry, _ in rows]
    last = rows[-1][0].last if rows else None
    return subject.render(
        "publications.html",
        "/publications",
        rows=list(zip(rows, views, strict=True)),
        older=last if rows and last != history.entries[0].last else None,
        total=len(history.entries),
    )


def contract(subject: SubjectOf) -> HTMLResponse:
    """Return the clauses of the contract by publication, newest first."""

    def path_of(test: Tested) -> str:
        page = "contract" if test.status == tested.PUBLISHED else "rejected"
        return subject.path(f"/{page}/{test.block_hash}")

    tests = [test for test in subject.tests if test.record.report is not None]
    made = {test.block_hash: subject.publication_of(test.block_hash) for test in tests}
    return subject.render(
        "contract.html",
        "/contract",
        tests=tests,
        clauses=tested.clauses(tests),
        cells=_CELLS,
        terms=next((test.record.terms for test in tests if test.record.terms), {}),
        path_of=path_of,
        publications=made,
        decisions=[test for test in tests if _is_decided(test, made[test.block_hash])],
    )


def _is_decided(test: Tested, publication: Publication | None) -> bool:
    """Return whether a person decided on what was tested."""
    if publication is not None:
        return publication.decision != PUBLISHED
    return test.record.decided_by is not None


def report(subject: SubjectOf, block_hash: HashOf) -> Response:
    """Return the report on a publication; that on a rejected candidate is the candidate's page."""
    record = candidates.load_record(subject.dataset, block_hash)
    if record is None:
        raise DatasetNotFound(f"block {block_hash} of {subject.publication.alias} has no contract report")
    if subject.rejection(block_hash) is not None:
        return subject.redirect(f"/rejected/{block_hash}")
    block = subject.dataset.block(block_hash)
    return subject.render(
        "report.html",
        "/contract",
        record=record,
        block_hash=block_hash,
        block=block,
        published=subject.positions.published.since(block.sequence_number, block.system_time),
        publication=subject.publication_of(block_hash, block),
        blocks_path=subject.path("/blocks/"),
    )


def linked_report(linked: LinkedOf, subject: PublishedOf) -> Response:
    """Return why the candidate of a link was held back, and its contract report."""
    record = candidates.load_record(linked.dataset, linked.block_hash)
    if record is None:
        raise HTTPException(404, f"block {linked.block_hash} of {linked.dataset.alias} has no contract report")
    if subject is not None:
        return subject.redirect(f"/contract/{linked.block_hash}")
    return linked.render("report.html", record=record)

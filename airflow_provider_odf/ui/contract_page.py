"""Pages about the contract of a dataset: its clauses by publication, and the report of one publication."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fastapi import status
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.contract.report import state
from airflow_provider_odf.cycle import rejected, tested
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.ui.dataset_pages import SubjectOf

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.tested import Clause, Tested
    from airflow_provider_odf.ui.subject import Subject

_NOT_RUN = ("not run", "–")
_CELLS = {
    "pass": ("passed", "✓"),
    "fail": ("failed", "✗"),
    "warning": ("warning", "!"),
    "error": ("could not be evaluated", "?"),
    "unsupported": ("not enforced", "–"),
    "informational": ("not enforced", "–"),
}
"""State of a clause -> words for readers, and the sign of its cell."""


def contract(subject: SubjectOf) -> HTMLResponse:
    """Return the clauses of the contract by publication, newest first."""
    tests = [test for test in subject.tests if test.record.report is not None]
    return subject.render(
        "contract.html",
        "/contract",
        tests=tests,
        matrix=[(clause, _cells(clause, tests)) for clause in tested.clauses(tests)],
        terms=next((test.record.terms for test in tests if test.record.terms), {}),
        path_of=partial(path_of_test, subject),
    )


def report(subject: SubjectOf, block_hash: str) -> Response:
    """Return the report on a publication; that on a rejected candidate is the candidate's page."""
    if not is_hash(block_hash):
        raise InvalidInput(f"{block_hash[:80]!r} is not the hash of a block")
    record = rejected.load(subject.dataset, block_hash)
    if record is None:
        raise DatasetNotFound(f"block {block_hash} of {subject.publication.alias} has no contract report")
    if any(rejection.block_hash == block_hash for rejection in rejected.rejections(subject.dataset)):
        return RedirectResponse(subject.path(f"/rejected/{block_hash}"), status.HTTP_303_SEE_OTHER)
    block = subject.dataset.block(block_hash)
    return subject.render(
        "report.html",
        "/contract",
        record=record,
        block_hash=block_hash,
        block=block,
        published=subject.positions.published.since(block.sequence_number, block.system_time),
        blocks_path=subject.path("/blocks/"),
    )


def path_of_test(subject: Subject, test: Tested) -> str:
    """Return the path of the page about a test."""
    page = "contract" if test.status == tested.PUBLISHED else "rejected"
    return subject.path(f"/{page}/{test.block_hash}")


def _cells(clause: Clause, tests: Sequence[Tested]) -> list[tuple[str, str, str]]:
    """Return class, words and sign of each cell of a row of the matrix."""
    cells = []
    for test in tests:
        result = clause.results.get(test.block_hash)
        word = state(result) if result is not None else ""
        cells.append((word, *_CELLS.get(word, _NOT_RUN)))
    return cells


PAGES: Mapping[str, Callable[..., Response]] = {"/contract": contract, "/contract/{block_hash}": report}
"""Path after that of the DAG -> page."""

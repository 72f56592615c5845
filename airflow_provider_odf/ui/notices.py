"""What people should know about a dataset that looks well: things that otherwise only the log of a task tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import matched_headers
from airflow_provider_odf.ui import verification

if TYPE_CHECKING:
    from airflow_provider_odf.ui.subject import Subject


@dataclass(frozen=True)
class Notice:
    """A badge, and what it means as a sentence."""

    word: str
    reason: str


def notices(subject: Subject) -> Iterator[Notice]:
    """Yield what a dataset's page tells first."""
    yield from _damage(subject)
    if any(rejection.record.held for rejection in subject.candidates.undecided):
        yield Notice("held back", "An input looks like an error of its source. It waits for a decision below.")
    yield from _by_position(subject)
    yield from _not_enforced(subject)


def _damage(subject: Subject) -> Iterator[Notice]:
    found = verification.newest(subject.pages_folder)
    if found is not None and not (found.verified or found.is_running or found.is_lost):
        yield Notice("verification failed", "The newest one, below, found damage, or could not read the dataset.")


def _by_position(subject: Subject) -> Iterator[Notice]:
    for block_hash in subject.history.headers[-1:]:
        header = matched_headers.of_block(subject.dataset, block_hash)
        if header is not None and not header.is_by_name:
            yield Notice("columns by position", f"Names in files differ: {matched_headers.explanation(header)}.")


def _not_enforced(subject: Subject) -> Iterator[Notice]:
    results = subject.newest_report[1].results if subject.newest_report is not None else ()
    ignored = sum(not result.is_enforced for result in results)
    if results and ignored == len(results):
        yield Notice("contract not enforced", "No clause of the contract was tested: its report says why.")
    elif ignored:
        yield Notice("contract in part", f"Clauses of the contract that are not tested: {ignored} of {len(results)}.")

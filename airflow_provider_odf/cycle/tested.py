"""The newest publications and candidates of a dataset that a contract was tested on, or that were held back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import rejected

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.publications import PublishedHistory
    from airflow_provider_odf.cycle.rejected import Record, Rejection
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.protocol import CheckResult, ContractReport

PUBLISHED, WAITING, DISCARDED, ACCEPTED = "published", "waiting", "discarded", "accepted"
SUPERSEDED, LOST = "superseded", "unknown"

_MOST_BLOCKS = 300
"""Blocks in which publications are looked for."""


@dataclass(frozen=True)
class Tested:
    """A candidate with a record, and what became of it: a word of the module. ``time`` is that of its publication, else
    of its merge."""

    block_hash: str
    time: Instant
    record: Record
    status: str


@dataclass(frozen=True)
class Clause:
    """A clause and its results by block; ``newest`` is the newest result. ``is_current`` says whether the newest report
    has the clause."""

    newest: CheckResult
    results: Mapping[str, CheckResult]
    is_current: bool


def status(dataset: Dataset, rejection: Rejection, head: str) -> str:
    """Return what became of a rejected candidate.

    ``waiting`` needs a decision, ``accepted`` is published once its input is merged again, ``superseded`` no longer
    builds on the head, ``unknown`` has a missing or damaged record.
    """
    if rejection.record == rejected.LOST:
        return LOST
    if rejection.record.is_discarded:
        return DISCARDED
    if rejected.is_accepted(dataset, rejection.record):
        return ACCEPTED
    return WAITING if rejection.base == head else SUPERSEDED


def newest(history: PublishedHistory, n: int) -> list[Tested]:
    """Return the ``n`` newest tests of a history and of candidates, newest first.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    dataset, head = history.dataset, history.hashes[-1]
    held = [
        Tested(r.block_hash, r.system_time, r.record, status(dataset, r, head)) for r in rejected.rejections(dataset)
    ]
    every = [*reversed(held), *islice(_published(history), n)]
    return sorted(every, key=lambda tested: tested.time, reverse=True)[:n]


def newest_report(dataset: Dataset, head: str) -> tuple[str, ContractReport] | None:
    """Return the block and the contract report of the newest data of a history, or None if none was tested on it.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    match rejected.of_data(dataset, dataset.data_blocks(head, _MOST_BLOCKS)):
        case (block_hash, _, record) if record is not None and record.report is not None:
            return block_hash, record.report
    return None


def sensitive_columns(tests: Sequence[Tested]) -> frozenset[str]:
    """Return the columns that were sensitive at one of the tests, in lower case."""
    reports = (tested.record.report for tested in tests)
    return frozenset(name.lower() for report in reports if report is not None for name in report.sensitive_columns)


def clauses(tests: Sequence[Tested]) -> list[Clause]:
    """Return the clauses of tests, in the order of the newest report, then those that only earlier reports have.

    :param tests: newest first.
    """
    found: dict[tuple[str, str, str], dict[str, CheckResult]] = {}
    reports = [(t.block_hash, t.record.report) for t in tests if t.record.report is not None]
    for block_hash, report in reports:
        for result in report.results:
            found.setdefault((result.path, result.kind, result.description), {})[block_hash] = result
    first = reports[0][0] if reports else None
    return [Clause(next(iter(by_block.values())), by_block, first in by_block) for by_block in found.values()]


def _published(history: PublishedHistory) -> Iterator[Tested]:
    for block_hash, block in history.dataset.data_blocks(history.hashes[-1], _MOST_BLOCKS):
        record = rejected.load(history.dataset, block_hash)
        if record is not None:
            time = history.since(block.sequence_number, block.system_time)
            yield Tested(block_hash, time, record, PUBLISHED)

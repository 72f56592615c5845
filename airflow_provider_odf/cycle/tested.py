"""The newest publications and candidates of a dataset that were tested or held back, and rows that were rejected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain.record_rows import rows_at
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.sensitivity import masked
from airflow_provider_odf.cycle import candidates

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.publications import PublishedHistory
    from airflow_provider_odf.chain.record_rows import Rows
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.candidates import Record, Rejection
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.protocol import CheckResult

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
    if rejection.record == candidates.LOST:
        return LOST
    if rejection.record.is_discarded:
        return DISCARDED
    if candidates.is_accepted(dataset, rejection.record):
        return ACCEPTED
    return WAITING if rejection.base == head else SUPERSEDED


def newest(history: PublishedHistory, n: int) -> list[Tested]:
    """Return the ``n`` newest tests of a history and of candidates, newest first.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    dataset, head = history.dataset, history.hashes[-1]
    held = [
        Tested(r.block_hash, r.system_time, r.record, status(dataset, r, head)) for r in candidates.rejections(dataset)
    ]
    every = [*reversed(held), *islice(_published(history), n)]
    return sorted(every, key=lambda tested: tested.time, reverse=True)[:n]


def newest_record(dataset: Dataset, head: str) -> tuple[str, Record] | None:
    """Return the block and the record of the newest data of a history, or None if it was not tested.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    match candidates.newest_record(dataset, dataset.data_blocks(head, _MOST_BLOCKS)):
        case (block_hash, _, record) if record is not None:
            return block_hash, record
    return None


def sensitive_columns(tests: Sequence[Tested]) -> frozenset[str]:
    """Return the columns that were sensitive at one of the tests, in lower case."""
    reports = (tested.record.report for tested in tests)
    return frozenset(name.lower() for report in reports if report is not None for name in report.sensitive_columns)


def clauses(tests: Sequence[Tested]) -> list[Clause]:
    """Return the clauses of tests, in the order of the newest report, then those that only earlier reports have.

    :param tests: newest first.
    """
    results: dict[tuple[str, str, str], dict[str, CheckResult]] = {}
    reports = [(t.block_hash, t.record.report) for t in tests if t.record.report is not None]
    for block_hash, report in reports:
        for result in report.results:
            results.setdefault((result.path, result.kind, result.description), {})[block_hash] = result
    first = reports[0][0] if reports else None
    return [Clause(next(iter(by_block.values())), by_block, first in by_block) for by_block in results.values()]


def _published(history: PublishedHistory) -> Iterator[Tested]:
    for block_hash, block in history.dataset.data_blocks(history.hashes[-1], _MOST_BLOCKS):
        record = candidates.load_record(history.dataset, block_hash)
        if record is not None:
            time = history.since(block.sequence_number, block.system_time)
            yield Tested(block_hash, time, record, PUBLISHED)


FAILED = "failed clauses"


@dataclass(frozen=True)
class RejectedRows:
    """The first rejected rows, in offset order. Values of sensitive columns are masked. The column `FAILED` has the
    clauses that a row breaks. ``total`` is the number of all rejected rows."""

    rows: Rows
    total: int
    clauses: Mapping[int, str]
    """Offset of a row -> clauses that it breaks."""
    sensitive: frozenset[str]
    """Names of columns in lower case."""
    offset_column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.rows.columns, FAILED) if self.clauses else self.rows.columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            shown = masked(row, self.sensitive)
            if self.clauses:
                shown[FAILED] = self.clauses[row[self.offset_column]]
            yield shown


def rejected_rows(
    dataset: Dataset,
    rejection: Rejection,
    limit: int,
    state: ChainState | None = None,
    *,
    sensitive: Collection[str] = (),
) -> RejectedRows:
    """Return at most so many rows for which a candidate was rejected: those that its report names, or, where its input
    was held back, its records.

    :param state: of the chain at the candidate, by default read from the chain.
    :param sensitive: columns to mask beside those of the report, in lower case.
    :raises ChainCorrupted: a slice is missing or no Parquet file of the dataset.
    """
    report = rejection.report
    state = state or replay(dataset, rejection.block_hash)
    clauses: dict[int, list[str]] = {}
    offsets: Sequence[int]
    for result in report.results if report is not None else ():
        if result.outcome == "fail":
            for offset in result.offsets:
                clauses.setdefault(offset, []).append(result.description)
    if rejection.record.held:
        clauses, total = {}, rejection.records
        offsets = range(state.next_offset - total, state.next_offset)[:limit]
    else:
        offsets, total = sorted(clauses)[:limit], len(clauses)
    rows = rows_at(dataset, offsets, state)
    reported = {name.lower() for name in report.sensitive_columns} if report is not None else set()
    return RejectedRows(
        rows,
        total,
        {offset: "; ".join(descriptions) for offset, descriptions in clauses.items()},
        frozenset({*sensitive, *reported}),
        state.vocab.offset_column,
    )

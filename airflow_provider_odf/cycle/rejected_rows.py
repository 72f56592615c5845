"""The rows for which a candidate was rejected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain.record_rows import rows_at
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.sensitivity import masked

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.record_rows import Rows
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.rejected import Rejection

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
    most: int,
    state: ChainState | None = None,
    cache: Path | None = None,
    *,
    sensitive: Collection[str] = (),
) -> RejectedRows:
    """Return at most so many rows for which a candidate was rejected: those that its report names, or, where its input
    was held back, its records.

    :param state: of the chain at the candidate, by default read from the chain.
    :param sensitive: columns to mask beside those of the report, in lower case.
    :param cache: directory with the record of checked slices, see `chain.checked_slices`.
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
        offsets = range(state.next_offset - total, state.next_offset)[:most]
    else:
        offsets, total = sorted(clauses)[:most], len(clauses)
    rows = rows_at(dataset, offsets, state, cache=cache)
    reported = {name.lower() for name in report.sensitive_columns} if report is not None else set()
    return RejectedRows(
        rows,
        total,
        {offset: "; ".join(descriptions) for offset, descriptions in clauses.items()},
        frozenset({*sensitive, *reported}),
        state.vocab.offset_column,
    )

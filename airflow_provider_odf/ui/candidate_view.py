"""What the page of a rejected candidate shows: why it was rejected, its rows, and how it differs from the head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import json_rows
from airflow_provider_odf.chain.replay import blocks_after, extend, replay
from airflow_provider_odf.chain.slice_scan import OffsetRange
from airflow_provider_odf.chain.timeline import count_in_all
from airflow_provider_odf.contract.sensitivity import masked
from airflow_provider_odf.cycle import rejected, tested
from airflow_provider_odf.cycle.rejected_rows import rejected_rows
from airflow_provider_odf.errors import DatasetNotFound
from airflow_provider_odf.reading.scan import HistoryScan

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.rejected import Rejection
    from airflow_provider_odf.protocol import ContractReport
    from airflow_provider_odf.ui.subject import Subject

ROWS = 50


@dataclass(frozen=True)
class Table:
    """The first rows of a table, with sensitive values masked, and the number of all."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    total: int


@dataclass(frozen=True)
class CandidateView:
    """A rejected candidate of a dataset."""

    subject: Subject
    rejection: Rejection

    @property
    def block_hash(self) -> str:
        return self.rejection.block_hash

    @property
    def report(self) -> ContractReport | None:
        return self.rejection.report

    @cached_property
    def status(self) -> str:
        """What became of it: a word of `cycle.tested`."""
        return tested.status(self.subject.dataset, self.rejection, self.subject.history.state.head)

    @property
    def operation_column(self) -> str:
        return self._state.vocab.operation_type_column

    @property
    def is_retestable(self) -> bool:
        """Whether a contract rejected it."""
        return self.report is not None and not self.rejection.record.held

    @cached_property
    def failing(self) -> Table:
        """The rows for which it was rejected."""
        subject = self.subject
        found = rejected_rows(
            *(subject.dataset, self.rejection, ROWS, self._state, subject.pages_folder), sensitive=subject.sensitive
        )
        return Table(found.columns, list(found), found.total)

    @cached_property
    def difference(self) -> Table:
        """Its records: what it would add to, retract from and correct in the head."""
        state, first = self._state, self._state.next_offset - self.rejection.records
        offsets = OffsetRange(state.vocab.offset_column, first, min(first + ROWS, state.next_offset) - 1)
        table = HistoryScan(self.subject.dataset, state, self.subject.pages_folder, offsets=offsets).to_table()
        rows = json_rows.rows(table, state.vocab.operation_type_column)
        return Table(table.column_names, [masked(row, self.subject.sensitive) for row in rows], self.rejection.records)

    @cached_property
    def counts(self) -> Mapping[str, int] | None:
        """Numbers of its records by operation; None if a slice cannot be read."""
        state, first = self._state, self._state.next_offset - self.rejection.records
        own = [data_slice for data_slice in state.slices if data_slice.offset_interval.start >= first]
        return count_in_all(self.subject.dataset, own, state.vocab.operation_type_column)

    @cached_property
    def _state(self) -> ChainState:
        """The state at the candidate. Where it builds on the head, only its own blocks are read."""
        head = self.subject.history.state
        if self.rejection.base != head.head:
            return replay(self.subject.dataset, self.block_hash)
        blocks, _ = blocks_after(self.subject.dataset, head.head, self.block_hash)
        return extend(self.subject.dataset, head, blocks)


def candidate_view(subject: Subject, block_hash: str) -> CandidateView:
    """Return the rejected candidate that ends in a block.

    :raises DatasetNotFound: there is none.
    """
    for rejection in rejected.rejections(subject.dataset):
        if rejection.block_hash == block_hash:
            return CandidateView(subject, rejection)
    raise DatasetNotFound(f"dataset {subject.publication.alias} has no rejected candidate {block_hash[:80]}")

"""Tables of rows on pages: sensitive values are masked, and the cells that a correction changed are marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.contract.sensitivity import masked
from airflow_provider_odf.merge_strategies import CORRECT_FROM, CORRECT_TO, OPERATION_NAMES
from airflow_provider_odf.reading.scan import HistoryScan
from airflow_provider_odf.records import json_rows

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState

_CORRECTION = {OPERATION_NAMES[CORRECT_FROM], OPERATION_NAMES[CORRECT_TO]}


@dataclass(frozen=True)
class RowTable:
    """The first rows of a table, and the number of all. ``changed`` are the columns of each row whose cells differ from
    the other row of its correction; none of other rows."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    total: int
    changed: Sequence[Collection[str]]


def row_table(
    state: ChainState, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], total: int, sensitive: Collection[str]
) -> RowTable:
    """Return rows for a page.

    :param sensitive: names of columns in lower case.
    """
    return RowTable(columns, [masked(row, sensitive) for row in rows], total, _changed(rows, state))


def records_table(
    dataset: Dataset, state: ChainState, first: int, total: int, most: int, sensitive: Collection[str]
) -> RowTable:
    """Return the first of ``total`` records from an offset on, in the order of offsets.

    :param most: number of records to show.
    :raises ChainCorrupted: a slice is missing, or differs from its hash.
    """
    offsets = OffsetRange(state.vocab.offset_column, first, first + min(most, total) - 1)
    table = HistoryScan(dataset, state, offsets=offsets).to_table()
    rows = list(json_rows.rows(table, state.vocab.operation_type_column))
    return row_table(state, table.column_names, rows, total, sensitive)


def _changed(rows: Sequence[Mapping[str, Any]], state: ChainState) -> list[set[str]]:
    """Return the columns that a correction changed, for each of its two rows. These are next to each other, and have
    the same key. System columns do not count, other than the event time, which is data."""
    vocab = state.vocab
    system = {vocab.offset_column, vocab.operation_type_column, vocab.system_time_column}
    key = {name.lower() for name in state.primary_key}
    changed: list[set[str]] = [set() for _ in rows]
    at = 0
    while at + 1 < len(rows):
        one, other = rows[at], rows[at + 1]
        of_both = {one.get(vocab.operation_type_column), other.get(vocab.operation_type_column)}
        differing = {name for name in one.keys() - system if one[name] != other[name]}
        if of_both == _CORRECTION and not any(name.lower() in key for name in differing):
            changed[at] = changed[at + 1] = differing
            at += 1
        at += 1
    return changed

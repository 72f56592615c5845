"""Rows of a dataset for users and scripts, read with pyarrow alone: the newest records of its history, or its current
rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import checked_slices, current_rows, slices
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.records import json_rows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Rows:
    """Rows as JSON values, created during iteration: a million of them need no more memory than in Arrow."""

    columns: tuple[str, ...]
    table: pa.Table | None = None
    """None before the columns are known."""
    operation_column: str | None = None

    def __len__(self) -> int:
        return 0 if self.table is None else self.table.num_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(()) if self.table is None else json_rows.rows(self.table, self.operation_column)

    def first(self, n: int) -> Rows:
        return self if self.table is None else replace(self, table=self.table.slice(0, n))

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table with the types of the dataset's columns."""
        import pyarrow as pa

        return pa.table({}) if self.table is None else self.table


def tail_rows(dataset: Dataset, n: int, ref: str = HEAD, *, cache: Path | None = None) -> Rows:
    """Return the ``n`` newest rows of the history up to a ref or block hash, in the order of offsets.

    Only the slices with these rows are read. There are no columns before the schema is known.

    :param cache: directory with the record of checked slices, see `chain.checked_slices`.
    :raises DatasetNotFound: the dataset has no such ref.
    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    state = replay(dataset, ref)
    columns, table = tuple(_columns(state)), _newest(dataset, state, cache, n)
    return Rows(columns, table, state.vocab.operation_type_column)


def rows_at(dataset: Dataset, offsets: Sequence[int], state: ChainState, *, cache: Path | None = None) -> Rows:
    """Return the rows at these offsets of the history up to a state. Only the slices with these rows are read.

    :param offsets: in ascending order.
    :param cache: directory with the record of checked slices, see `chain.checked_slices`.
    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    import pyarrow as pa

    columns, tables = tuple(_columns(state)), []
    for data_slice in state.slices:
        start, end = data_slice.offset_interval.start, data_slice.offset_interval.end
        if indices := [offset - start for offset in offsets if start <= offset <= end]:
            checked_slices.check(dataset, state.dataset_id, [data_slice], cache)
            tables.append(slices.read(dataset, data_slice, state.row_schema()).take(slices.int64_array(indices)))
    table = pa.concat_tables(tables) if tables else None
    return Rows(columns, table, state.vocab.operation_type_column)


def state_rows(dataset: Dataset, ref: str = HEAD, *, cache: Path | None = None) -> Rows:
    """Return the current rows at a ref or block hash, sorted by key, or by offset if there is no key.

    The columns of offset and operation are omitted.

    :param cache: directory with the record of checked slices, see `chain.checked_slices`.
    :raises DatasetNotFound: the dataset has no such ref.
    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    state = replay(dataset, ref)
    columns = tuple(current_columns(state))
    checked_slices.check(dataset, state.dataset_id, state.slices, cache)
    return Rows(columns, current_rows.table(dataset, state, columns))


def current_columns(state: ChainState) -> list[str]:
    """Return the columns of current rows: all but those of offset and operation."""
    hidden = (state.vocab.offset_column, state.vocab.operation_type_column)
    return [name for name in _columns(state) if name not in hidden]


def _columns(state: ChainState) -> list[str]:
    schema = state.row_schema()
    return [] if schema is None else list(schema.names)


def _newest(dataset: Dataset, state: ChainState, cache: Path | None, n: int | None = None) -> pa.Table | None:
    """Return the history, or its ``n`` newest rows; None before the columns are known."""
    import pyarrow as pa

    first = 0 if n is None else state.next_offset - n
    newest = [s for s in state.slices if s.offset_interval.end >= first]
    checked_slices.check(dataset, state.dataset_id, newest, cache)
    schema, tables, missing = state.row_schema(), [], n
    for data_slice in reversed(newest):
        tables.append(slices.read(dataset, data_slice, schema, missing))
        missing = None if missing is None else missing - tables[-1].num_rows
    if schema is None:
        return None
    return pa.concat_tables(reversed(tables)) if tables else schema.empty_table()

"""Merge a file in columns, if Arrow can do all of it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.columnar import additions, csv_input, parquet_input, snapshot
from airflow_provider_odf.engine.columnar.state import State, has_types, open_state, read_keys
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.engine.slice_file import SlicePlan, write_file
from airflow_provider_odf.engine.slices import filled
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.protocol import MergeInput, MergeRequest, NewSlice, PositionalHeader

_KINDS = ("Append", "Ledger", "Snapshot")


class ColumnInput(Protocol):
    """An open input whose columns are known."""

    @property
    def layout(self) -> Layout: ...

    @property
    def types(self) -> T.StructType: ...

    @property
    def notices(self) -> tuple[str, ...]: ...

    @property
    def headers(self) -> tuple[PositionalHeader, ...]: ...

    def read(self, most: int) -> pa.Table | None:
        """Return the rows, None if they take more than ``most`` bytes, or if only Spark can read or refuse them."""


@dataclass(frozen=True)
class ColumnarMerge:
    """The records of an input, with OP and the columns."""

    records: Iterator[pa.Table]
    is_input_empty: bool
    state: State | None = None
    """The state before the merge."""

    def write(self, plan: SlicePlan) -> NewSlice | None:
        """Write the slice. Return None without records.

        :raises InvalidQuery, InternalError: as ``write_file`` does.
        """
        return write_file((filled(table, plan) for table in self.records), plan)


def open_input(request: MergeRequest, source: MergeInput, stored: pa.Schema | None) -> ColumnInput | None:
    """Open an input for a merge in columns. Return None if it needs Spark.

    :raises InvalidQuery: an option, the header, names, types, keys or the stored schema do not allow it.
    """
    if request.merge.kind not in _KINDS:
        return None
    return parquet_input.open_input(request, source, stored) or csv_input.open_input(request, source, stored)


def prepare(new: ColumnInput, history: History, plan: SlicePlan, most: int) -> ColumnarMerge:
    """Read an input, and the keys of the state. Rows in memory take at most ``most`` bytes.

    :raises NeedsSpark: Arrow cannot merge it, or may read it differently. Spark also has the messages for what is not
        valid.
    """
    table = new.read(most)
    if table is None and history.merge.kind == "Append" and isinstance(new, csv_input.CsvInput):
        return ColumnarMerge(additions.from_disk(new.parts(), new.layout, plan), False)
    if table is None:
        raise NeedsSpark
    left = most - table.nbytes
    if history.merge.kind == "Snapshot":
        return _snapshot(table, new.layout, history, left)
    rows = table
    if history.merge.kind == "Ledger":
        unseen = additions.unseen(table, history, left) if has_types(history) else None
        if unseen is None:
            raise NeedsSpark
        rows = unseen
    in_order = additions.by_event_time(rows, new.layout, plan)
    return ColumnarMerge(snapshot.additions(in_order), table.num_rows == 0)


def _snapshot(table: pa.Table, layout: Layout, history: History, left: int) -> ColumnarMerge:
    rows = snapshot.in_order(table, layout)
    if rows is None:
        raise NeedsSpark
    if history.cache is None and not history.slices:
        return ColumnarMerge(snapshot.additions(rows), table.num_rows == 0)
    state = open_state(history, left)
    if state is None:
        raise NeedsSpark
    return ColumnarMerge(snapshot.changes(rows, state), table.num_rows == 0, state)


def state_rows(history: History, most: int, before: State | None) -> Iterator[pa.Table] | None:
    """Return the rows of the state, or its keys. ``before`` is an earlier state. Return None if Spark must compute
    them."""
    if history.has_only_keys:
        return read_keys(history) if has_types(history) else None
    state = open_state(history, most, before)
    return state.all_rows() if state is not None else None

"""The records of Append and Ledger: new rows in the order of their event times."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.columnar import keys, runs
from airflow_provider_odf.engine.columnar.snapshot import PIECE, NewTable, complete, with_operation
from airflow_provider_odf.engine.columnar.state import read_keys
from airflow_provider_odf.engine.row_numbers import row_numbers
from airflow_provider_odf.engine.slice_file import SlicePlan, row_groups
from airflow_provider_odf.engine.slices import filled
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.merge_strategies import APPEND


def by_event_time(table: pa.Table, layout: Layout, plan: SlicePlan) -> NewTable:
    """Return rows in the order of their event times, then of the input."""
    places = None
    if layout.event_time in table.column_names:
        table = filled(table, plan)
        times = table[layout.event_time]
        if not pc.all(pc.less_equal(times[:-1], times[1:]), min_count=0).as_py():
            # Arrow's sort is stable.
            places = pc.sort_indices(times)
    return NewTable(table, table.select([]), places, layout)


def from_disk(parts: Iterator[pa.Table], layout: Layout, plan: SlicePlan) -> Iterator[pa.Table]:
    """Yield rows that do not fit in memory as +A, in the order of their event times, then of the input."""
    tables = (filled(complete(part, layout), plan) for part in parts)
    for rows in runs.in_order(tables, layout.event_time, plan.directory, PIECE):
        yield with_operation(rows, APPEND)


def unseen(table: pa.Table, history: History, most: int) -> pa.Table | None:
    """Return the rows whose keys a Ledger does not have.

    Return None if keys are null, equal or floating point numbers, or if the keys of the history take more than ``most``
    bytes.
    """
    names = list(history.layout.keys)
    if not keys.are_comparable(table, names):
        return None
    rows, size = table, 0
    for old in row_groups(read_keys(history)):
        size += old.nbytes
        if size > most:
            return None
        if old.num_rows and rows.num_rows:
            is_known, _ = keys.common(rows, old, names)
            rows = rows.filter(pc.invert(is_known))
    numbers = rows[names[0]] if len(names) == 1 else row_numbers(rows, names)
    return rows if pc.count_distinct(numbers).as_py() == rows.num_rows else None

"""The rows of one input in the order of their records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.column_layout import POSITION, Layout
from airflow_provider_odf.engine.columnar.state import with_operation
from airflow_provider_odf.engine.duplicates import collapse
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.strategies.strategy import Input
from airflow_provider_odf.merge_strategies import APPEND, RETRACT
from airflow_provider_odf.records import keys
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import refuse_nulls
from airflow_provider_odf.records.threads import map_ahead

PIECE = 131_072
"""Most new rows that are copied at once."""


@dataclass(frozen=True)
class OrderedRows:
    """Rows, and their places in order, None if they are in order."""

    table: pa.Table
    places: pa.Array | None
    layout: Layout

    def rows(self, start: int, end: int) -> pa.Table:
        """Return rows by their places in the order, with all columns of the dataset, and with OP if they have it."""
        if self.places is None:
            rows = self.table.slice(start, end - start)
        else:
            rows = self.table.take(self.places.slice(start, end - start))
        return complete(rows, self.layout)

    @cached_property
    def keys(self) -> pa.Table:
        """The keys in order."""
        own = self.table.select(list(self.layout.keys))
        return own if self.places is None else own.take(self.places)

    def additions(self) -> Iterator[pa.Table]:
        """Yield all rows but retractions as +A, with OP and the columns."""
        starts = range(0, self.table.num_rows, PIECE)
        rows = map_ahead(lambda start: present(self.rows(start, start + PIECE)), starts)
        return (with_operation(piece, APPEND) for piece in rows)


def by_event_time(new: Input, layout: Layout) -> OrderedRows:
    """Return rows in the order of their event times, then of the input."""
    places, table = None, new.table
    if layout.event_time in table.column_names:
        table = fill_event_time(table, layout.schema, new.event_time)
        times = table[layout.event_time]
        if not pc.all(pc.less_equal(times[:-1], times[1:]), min_count=0).as_py():
            # Arrow's sort is stable.
            places = pc.sort_indices(times)
    return OrderedRows(table, places, layout)


def by_key(table: pa.Table, layout: Layout) -> OrderedRows:
    """Return rows in the order of their keys."""
    is_ascending = keys.are_ascending(table, layout.keys)
    return OrderedRows(table, None if is_ascending else keys.order(table, layout.keys), layout)


def distinct_by_key(new: Input, layout: Layout) -> tuple[OrderedRows, int]:
    """Return rows in the order of their keys, without those that equal others, and the number of those.

    :raises DifferentRows: rows with the same key differ.
    """
    rows = by_key(new.table, layout)
    if rows.places is None or keys.are_ascending(rows.keys, layout.keys):
        return rows, 0
    distinct, dropped = collapse(new.table, layout, new.label)
    return by_key(distinct, layout), dropped


def check_keys(new: Input, layout: Layout) -> None:
    """Check that no key is null.

    :raises InvalidQuery: one is.
    """
    for name in layout.keys:
        if new.table[name].null_count:
            invalid = complete(new.table.filter(new.table[name].is_null()), layout)
            refuse_nulls(fill_event_time(invalid, layout.schema, new.event_time), name, new.label)


def complete(rows: pa.Table, layout: Layout) -> pa.Table:
    """Return rows with all columns of the dataset, and with OP and POSITION if they have them."""
    own = set(rows.column_names)
    for name in layout.columns:
        if name not in own:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, layout.schema.field(name).type))
    return rows.select([*layout.columns, *(name for name in (OP, POSITION) if name in own)])


def present(rows: pa.Table) -> pa.Table:
    """Return the columns of the rows that are no retractions."""
    return rows.filter(pc.not_equal(rows[OP], RETRACT)).drop_columns([OP]) if OP in rows.column_names else rows

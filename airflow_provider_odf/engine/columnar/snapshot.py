"""The records of a Snapshot, which turn the state into the new rows, in the order of their keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from airflow_provider_odf.engine.column_layout import OP, Layout
from airflow_provider_odf.engine.columnar import keys
from airflow_provider_odf.engine.columnar.state import Group, State
from airflow_provider_odf.engine.columnar.threads import map_ahead
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT

PIECE = 131_072
"""Most new rows that are copied at once."""


@dataclass(frozen=True)
class NewTable:
    """The rows of one input. ``in_order`` has their keys in order, ``places`` their places, None if they are in order.

    Columns that the input lacks, such as the event time, are null.
    """

    table: pa.Table
    in_order: pa.Table
    places: pa.Array | None
    layout: Layout

    def rows(self, start: int, end: int) -> pa.Table:
        """Return rows by their places in the order of the keys."""
        if self.places is None:
            rows = self.table.slice(start, end - start)
        else:
            rows = self.table.take(self.places.slice(start, end - start))
        return complete(rows, self.layout)


def complete(rows: pa.Table, layout: Layout) -> pa.Table:
    """Return rows with all columns of the dataset. Those that they lack are null."""
    present = set(rows.column_names)
    for name in layout.columns:
        if name not in present:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, layout.schema.field(name).type))
    return rows.select(list(layout.columns))


def in_order(table: pa.Table, layout: Layout) -> NewTable | None:
    """Return new rows with their order, None if keys are null, equal or floating point numbers."""
    names = list(layout.keys)
    own = table.select(names)
    if not keys.are_comparable(own, names):
        return None
    if keys.are_ascending(own, names):
        return NewTable(table, own, None, layout)
    places = keys.order(own, names)
    sorted_keys = own.take(places)
    return NewTable(table, sorted_keys, places, layout) if keys.are_ascending(sorted_keys, names) else None


def additions(new: NewTable) -> Iterator[pa.Table]:
    """Yield all rows as +A, with OP and the columns."""
    starts = range(0, new.table.num_rows, PIECE)
    yield from map_ahead(lambda start: with_operation(new.rows(start, start + PIECE), APPEND), starts)


def changes(new: NewTable, state: State) -> Iterator[pa.Table]:
    """Yield the records that turn the state into the new rows, with OP and the columns."""
    yield from map_ahead(lambda one: one.records(), _ranges(new, state))


@dataclass(frozen=True)
class _Range:
    """The rows of both sides in a range of keys: places of new rows, a row group and places of later records."""

    new: NewTable
    state: State
    group: Group | None
    later: tuple[int, int]
    places: tuple[int, int]

    def records(self) -> pa.Table:
        layout = self.state.layout
        old = self.state.rows(self.group, *self.later)
        parts, done, (start, end) = list[pa.Table](), 0, self.places
        for first in range(start, max(end, start + 1), PIECE):
            new = self.new.rows(first, min(first + PIECE, end))
            is_last = first + PIECE >= end
            last = old.num_rows
            if not is_last:
                key = keys.key_at(new, layout.keys, new.num_rows - 1)
                last = keys.count_up_to(old, layout.keys, key)
            parts.append(difference(old.slice(done, last - done), new, layout))
            done = last
        return pa.concat_tables(parts)


def _ranges(new: NewTable, state: State) -> Iterator[_Range]:
    done = 0
    for group, last_key, first, last in state.ranges():
        end = new.in_order.num_rows
        if last_key is not None:
            end = keys.count_up_to(new.in_order, state.layout.keys, last_key)
        yield _Range(new, state, group, (first, last), (done, end))
        done = end


def difference(old: pa.Table, new: pa.Table, layout: Layout) -> pa.Table:
    """Return the records that turn old rows into new ones. No two rows of a table have the same key."""
    is_kept, is_known = keys.common(old, new, layout.keys)
    # Both are in the order of their keys, so that rows of the same key have the same place.
    before, after = _where(old, is_kept), _where(new, is_known)
    differs = _differs(before, after, layout)
    parts = [
        with_operation(_where(new, pc.invert(is_known)), APPEND),
        with_operation(_where(old, pc.invert(is_kept)), RETRACT),
        with_operation(_where(before, differs), CORRECT_FROM),
        with_operation(_where(after, differs), CORRECT_TO),
    ]
    changes = pa.concat_tables(parts)
    by_key = [(name, "ascending") for name in (*layout.keys, OP)]
    return changes.take(pc.sort_indices(changes, sort_keys=by_key)) if changes.num_rows else changes


def _where(rows: pa.Table, condition: pa.ChunkedArray) -> pa.Table:
    return rows if pc.all(condition, min_count=0).as_py() else rows.filter(condition)


def with_operation(rows: pa.Table, code: int) -> pa.Table:
    return rows.append_column(OP, pa.repeat(pa.scalar(code, pa.int32()), rows.num_rows))


def _differs(old: pa.Table, new: pa.Table, layout: Layout) -> pa.ChunkedArray:
    """Return for each row whether a compared column differs. An event time that the new row lacks does not differ."""
    differs: pa.ChunkedArray = pa.chunked_array([pa.repeat(False, old.num_rows)])
    for name in layout.compared:
        if name != layout.event_time:
            differs = pc.or_(differs, pc.invert(_equal(old[name], new[name])))
        elif new[name].null_count < old.num_rows:
            is_other = pc.and_(new[name].is_valid(), pc.invert(_equal(old[name], new[name])))
            differs = pc.or_(differs, is_other)
    return differs


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for each row whether values are equal by ``<=>``: null equals null, NaN equals NaN, zero has no sign."""
    equal = pc.equal(one, other)
    if pt.is_floating(one.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(one), pc.is_nan(other)))
    if not one.null_count and not other.null_count:
        return equal
    return pc.or_(pc.fill_null(equal, False), pc.and_(one.is_null(), other.is_null()))

"""The records that turn the current rows of a dataset into new rows, in the order of their keys, range by range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.columnar.state import CurrentRows, Group, with_operation
from airflow_provider_odf.engine.strategies.new_rows import PIECE, OrderedRows, present
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT
from airflow_provider_odf.records import keys
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.threads import map_ahead


def changes(new: OrderedRows, state: CurrentRows | None, *, keeps_missing: bool) -> Iterator[pa.Table]:
    """Yield the records, with OP and the columns. Both sides have each key once.

    :param new: the rows in the order of their keys. Those with the operation -R have no row afterwards.
    :param keeps_missing: whether rows stay whose key no new row has.
    """
    if state is None:
        yield from new.additions()
    else:
        yield from map_ahead(lambda one: one.records(), _ranges(new, state, keeps_missing))


def _ranges(new: OrderedRows, state: CurrentRows, keeps_missing: bool) -> Iterator[_Range]:
    done = 0
    for group, last_key, first, last in state.ranges():
        end = new.keys.num_rows
        if last_key is not None:
            end = keys.count_up_to(new.keys, state.layout.keys, last_key)
        if done < end or not keeps_missing:
            yield _Range(new, state, group, (first, last), (done, end), keeps_missing)
        done = end


@dataclass(frozen=True)
class _Range:
    """The rows of both sides in a range of keys: places of new rows, a row group and places of later records."""

    new: OrderedRows
    state: CurrentRows
    group: Group | None
    later: tuple[int, int]
    places: tuple[int, int]
    keeps_missing: bool

    def records(self) -> pa.Table:
        layout = self.state.layout
        old = self.state.rows(self.group, *self.later)
        parts, done, (start, end) = list[pa.Table](), 0, self.places
        for first in range(start, max(end, start + 1), PIECE):
            new = self.new.rows(first, min(first + PIECE, end))
            last = old.num_rows
            if first + PIECE < end:
                key = keys.key_at(new, layout.keys, new.num_rows - 1)
                last = keys.count_up_to(old, layout.keys, key)
            part = old.slice(done, last - done)
            if self.keeps_missing:
                part = part.filter(keys.are_in(part, new, layout.keys))
            parts.append(_difference(part, present(new), layout))
            done = last
        return pa.concat_tables(parts)


def _difference(old: pa.Table, new: pa.Table, layout: Layout) -> pa.Table:
    """Return the records that turn old rows into new ones, in the order of their keys."""
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
    records = pa.concat_tables(parts)
    by_key = [(name, "ascending") for name in (*layout.keys, OP)]
    return records.take(pc.sort_indices(records, sort_keys=by_key)) if records.num_rows else records


def _where(rows: pa.Table, condition: pa.ChunkedArray) -> pa.Table:
    return rows if pc.all(condition, min_count=0).as_py() else rows.filter(condition)


def _differs(old: pa.Table, new: pa.Table, layout: Layout) -> pa.ChunkedArray:
    """Return for each row whether a compared column differs. An event time that the new row lacks does not differ."""
    differs: pa.ChunkedArray = pa.chunked_array([pa.repeat(False, old.num_rows)])
    for name in layout.compared:
        if name != layout.event_time:
            differs = pc.or_(differs, pc.invert(keys.equal(old[name], new[name])))
        elif new[name].null_count < old.num_rows:
            is_other = pc.and_(new[name].is_valid(), pc.invert(keys.equal(old[name], new[name])))
            differs = pc.or_(differs, is_other)
    return differs

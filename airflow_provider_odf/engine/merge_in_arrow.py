"""The merge strategies for small inputs: compute the records that new rows add to the history, as Arrow tables.

The results equal those of ``merge_in_spark``. One pass over the rows avoids a Spark plan per input, which takes a fifth
of a second. Values are compared by numbers that represent them, for all rows at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from airflow_provider_odf.engine import duplicates
from airflow_provider_odf.engine.layout import CHANGE, OP, POSITION, Layout
from airflow_provider_odf.engine.row_numbers import key_numbers, row_numbers
from airflow_provider_odf.engine.schema import with_types
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT


@dataclass(frozen=True)
class Input:
    """New rows of one input with the columns of the dataset, in order.

    ``event_time`` is the event time of rows without one.
    """

    table: pa.Table
    event_time: Instant
    label: str


@dataclass
class Records:
    """The records of one input: OP, the columns and the sort columns.

    ``dropped`` is the number of rows that equal others.
    """

    table: pa.Table
    dropped: int = 0


def merge(
    kind: str, inputs: Sequence[Input], state: pa.Table | None, layout: Layout
) -> tuple[list[Records], pa.Table | None]:
    """Merge inputs in order; return the records of each, and the state afterwards if the strategy has one.

    :raises InvalidQuery: rows of one input with the same key differ.
    """
    return RECORDS[kind](inputs, state, layout)


def append(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], None]:
    return [_append(new, layout) for new in inputs], None


def _append(new: Input, layout: Layout) -> Records:
    table = fill_event_time(new.table, layout.schema, new.event_time)
    ops = pa.repeat(pa.scalar(APPEND, pa.int32()), table.num_rows)
    return Records(table.select([*layout.columns, POSITION]).append_column(OP, ops))


def changelog_stream(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], None]:
    return [_changes(new, layout) for new in inputs], None


def _changes(new: Input, layout: Layout) -> Records:
    """Return the rows with the position of their change.

    The n-th -C of a key and its n-th +C are one change, at the position of the first one.
    """
    counters: dict[tuple[int, int], Iterator[int]] = {}
    corrections: dict[tuple[int, int], int] = {}
    changes = []
    keys, ops = row_numbers(new.table, layout.keys).to_pylist(), new.table[OP].to_pylist()
    for place, (key, op) in enumerate(zip(keys, ops, strict=True)):
        if op in (CORRECT_FROM, CORRECT_TO):
            ordinal = next(counters.setdefault((key, op), itertools.count()))
            changes.append(corrections.setdefault((key, ordinal), place))
        else:
            changes.append(place)
    table = fill_event_time(new.table, layout.schema, new.event_time).select([OP, *layout.columns])
    return Records(table.append_column(CHANGE, pa.array(changes, pa.int64())))


def ledger(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], pa.Table]:
    keys = list(layout.keys)
    tables = [new.table.select(keys) for new in inputs]
    old_keys = state.select(keys) if state is not None else tables[0].slice(0, 0)
    pool = pa.concat_tables([old_keys, *tables])
    ids = key_numbers(pool, keys)
    keys_so_far, begin, records, kept_rows = set(ids[: old_keys.num_rows]), old_keys.num_rows, [], []
    for new in inputs:
        own = ids[begin : begin + new.table.num_rows]
        unseen = [i for i, key in enumerate(own) if key not in keys_so_far]
        fresh = {own[i] for i in unseen}
        unseen_rows, dropped = new.table.take(pa.array(unseen, pa.int64())), 0
        if len(fresh) < len(unseen):
            unseen_rows, dropped = collapse(unseen_rows, layout, new.label)
        records.append(Records(_append(Input(unseen_rows, new.event_time, new.label), layout).table, dropped))
        kept_rows += [begin + i for i in unseen]
        keys_so_far |= fresh
        begin += len(own)
    return records, pa.concat_tables([old_keys, pool.take(pa.array(kept_rows, pa.int64()))])


def snapshot(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], pa.Table]:
    current = _CurrentRows(inputs, state, layout)
    return [current.replace(new) for new in inputs], current.table()


def upsert_stream(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], pa.Table]:
    current = _CurrentRows(inputs, state, layout)
    return [current.upsert(new) for new in inputs], current.table()


@dataclass
class _CurrentRows:
    """The current row of each key, as its position among the rows of the state and all inputs."""

    inputs: Sequence[Input]
    state: pa.Table | None
    layout: Layout
    current: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        layout, columns = self.layout, list(self.layout.columns)
        raw = [new.table.select(columns) for new in self.inputs]
        old = self.state.select(columns) if self.state is not None else raw[0].slice(0, 0)
        filled = [fill_event_time(t, layout.schema, r.event_time) for t, r in zip(raw, self.inputs, strict=True)]
        self.pool = pa.concat_tables([old, *(t.cast(old.schema) for t in filled)]).combine_chunks()
        self.ids = key_numbers(self.pool, layout.keys)
        compared = [c for c in layout.compared if c != layout.event_time]
        self.content = row_numbers(self.pool, compared).to_pylist()
        self.times: list[int | None] = []
        if layout.event_time in layout.compared:
            # Otherwise a source without event times would change all its rows at every poll.
            times = pa.concat_tables([old, *raw])[layout.event_time]
            self.times = times.is_valid().to_pylist()
            self.filled_times = _integers(self.pool[layout.event_time]).to_pylist()
        self.begin = old.num_rows
        self.current = {key: place for place, key in enumerate(self.ids[: self.begin])}

    def table(self) -> pa.Table:
        return self.pool.take(pa.array(list(self.current.values()), pa.int64()))

    def replace(self, new: Input) -> Records:
        places = self._places(new)
        keys, dropped = {self.ids[p] for p in places}, 0
        if len(keys) < len(places):
            begin = places.start
            numbers = new.table.append_column("odf:row", pa.array(range(begin, places.stop), pa.int64()))
            distinct, dropped = collapse(numbers, self.layout, new.label)
            places = distinct["odf:row"].to_pylist()
        changes = [(RETRACT, self.current.pop(key)) for key in self.current.keys() - keys]
        for place in places:
            self._put(place, changes)
        return self._records(changes, dropped)

    def upsert(self, new: Input) -> Records:
        """Merge the last row of each key."""
        changes, places = list[tuple[int, int]](), self._places(new)
        last = {self.ids[place]: place for place in places}
        ops = new.table[OP].to_pylist() if OP in new.table.column_names else None
        for key, place in last.items():
            if ops is None or ops[place - places.start] != RETRACT:
                self._put(place, changes)
            elif key in self.current:
                changes.append((RETRACT, self.current.pop(key)))
        return self._records(changes, 0)

    def _places(self, new: Input) -> range:
        begin, self.begin = self.begin, self.begin + new.table.num_rows
        return range(begin, self.begin)

    def _put(self, place: int, changes: list[tuple[int, int]]) -> None:
        """Make a row the current one of its key, and add the operations and rows of this change."""
        key = self.ids[place]
        old = self.current.get(key)
        if old is None:
            changes.append((APPEND, place))
        elif self._differs(place, old):
            changes += [(CORRECT_FROM, old), (CORRECT_TO, place)]
        else:
            return
        self.current[key] = place

    def _differs(self, new: int, old: int) -> bool:
        if self.content and self.content[new] != self.content[old]:
            return True
        return bool(self.times) and bool(self.times[new]) and self.filled_times[new] != self.filled_times[old]

    def _records(self, changes: Sequence[tuple[int, int]], dropped: int) -> Records:
        table = self.pool.take(pa.array([place for _, place in changes], pa.int64()))
        return Records(table.append_column(OP, pa.array([op for op, _ in changes], pa.int32())), dropped)


def collapse(rows: pa.Table, layout: Layout, label: str) -> tuple[pa.Table, int]:
    """Return the first of each group of equal rows, and the number of dropped rows.

    :raises InvalidQuery: rows with the same key differ. The message names some of the keys.
    """
    first: dict[int, int] = {}
    for place, row in enumerate(row_numbers(rows, layout.columns).to_pylist()):
        first.setdefault(row, place)
    distinct = rows.take(pa.array(list(first.values()), pa.int64()))
    places: dict[int, list[int]] = {}
    for place, key in enumerate(row_numbers(distinct, layout.keys).to_pylist()):
        places.setdefault(key, []).append(place)
    if several := [same[0] for same in places.values() if len(same) > 1]:
        shared = distinct.select(list(layout.keys)).take(pa.array(several, pa.int64()))
        in_order = shared.sort_by([(key, "ascending") for key in layout.keys])
        raise duplicates.different_rows(in_order.slice(0, duplicates.SHOWN + 1).to_pylist(), layout.keys, label)
    return distinct, rows.num_rows - distinct.num_rows


Merge: TypeAlias = Callable[[Sequence[Input], pa.Table | None, Layout], tuple[list[Records], pa.Table | None]]

RECORDS: Mapping[str, Merge] = {
    "Append": append,
    "Ledger": ledger,
    "Snapshot": snapshot,
    "ChangelogStream": changelog_stream,
    "UpsertStream": upsert_stream,
}
"""Merge strategy -> function that returns the records of the inputs and the state afterwards."""


def plain(table: pa.Table) -> pa.Table:
    """Return the same rows with all columns and nested fields nullable."""
    return table.cast(pa.schema([pa.field(f.name, with_types(f.type, {})) for f in table.schema]))


def _integers(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return times.cast(pa.int32() if pt.is_date32(times.type) else pa.int64())

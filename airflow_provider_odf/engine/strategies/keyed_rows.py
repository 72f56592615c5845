"""The current row of each key, for strategies that compare new rows with it in Arrow.

Values are compared by numbers that represent them, for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.types as pt

from airflow_provider_odf.engine import duplicates
from airflow_provider_odf.engine.column_layout import OP, Layout
from airflow_provider_odf.engine.row_numbers import key_numbers, row_numbers
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.strategies.strategy import Input, Records
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT


@dataclass
class CurrentRows:
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
            distinct, dropped = duplicates.collapse_table(numbers, self.layout, new.label)
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


def _integers(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return times.cast(pa.int32() if pt.is_date32(times.type) else pa.int64())

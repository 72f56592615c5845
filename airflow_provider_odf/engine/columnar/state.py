"""The state of a dataset as a stream in the order of its keys.

The base is the cache, or without one the first slice. Its rows stay in their file. Later records are in memory: the
newest one of each key, also if it takes the row back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.merge_strategies import APPEND, PRESENT
from airflow_provider_odf.records import files, keys
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import row_groups
from airflow_provider_odf.records.threads import map_ahead

_SOURCE, _OFFSET, _ROW = "odf:source", "odf:offset", "odf:row"


@dataclass(frozen=True)
class Group:
    """A row group of the base: its file, its number there, and its first and last place in the base."""

    path: str
    number: int
    start: int
    end: int


@dataclass(frozen=True)
class StoredRows:
    """``base`` has the keys of the base in order. ``later`` has the newest later records, with OP: ``later_keys`` their
    keys in order, and ``places`` their places."""

    layout: Layout
    base: pa.Table
    groups: tuple[Group, ...]
    later: pa.Table
    later_keys: pa.Table
    places: pa.Array
    last_offset: int
    """The last offset that the state has."""

    def rows(self, group: Group | None, first: int, last: int) -> pa.Table:
        """Return the rows of a row group that are still current, with the later records from ``first`` to ``last``."""
        own = _read(group.path, self.layout, row_group=group.number) if group else _empty(self.layout)
        if first == last:
            return own
        later = self.later.take(self.places.slice(first, last - first))
        is_replaced, _ = keys.common(own, later, self.layout.keys)
        present = later.filter(_is_in(later[OP], PRESENT)).drop_columns([OP])
        merged = pa.concat_tables([own.filter(pc.invert(is_replaced)), present])
        return merged.take(keys.order(merged, self.layout.keys))

    def ranges(self) -> Iterator[tuple[Group | None, tuple[object, ...] | None, int, int]]:
        """Yield ranges of keys: a row group, its last key (None: no limit), and the places of its later records."""
        done = 0
        for group in self.groups:
            last_key = keys.key_at(self.base, self.layout.keys, group.end - 1)
            end = keys.count_up_to(self.later_keys, self.layout.keys, last_key)
            yield group, last_key, done, end
            done = end
        yield None, None, done, self.later.num_rows

    def all_rows(self) -> Iterator[pa.Table]:
        """Yield all rows in order."""
        yield from map_ahead(lambda one: self.rows(one[0], one[2], one[3]), self.ranges())


@dataclass(frozen=True)
class RowsInMemory:
    """Current rows in memory, in the order of their keys."""

    layout: Layout
    table: pa.Table

    def rows(self, group: Group | None, first: int, last: int) -> pa.Table:
        """Return all rows."""
        return self.table

    def ranges(self) -> Iterator[tuple[Group | None, tuple[object, ...] | None, int, int]]:
        """Yield one range without limits."""
        yield None, None, 0, 0


CurrentRows: TypeAlias = StoredRows | RowsInMemory


def rows_in_memory(records: pa.Table, layout: Layout, position: str) -> RowsInMemory:
    """Return the current rows after records with OP, the columns and a position.

    The position is -1 for rows of a cache, which have different keys, and less for later records, the newest first.
    """
    is_later = pc.less(records[position], -1)
    rows = records.select(layout.columns)
    if pc.any(is_later, min_count=0).as_py():
        newest = _first_of_each_key(records.filter(is_later), layout.keys, (position, "ascending"))
        cached = rows.filter(pc.invert(is_later))
        is_replaced, _ = keys.common(cached, newest, layout.keys)
        present = newest.filter(_is_in(newest[OP], PRESENT)).select(layout.columns)
        rows = pa.concat_tables([cached.filter(pc.invert(is_replaced)), present]).combine_chunks()
    return RowsInMemory(layout, rows.take(keys.order(rows, layout.keys)))


def open_state(history: History, memory_limit: int, before: StoredRows | None = None) -> StoredRows | None:
    """Return the state after a history. ``before`` is a state of the same history, with less slices.

    Return None if the records in memory take more than ``memory_limit`` bytes, or if other tools stored values that
    only Spark converts.
    """
    layout, slices = history.layout, history.slices
    if before is not None and before.layout == layout:
        new = [s.path for s in slices if s.offset_interval.start > before.last_offset]
        later = (
            _newest(new, history, memory_limit, before.later) if all(_has_types(path, layout) for path in new) else None
        )
        return _with_later(before, later, history.last_offset)
    if not has_types(history):
        return None
    none = _empty(layout)
    if history.cache is not None:
        base_files = history.cache.files
        keys_of_files = [_read(f, layout, layout.keys) for f in base_files]
    else:
        keys_of_files = [*_keys_in_order(history)]
        base_files, slices = tuple(s.path for s in slices[: len(keys_of_files)]), slices[len(keys_of_files) :]
    base = pa.concat_tables([none.select(layout.keys), *keys_of_files])
    later, groups = with_operation(none, APPEND), tuple(_groups(base_files))
    if not keys.are_ascending(base, layout.keys):
        # Other tools may have written the rows in another order: then they are in memory, as later records are.
        later = with_operation(pa.concat_tables([_read(f, layout) for f in base_files]), APPEND)
        base, groups = base.slice(0, 0), ()
        if later.nbytes > memory_limit:
            return None
    state = StoredRows(layout, base, groups, later, later.select(layout.keys), pa.array([], pa.uint64()), -1)
    return _with_later(state, _newest([s.path for s in slices], history, memory_limit, later), history.last_offset)


def _with_later(state: StoredRows, later: pa.Table | None, last_offset: int) -> StoredRows | None:
    if later is None:
        return None
    names = list(state.layout.keys)
    places = keys.order(later, names)
    ordered = later.select(names).take(places)
    return replace(state, later=later, later_keys=ordered, places=places, last_offset=last_offset)


def unknown_keys(history: History, new: pa.Table) -> pa.Array | None:
    """Return the places of the keys that no record of a history has, None if only Spark converts its keys."""
    if not has_types(history):
        return None
    names = list(history.layout.keys)
    rows = new.append_column(_ROW, pa.array(range(new.num_rows), pa.int64()))
    for old in row_groups(read_keys(history)):
        if rows.num_rows:
            rows = rows.filter(pc.invert(keys.are_in(rows, old, names)))
    return rows[_ROW].combine_chunks()


def read_keys(history: History) -> Iterator[pa.Table]:
    """Yield the keys of all records of a history, a table for each file."""
    for path in history.paths:
        yield _read(path, history.layout, history.layout.keys)


def _groups(paths: Sequence[str]) -> Iterator[Group]:
    start = 0
    for path in paths:
        with files.open_file(path) as file:
            footer = pq.read_metadata(file)
        for number in range(footer.num_row_groups):
            count = footer.row_group(number).num_rows
            if count:
                yield Group(path, number, start, start + count)
            start += count


def with_operation(rows: pa.Table, code: int) -> pa.Table:
    """Return rows with an operation in the column OP."""
    return rows.append_column(OP, pa.repeat(pa.scalar(code, pa.int32()), rows.num_rows))


def _keys_in_order(history: History) -> Iterator[pa.Table]:
    """Yield the keys of the first slices that have only +A, as long as they continue the order of the keys."""
    last = None
    for one in history.slices:
        if not _has_only_additions(one.path, history):
            return
        own = _read(one.path, history.layout, history.layout.keys)
        if last is not None and not keys.are_ascending(pa.concat_tables([last, own]), history.layout.keys):
            return
        yield own
        last = own.slice(own.num_rows - 1)


def _has_only_additions(path: str, history: History) -> bool:
    operations = files.read_parquet(path, [history.vocab.operation_type_column]).column(0)
    return bool(pc.all(pc.equal(operations, APPEND), min_count=0).as_py())


def _newest(paths: Sequence[str], history: History, memory_limit: int, before: pa.Table) -> pa.Table | None:
    """Return the newest record of each key in slices, in any order, with OP. Keys are read before rows.

    ``before`` has the newest records before the slices.
    """
    layout = history.layout
    if not paths:
        return before
    records = [_with_place(before.select([*layout.keys, OP]).append_column(_OFFSET, _repeat(-1, before.num_rows)), -1)]
    records += [_with_place(_keys_of(path, history), number) for number, path in enumerate(paths)]
    newest = _first_of_each_key(pa.concat_tables(records), layout.keys, (_OFFSET, "descending"))
    newest = newest.select([_SOURCE, _ROW, OP])
    parts, size = list[pa.Table](), 0
    by_slice = newest.sort_by(_SOURCE)
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(by_slice[_SOURCE]).to_pylist()}
    for number in sorted({-1, *counts}):
        own, by_slice = by_slice.slice(0, counts.get(number, 0)), by_slice.slice(counts.get(number, 0))
        rows = before.drop_columns([OP]) if number < 0 else _read(paths[number], layout)
        parts.append(rows.take(own[_ROW]).append_column(OP, own[OP]))
        size += parts[-1].nbytes
        if size > memory_limit:
            return None
    return _whole(parts)


def _first_of_each_key(records: pa.Table, names: Sequence[str], then: tuple[str, str]) -> pa.Table:
    """Return the first record of each key in the order of a column."""
    sort_keys = [*((name, "ascending") for name in names), then]
    in_order = records.take(pc.sort_indices(records, sort_keys=sort_keys))
    return in_order.filter(_is_first(in_order, names))


def _whole(parts: list[pa.Table]) -> pa.Table:
    """Return the rows of all parts, each column in one piece. It empties the list, so that no row is there twice."""
    columns = dict[str, pa.ChunkedArray]()
    schema = parts[0].schema
    columns_of_parts = [{name: part[name] for name in schema.names} for part in parts]
    parts.clear()
    for name in schema.names:
        chunks = [chunk for part in columns_of_parts for chunk in part.pop(name).chunks]
        columns[name] = pa.concat_arrays(chunks) if chunks else pa.array([], schema.field(name).type)
    return pa.table(columns, schema=schema)


def _with_place(table: pa.Table, number: int) -> pa.Table:
    """Return records with the number of their slice and their places in it."""
    table = table.append_column(_SOURCE, _repeat(number, table.num_rows))
    return table.append_column(_ROW, pa.array(range(table.num_rows), pa.int64()))


def _repeat(number: int, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, pa.int64()), count)


def _keys_of(path: str, history: History) -> pa.Table:
    """Return keys, operations and offsets of a slice."""
    table = _read(path, history.layout, history.layout.keys)
    system = files.read_parquet(path, [history.vocab.offset_column, history.vocab.operation_type_column])
    table = table.append_column(OP, system.column(1).cast(pa.int32()))
    return table.append_column(_OFFSET, system.column(0).cast(pa.int64()))


def _is_first(records: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Return for each row whether its key differs from that of the row before."""
    if not records.num_rows:
        return pa.chunked_array([], pa.bool_())
    differs: pa.ChunkedArray = pa.chunked_array([pa.repeat(False, records.num_rows - 1)])
    for name in names:
        before, after = records[name].slice(0, records.num_rows - 1), records[name].slice(1)
        differs = pc.or_(differs, pc.invert(keys.equal(before, after)))
    return pa.chunked_array([pa.array([True]), *differs.chunks])


def _read(path: str, layout: Layout, names: Sequence[str] | None = None, row_group: int | None = None) -> pa.Table:
    """Return columns of a file with the types of the dataset. Columns that the file does not have are null."""
    kinds = schemas.readable(layout.schema)
    wanted = pa.schema([kinds.field(name).with_nullable(True) for name in names or layout.columns])
    with files.open_file(path) as file:
        parquet = pq.ParquetFile(file)
        own = set(parquet.schema_arrow.names)
        present = [f.name for f in wanted if f.name in own]
        whole = row_group is None
        table = parquet.read(present) if whole else parquet.read_row_group(row_group, present, use_threads=False)
    return schemas.conform(table, wanted).combine_chunks()


def has_types(history: History) -> bool:
    """Whether the columns of all files have the dataset's types, or none at all. Others, only Spark converts."""
    return all(_has_types(path, history.layout) for path in history.paths)


def _has_types(path: str, layout: Layout) -> bool:
    """Whether the columns of a file have the dataset's types, or none at all."""
    with files.open_file(path) as file:
        own = schemas.readable(pq.read_schema(file))
    kinds, present = schemas.readable(layout.schema), set(own.names)
    return all(own.field(n).type == kinds.field(n).type for n in layout.columns if n in present)


def _empty(layout: Layout) -> pa.Table:
    kinds = schemas.readable(layout.schema)
    return pa.schema([kinds.field(name).with_nullable(True) for name in layout.columns]).empty_table()


def _is_in(operations: pa.ChunkedArray, codes: Sequence[int]) -> pa.ChunkedArray:
    return pc.is_in(operations, value_set=pa.array(codes, operations.type))

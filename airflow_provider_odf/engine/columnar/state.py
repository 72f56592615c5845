"""The state of a dataset as a stream in the order of its keys.

The base is the cache, or without one the first slice. Its rows stay in their file. Later records are in memory: the
newest one of each key, also if it takes the row back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_odf.engine import files
from airflow_provider_odf.engine import schema as schemas
from airflow_provider_odf.engine.column_layout import OP, Layout
from airflow_provider_odf.engine.columnar import keys
from airflow_provider_odf.engine.columnar.threads import map_ahead
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.merge_strategies import APPEND, PRESENT

_SOURCE, _OFFSET, _ROW = "odf:source", "odf:offset", "odf:row"


@dataclass(frozen=True)
class Group:
    """A row group of the base: its file, its number there, and its first and last place in the base."""

    path: str
    number: int
    start: int
    end: int


@dataclass(frozen=True)
class State:
    """``base`` has the keys of the base in order, ``later`` the newest later records in order, with OP."""

    layout: Layout
    base: pa.Table
    groups: tuple[Group, ...]
    later: pa.Table

    def rows(self, group: Group | None, first: int, last: int) -> pa.Table:
        """Return the rows of a row group that are still current, with the later records from ``first`` to ``last``."""
        own = _read(group.path, self.layout, row_group=group.number) if group else _empty(self.layout)
        later = self.later.slice(first, last - first)
        if not later.num_rows:
            return own
        is_replaced, _ = keys.common(own, later, self.layout.keys)
        present = later.filter(_is_in(later[OP], PRESENT)).drop_columns([OP])
        merged = pa.concat_tables([own.filter(pc.invert(is_replaced)), present])
        return merged.take(keys.order(merged, self.layout.keys))

    def ranges(self) -> Iterator[tuple[Group | None, tuple[object, ...] | None, int, int]]:
        """Yield ranges of keys: a row group, its last key (None: no limit), and the places of its later records."""
        done = 0
        for group in self.groups:
            last_key = keys.key_at(self.base, self.layout.keys, group.end - 1)
            end = keys.count_up_to(self.later, self.layout.keys, last_key)
            yield group, last_key, done, end
            done = end
        yield None, None, done, self.later.num_rows

    def all_rows(self) -> Iterator[pa.Table]:
        """Yield all rows in order."""
        yield from map_ahead(lambda one: self.rows(one[0], one[2], one[3]), self.ranges())


def open_state(of: History, most: int) -> State | None:
    """Return the state after a history.

    Return None if its base is not in the order of its keys, if the later records take more than ``most`` bytes, or if
    other tools stored values that only Spark converts.
    """
    if not has_types(of):
        return None
    layout, slices = of.layout, of.slices
    if of.cache is not None:
        base_files: tuple[str, ...] = of.cache.files
    else:
        base_files, slices = tuple(s.path for s in slices[:1]), slices[1:]
        if any(not _has_only_additions(path, of) for path in base_files):
            return None
    base = pa.concat_tables([_empty(layout).select(layout.keys), *(_read(f, layout, layout.keys) for f in base_files)])
    if not keys.are_comparable(base, layout.keys) or not keys.are_ascending(base, layout.keys):
        return None
    later = _newest([s.path for s in slices], of, most)
    return State(layout, base, tuple(_groups(base_files)), later) if later is not None else None


def read_keys(of: History) -> Iterator[pa.Table]:
    """Yield the keys of all records of a history, a table for each file."""
    for path in (*(of.cache.files if of.cache else ()), *(s.path for s in of.slices)):
        yield _read(path, of.layout, of.layout.keys)


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


def _has_only_additions(path: str, of: History) -> bool:
    operations = files.read_parquet(path, [of.vocab.operation_type_column]).column(0)
    return bool(pc.all(pc.equal(operations, APPEND), min_count=0).as_py())


def _newest(paths: Sequence[str], of: History, most: int) -> pa.Table | None:
    """Return the newest record of each key in slices, in the order of the keys, with OP. Keys are read before rows."""
    layout = of.layout
    later = _empty(layout).append_column(OP, pa.array([], pa.int32()))
    if not paths:
        return later
    records = pa.concat_tables([_keys_of(path, number, of) for number, path in enumerate(paths)])
    if not keys.are_comparable(records, layout.keys):
        return None
    by_key = [(name, "ascending") for name in layout.keys]
    records = records.take(pc.sort_indices(records, sort_keys=[*by_key, (_OFFSET, "descending")]))
    newest = records.filter(_is_first(records, layout.keys))
    parts, size = list[pa.Table](), 0
    for number, path in enumerate(paths):
        own = newest.filter(pc.equal(newest[_SOURCE], number))
        rows = _read(path, layout).take(own[_ROW]).append_column(OP, own[OP])
        parts.append(rows)
        size += rows.nbytes
        if size > most:
            return None
    merged = pa.concat_tables([later, *parts])
    return merged.take(keys.order(merged, layout.keys))


def _keys_of(path: str, number: int, of: History) -> pa.Table:
    """Return keys, operations and offsets of a slice, with its number and the places of its rows."""
    table = _read(path, of.layout, of.layout.keys)
    system = files.read_parquet(path, [of.vocab.offset_column, of.vocab.operation_type_column])
    table = table.append_column(_OFFSET, system.column(0).cast(pa.int64()))
    table = table.append_column(OP, system.column(1).cast(pa.int32()))
    table = table.append_column(_SOURCE, pa.repeat(pa.scalar(number, pa.int32()), table.num_rows))
    return table.append_column(_ROW, pa.array(range(table.num_rows), pa.int64()))


def _is_first(records: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Return for each row whether its key differs from that of the row before."""
    if not records.num_rows:
        return pa.chunked_array([], pa.bool_())
    differs: pa.ChunkedArray = pa.chunked_array([pa.repeat(False, records.num_rows - 1)])
    for name in names:
        before, after = records[name].slice(0, records.num_rows - 1), records[name].slice(1)
        differs = pc.or_(differs, pc.not_equal(before, after))
    return pa.chunked_array([pa.array([True]), *differs.chunks])


def _read(path: str, layout: Layout, names: Sequence[str] | None = None, row_group: int | None = None) -> pa.Table:
    """Return columns of a file with the types of the dataset. Columns that the file does not have are null."""
    wanted = [schemas.readable(layout.schema).field(name).with_nullable(True) for name in names or layout.columns]
    with files.open_file(path) as file:
        parquet = pq.ParquetFile(file)
        present = [f.name for f in wanted if f.name in parquet.schema_arrow.names]
        whole = row_group is None
        table = parquet.read(present) if whole else parquet.read_row_group(row_group, present, use_threads=False)
    columns = [table[f.name].cast(f.type) if f.name in present else pa.nulls(len(table), f.type) for f in wanted]
    return pa.table(columns, schema=pa.schema(wanted)).combine_chunks()


def has_types(of: History) -> bool:
    """Whether the columns of all files have the dataset's types, or none at all. Others, only Spark converts."""
    return all(_has_types(f, of.layout) for f in (*(of.cache.files if of.cache else ()), *(s.path for s in of.slices)))


def _has_types(path: str, layout: Layout) -> bool:
    """Whether the columns of a file have the dataset's types, or none at all."""
    with files.open_file(path) as file:
        own = schemas.readable(pq.read_schema(file))
    kinds = schemas.readable(layout.schema)
    return all(own.field(n).type == kinds.field(n).type for n in layout.columns if n in own.names)


def _empty(layout: Layout) -> pa.Table:
    kinds = schemas.readable(layout.schema)
    return pa.schema([kinds.field(name).with_nullable(True) for name in layout.columns]).empty_table()


def _is_in(operations: pa.ChunkedArray, codes: Sequence[int]) -> pa.ChunkedArray:
    return pc.is_in(operations, value_set=pa.array(codes, operations.type))

"""Rows of a dataset, read with pyarrow alone: the newest records of its history, or its current rows.

Which records are current rows depends on the merge strategy. With a key they are those that `merge_strategies.PRESENT`
describes. Without a key (Append, derivatives) they are all added rows that no retraction or correction has undone,
comparing all columns of data.

A first pass reads the operations and the columns that decide, a column at a time. A second pass reads the columns that
are asked for, of the current rows alone. The history is thus never in memory as a whole. The slices must have been
checked, see `slices.check_unrecorded`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.merge_strategies import APPEND
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc


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
        from airflow_provider_odf.records import json_rows

        return iter(()) if self.table is None else json_rows.rows(self.table, self.operation_column)

    def first(self, n: int) -> Rows:
        return self if self.table is None else replace(self, table=self.table.slice(0, n))

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table with the types of the dataset's columns."""
        import pyarrow as pa

        return pa.table({}) if self.table is None else self.table


def tail_rows(dataset: Dataset, n: int, ref: str = HEAD) -> Rows:
    """Return the ``n`` newest rows of the history up to a ref or block hash, in the order of offsets.

    Only the slices with these rows are read. There are no columns before the schema is known.

    :raises DatasetNotFound: the dataset has no such ref.
    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    import pyarrow as pa

    state = replay(dataset, ref)
    newest = [s for s in state.slices if s.offset_interval.end >= state.next_offset - n]
    slices.check_unrecorded(dataset, state.dataset_id, newest)
    schema, tables = state.row_schema(), list[pa.Table]()
    for data_slice in reversed(newest):
        assert schema is not None  # noqa: S101 - data follow a schema
        tables.append(slices.read(dataset, data_slice, schema, n - sum(table.num_rows for table in tables)))
    table = pa.concat_tables(reversed(tables)) if tables else schema.empty_table() if schema is not None else None
    return Rows(tuple(_columns(state)), table, state.vocab.operation_type_column)


def rows_at(dataset: Dataset, offsets: Sequence[int], state: ChainState) -> Rows:
    """Return the rows at these offsets of the history up to a state. Only the slices with these rows are read.

    :param offsets: in ascending order.
    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    import pyarrow as pa

    from airflow_provider_odf.records.keys import int64_array

    tables = []
    for data_slice in state.slices:
        start, end = data_slice.offset_interval.start, data_slice.offset_interval.end
        if indices := [offset - start for offset in offsets if start <= offset <= end]:
            slices.check_unrecorded(dataset, state.dataset_id, [data_slice])
            tables.append(slices.read(dataset, data_slice, state.row_schema()).take(int64_array(indices)))
    table = pa.concat_tables(tables) if tables else None
    return Rows(tuple(_columns(state)), table, state.vocab.operation_type_column)


def state_rows(dataset: Dataset, ref: str = HEAD) -> Rows:
    """Return the current rows at a ref or block hash, sorted by key, or by offset if there is no key.

    The columns of offset and operation are omitted.

    :raises DatasetNotFound: the dataset has no such ref.
    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    state = replay(dataset, ref)
    columns = tuple(current_columns(state))
    slices.check_unrecorded(dataset, state.dataset_id, state.slices)
    return Rows(columns, current_rows(dataset, state, columns))


def current_columns(state: ChainState) -> list[str]:
    """Return the columns of current rows: all but those of offset and operation."""
    hidden = (state.vocab.offset_column, state.vocab.operation_type_column)
    return [name for name in _columns(state) if name not in hidden]


def _columns(state: ChainState) -> list[str]:
    schema = state.row_schema()
    return [] if schema is None else list(schema.names)


def current_rows(
    dataset: Dataset, state: ChainState, columns: Sequence[str], condition: pc.Expression | None = None
) -> pa.Table | None:
    """Return columns of the current rows that meet a condition, sorted by key, or by offset if there is no key; None
    before the columns are known.

    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    import pyarrow as pa

    schema = state.row_schema()
    if schema is None:
        return None
    key = spelled_key(state, schema.names)
    wanted = list(dict.fromkeys([*columns, *key]))
    current = current_offsets(dataset, state)
    batches = [
        batch
        for data_slice in state.slices
        for batch in current_rows_of_slice(
            dataset, state, data_slice, current[data_slice.physical_hash], wanted, condition
        )
    ]
    rows = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in wanted]))
    ordered_by_key = rows.sort_by([(name, "ascending") for name in key]) if key else rows
    return ordered_by_key.select(list(columns))


def current_rows_of_slice(
    dataset: Dataset,
    state: ChainState,
    data_slice: DataSlice,
    current: pa.Array | None,
    columns: Sequence[str],
    condition: pc.Expression | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield columns of the current rows of a slice, in the order of offsets.

    :param current: offsets of the current rows as in `current_offsets`, None if all rows are current.
    """
    import pyarrow.compute as pc

    if current is not None and not len(current):
        return
    column = state.vocab.offset_column
    wanted = list(dict.fromkeys([*columns, column]))
    for batch in slices.scan(dataset, data_slice, state.row_schema(), wanted, condition):
        rows = batch if current is None else batch.filter(pc.is_in(batch[column], value_set=current))
        if rows.num_rows:
            yield rows.select(list(columns))


def current_offsets(dataset: Dataset, state: ChainState) -> Mapping[str, pa.Array | None]:
    """Return the offsets of the current rows in ascending order, by physical hash of their slice. None stands for all
    rows of a slice.

    :raises InvalidInput: the data does not have a column of the primary key.
    """
    from airflow_provider_odf.records.current_rows import newest_present, not_undone
    from airflow_provider_odf.records.keys import equality_codes

    names = _columns(state)
    key = spelled_key(state, names)
    if not key and not has_changes(dataset, state):
        return dict.fromkeys(s.physical_hash for s in state.slices)
    deciding = key or [name for name in names if name not in state.vocab.columns[:3]]
    codes = equality_codes(_column(dataset, state, name) for name in deciding)
    operations = _column(dataset, state, state.vocab.operation_type_column)
    places = newest_present(codes, operations) if key else not_undone(codes, operations)
    return dict(_by_slice(state, places))


def has_changes(dataset: Dataset, state: ChainState) -> bool:
    """Return whether the history has another operation than +A."""
    import pyarrow.compute as pc

    return bool(pc.max(_column(dataset, state, state.vocab.operation_type_column)).as_py() not in (None, APPEND))


def _column(dataset: Dataset, state: ChainState, name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    schema = state.row_schema()
    assert schema is not None  # noqa: S101 - the name is that of one of its columns
    batches = (batch for part in state.slices for batch in slices.scan(dataset, part, schema, [name]))
    return pa.chunked_array([batch.column(0) for batch in batches], schema.field(name).type)


def _by_slice(state: ChainState, places: Sequence[int]) -> Iterator[tuple[str, pa.Array | None]]:
    """Yield the offsets of each slice; ``places`` in the history ascend."""
    from airflow_provider_odf.records.keys import int64_array

    first, done = 0, 0
    for data_slice in state.slices:
        start, end = data_slice.offset_interval.start, data_slice.offset_interval.end
        count = end - start + 1
        next_done = bisect_left(places, first + count, done)
        own = None if next_done - done == count else int64_array(p - first + start for p in places[done:next_done])
        yield data_slice.physical_hash, own
        first, done = first + count, next_done


def spelled_key(state: ChainState, columns: Sequence[str]) -> list[str]:
    """Return the columns of the primary key in the data's spelling; like Spark, ignoring case. Without a primary key or
    columns there are none.

    :raises InvalidInput: the data does not have such a column.
    """
    key = state.primary_key if columns else ()
    spelled = {name.lower(): name for name in columns} | {name: name for name in columns}
    names = [spelled.get(name) or spelled.get(name.lower()) for name in key]
    if None in names:
        raise InvalidInput(
            f"the primary key ({listed(key)}) has columns that the data does not have; "
            f"the columns of the data are ({listed(columns)})"
        )
    return [name for name in names if name is not None]

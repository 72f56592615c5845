"""The current rows of a dataset, read with pyarrow alone.

They depend on the merge strategy. With a key they are those that `merge_strategies.PRESENT` describes. Without a key
(Append, derivatives) they are all added rows that no retraction or correction has undone, comparing all columns of
data.

A first pass reads the operations and the columns that decide. A second pass reads the columns that are asked for, of
the current rows alone. The history is thus never in memory as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import slice_scan, slices
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.merge_strategies import APPEND, PRESENT
from airflow_provider_odf.records import json_rows
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc


def table(
    dataset: Dataset, state: ChainState, columns: Sequence[str], condition: pc.Expression | None = None
) -> pa.Table | None:
    """Return columns of the current rows that meet a condition, sorted by key, or by offset if there is no key; None
    before the columns are known.

    The slices must have been checked.

    :raises ChainCorrupted: a slice is missing, damaged, or no Parquet file of the dataset.
    """
    import pyarrow as pa

    schema = state.row_schema()
    if schema is None:
        return None
    key = spelled_key(state, schema.names)
    wanted = list(dict.fromkeys([*columns, *key]))
    current = offsets(dataset, state)
    batches = [
        batch
        for data_slice in state.slices
        for batch in rows_of_slice(dataset, state, data_slice, current[data_slice.physical_hash], wanted, condition)
    ]
    rows = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in wanted]))
    in_order = rows.sort_by([(name, "ascending") for name in key]) if key else rows
    return in_order.select(list(columns))


def rows_of_slice(
    dataset: Dataset,
    state: ChainState,
    data_slice: DataSlice,
    current: pa.Array | None,
    columns: Sequence[str],
    condition: pc.Expression | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield columns of the current rows of a slice, in the order of offsets.

    :param current: offsets of the current rows as in `offsets`, None if all rows are current.
    """
    import pyarrow.compute as pc

    if current is not None and not len(current):
        return
    column = state.vocab.offset_column
    wanted = list(dict.fromkeys([*columns, column]))
    for batch in slice_scan.scan(dataset, data_slice, state.row_schema(), wanted, condition):
        rows = batch if current is None else batch.filter(pc.is_in(batch[column], value_set=current))
        if rows.num_rows:
            yield rows.select(list(columns))


def offsets(dataset: Dataset, state: ChainState) -> Mapping[str, pa.Array | None]:
    """Return the offsets of the current rows in ascending order, by physical hash of their slice. None stands for all
    rows of a slice.

    :raises InvalidInput: the data does not have a column of the primary key.
    """
    schema = state.row_schema()
    key = spelled_key(state, schema.names) if schema is not None else []
    if not key and not has_changes(dataset, state):
        return dict.fromkeys(s.physical_hash for s in state.slices)
    operations = _operations(dataset, state)
    current = _newest_of_each(dataset, state, key, operations) if key else _not_undone(dataset, state, operations)
    return dict(_by_slice(state, current))


def has_changes(dataset: Dataset, state: ChainState) -> bool:
    """Return whether the history has another operation than +A."""
    import pyarrow.compute as pc

    column = state.vocab.operation_type_column
    return any(pc.max(batch.column(0)).as_py() != APPEND for batch in _scan(dataset, state, [column]))


def _by_slice(state: ChainState, current: Sequence[int]) -> Iterator[tuple[str, pa.Array | None]]:
    """Yield the offsets of each slice; ``current`` are ascending row numbers of the history."""
    place, row = 0, 0
    for data_slice in state.slices:
        start, end = data_slice.offset_interval.start, data_slice.offset_interval.end
        next_row = row + end - start + 1
        next_place = bisect_left(current, next_row, place)
        is_whole = next_place - place == next_row - row
        found = (number + start - row for number in current[place:next_place])
        yield data_slice.physical_hash, None if is_whole else slices.int64_array(found)
        place, row = next_place, next_row


def _operations(dataset: Dataset, state: ChainState) -> list[int]:
    column = state.vocab.operation_type_column
    return [code for batch in _scan(dataset, state, [column]) for code in batch.column(0).to_pylist()]


def _newest_of_each(dataset: Dataset, state: ChainState, key: Sequence[str], operations: Sequence[int]) -> list[int]:
    """Return the row numbers of the current rows of a dataset with a key."""
    newest = {values: row for row, values in enumerate(_tuples(dataset, state, key))}
    return sorted(row for row in newest.values() if operations[row] in PRESENT)


def _not_undone(dataset: Dataset, state: ChainState, operations: Sequence[int]) -> list[int]:
    """Return the row numbers of the rows that were added and not undone since."""
    vocab = state.vocab
    schema = state.row_schema()
    data = [] if schema is None else [name for name in schema.names if name not in vocab.columns[:3]]
    alive: dict[Any, list[int]] = defaultdict(list)
    for row, (operation, values) in enumerate(zip(operations, _tuples(dataset, state, data), strict=True)):
        if operation in PRESENT:
            alive[values].append(row)
        elif alive[values]:
            alive[values].pop()
    return sorted(row for rows in alive.values() for row in rows)


def _tuples(dataset: Dataset, state: ChainState, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield rows as hashable tuples that are equal if all values are; null equals null."""
    for batch in _scan(dataset, state, columns):
        values = [[_hashable(x) for x in json_rows.values(column)] for column in batch.columns]
        yield from zip(*values, strict=True)


def _hashable(value: Any) -> Any:
    return repr(value) if isinstance(value, list | dict) else value


def _scan(dataset: Dataset, state: ChainState, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = state.row_schema()
    return (batch for data_slice in state.slices for batch in slice_scan.scan(dataset, data_slice, schema, columns))


def spelled_key(state: ChainState, columns: Sequence[str]) -> list[str]:
    """Return the columns of the primary key in the data's spelling; like Spark, ignoring case. Without a primary key
    there are none.

    :raises InvalidInput: the data does not have such a column.
    """
    key: Sequence[str] = getattr(state.merge, "primary_key", ())
    spelled = {name.lower(): name for name in columns} | {name: name for name in columns}
    names = [spelled.get(name) or spelled.get(name.lower()) for name in key]
    if None in names:
        raise InvalidInput(
            f"the primary key ({listed(key)}) has columns that the data does not have; "
            f"the columns of the data are ({listed(columns)})"
        )
    return [name for name in names if name is not None]

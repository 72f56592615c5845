"""Rows of a dataset for people and scripts, read with pyarrow alone: the newest of its history, and its current state.

The state follows from the merge strategy. With a key it is the newest row of each key, unless that is a retraction.
Without one (Append, derivatives) it is every added row that no retraction or correction has undone, by all columns of
data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import json_rows
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import ChainCorrupted, StorageError

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.manifest.model import DataSlice

_RETRACT, _CORRECT_FROM = 1, 2


def columns(dataset: Dataset) -> list[str]:
    """Names of the columns of the history; none before the schema is known."""
    return _columns(ChainState.of(dataset))


def tail_rows(dataset: Dataset, n: int) -> list[dict[str, Any]]:
    """The ``n`` newest rows in offset order; only the slices that hold them are read.

    :raises ChainCorrupted: a slice is missing or no Parquet file of the dataset.
    """
    state = ChainState.of(dataset)
    rows: list[dict[str, Any]] = []
    for data_slice in reversed(state.slices):
        if len(rows) >= n:
            break
        table = _newest(dataset, data_slice, n - len(rows), state)
        rows[:0] = json_rows.rows(table, state.vocab.operation_type_column)
    return rows


def state_columns(dataset: Dataset) -> list[str]:
    """Names of the columns of ``state_rows``: those of the history but for offset and operation."""
    return _state_columns(ChainState.of(dataset))


def state_rows(dataset: Dataset) -> list[dict[str, Any]]:
    """The current rows, in offset order.

    :raises ChainCorrupted: a slice is missing or no Parquet file of the dataset.
    """
    state = ChainState.of(dataset)
    if not state.slices:
        return []
    table = _history(dataset, state)
    key: Sequence[str] = getattr(state.merge, "primary_key", ())
    rows = _newest_of_each(table, key, state) if key else _not_undone(table, state)
    return json_rows.rows(table.take(rows).select(_state_columns(state)))


def _columns(state: ChainState) -> list[str]:
    schema = state.arrow_schema()
    return [] if schema is None else list(schema.names)


def _state_columns(state: ChainState) -> list[str]:
    hidden = (state.vocab.offset_column, state.vocab.operation_type_column)
    return [name for name in _columns(state) if name not in hidden]


def _newest_of_each(table: pa.Table, key: Sequence[str], state: ChainState) -> list[int]:
    """Indices of the newest row of each key, without retractions."""
    operations = table[state.vocab.operation_type_column].to_pylist()
    newest = {values: row for row, values in enumerate(_tuples(table.select(list(key))))}
    return sorted(row for row in newest.values() if operations[row] not in (_RETRACT, _CORRECT_FROM))


def _not_undone(table: pa.Table, state: ChainState) -> list[int]:
    """Indices of the rows added and not undone since."""
    operations = table[state.vocab.operation_type_column].to_pylist()
    if not any(operations):
        return list(range(table.num_rows))
    vocab = state.vocab
    system = (vocab.offset_column, vocab.operation_type_column, vocab.system_time_column)
    data = table.select([name for name in table.column_names if name not in system])
    alive: dict[Any, list[int]] = defaultdict(list)
    for row, (operation, values) in enumerate(zip(operations, _tuples(data), strict=True)):
        if operation not in (_RETRACT, _CORRECT_FROM):
            alive[values].append(row)
        elif alive[values]:
            alive[values].pop()
    return sorted(row for rows in alive.values() for row in rows)


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    """Hashable rows: equal where all values are, null equal to null."""
    columns = [[_hashable(x) for chunk in c.chunks for x in json_rows.values(chunk)] for c in table.columns]
    return list(zip(*columns, strict=True))


def _hashable(value: Any) -> Any:
    return repr(value) if isinstance(value, list | dict) else value


def _newest(dataset: Dataset, data_slice: DataSlice, n: int, state: ChainState) -> pa.Table:
    """The last rows of a slice, at most ``n``, from as few row groups as hold them."""
    file = _open(dataset, data_slice)
    groups, rows = file.num_row_groups, 0
    while groups and rows < n:
        groups -= 1
        rows += file.metadata.row_group(groups).num_rows
    table = file.read_row_groups(list(range(groups, file.num_row_groups)))
    return _conform(table.slice(max(0, table.num_rows - n)), state, data_slice)


def _history(dataset: Dataset, state: ChainState) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables([_conform(_open(dataset, s).read(), state, s) for s in state.slices])


def _conform(table: pa.Table, state: ChainState, data_slice: DataSlice) -> pa.Table:
    """The table in the dataset's columns: in their order and plain encodings, null where a column came later."""
    import pyarrow as pa

    try:
        return pa.table(
            {
                field.name: table[field.name].cast(field.type)
                if field.name in table.column_names
                else pa.nulls(table.num_rows, field.type)
                for field in state.arrow_schema() or table.schema
            }
        )
    except pa.ArrowException as e:
        raise ChainCorrupted(f"data/{data_slice.physical_hash}: not in the dataset's schema: {e}") from e


def _open(dataset: Dataset, data_slice: DataSlice) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = dataset.storage.local_path(f"data/{data_slice.physical_hash}")
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as e:
        raise ChainCorrupted(f"{path}: the slice is missing") from e
    except pa.ArrowException as e:
        raise ChainCorrupted(f"{path}: not a Parquet file: {e}") from e
    except OSError as e:
        raise StorageError(f"{path}: {e.strerror or e}") from e

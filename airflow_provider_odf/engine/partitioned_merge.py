"""Merge in tasks of Spark: it brings the rows of each key together, new ones and those of the history, and the kernel
of the strategy merges each partition. `sorted_shuffle` writes the records.

POSITION tells the rows apart: it is the place of a new row, -1 of a row of the state cache, and -2 and less of later
records, the newest first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import parquet_frame, slices, sorted_shuffle
from airflow_provider_odf.engine.arrow_tasks import in_tasks
from airflow_provider_odf.engine.column_layout import POSITION, Layout
from airflow_provider_odf.engine.columnar.state import RowsInMemory, rows_in_memory
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.engine.strategies import kernel_of
from airflow_provider_odf.engine.strategies.strategy import Input, Records
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.merge_strategies import APPEND, MERGE_STRATEGIES
from airflow_provider_odf.records import keys
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan
from airflow_provider_odf.records.sorted_runs import grouped

_CACHED = -1


def write(
    new: DataFrame,
    history: History,
    event_time: Instant,
    plan: SlicePlan,
    slice_records: int,
    partitions: int,
    *,
    only_new_keys: bool,
) -> slices.Written:
    """Write the slices of new rows.

    :param partitions: number of tasks that merge. If it is one, the rows are few, and it writes them.
    :param only_new_keys: whether few new rows are merged, so that only the records with their keys are read.
    :raises InvalidQuery: as the kernel does.
    """
    layout = history.layout
    operation = quoted(OP) if OP in new.columns else f"CAST(NULL AS INT) AS {quoted(OP)}"
    rows = new.selectExpr(operation, *map(quoted, layout.columns), quoted(POSITION))
    if layout.keys:
        old = [*_history_rows(new.sparkSession, history)]
        if only_new_keys:
            new_keys = F.broadcast(new.select(*map(quoted, layout.keys)))
            old = [r.join(new_keys, list(layout.keys), "left_semi").select(*map(quoted, r.columns)) for r in old]
        rows = _by_key([rows, *old], history, partitions)
    is_in_place = history.merge.traits.is_by_event_time
    order = (layout.event_time, POSITION) if is_in_place else layout.keys
    # Without keys, the rows of a partition need not be in memory together.
    size = sys.maxsize if layout.keys or partitions == 1 else sorted_shuffle.RUN
    merged = sorted_shuffle.Merged(partial(_records, history.merge.kind, layout, event_time, plan, size), order, plan)
    if partitions == 1:
        return sorted_shuffle.write_in_task(rows.coalesce(1), merged, slice_records)
    return sorted_shuffle.write_in_tasks(rows, merged, slice_records)


def state(spark: SparkSession, history: History, partitions: int) -> DataFrame:
    """Return the state after a history that has records: the current rows, or the keys."""
    rows = [*_history_rows(spark, history)]
    if history.has_only_keys:
        return reduce(DataFrame.union, rows).selectExpr(*map(quoted, history.layout.keys))
    return in_tasks(_by_key(rows, history, partitions), partial(_current_rows, history.layout), history.types)


def _history_rows(spark: SparkSession, history: History) -> Iterator[DataFrame]:
    """Yield OP, the columns and POSITION of the cache and of the later records. A state of keys has null elsewhere."""
    operation, offset = quoted(history.vocab.operation_type_column), quoted(history.vocab.offset_column)
    system = [T.StructField(history.vocab.offset_column, T.LongType())]
    system.append(T.StructField(history.vocab.operation_type_column, T.IntegerType()))
    types = [f for f in history.types if not history.has_only_keys or f.name in history.layout.keys]
    columns = [
        f"{quoted(f.name) if f in types else f'CAST(NULL AS {f.dataType.simpleString()})'} AS {quoted(f.name)}"
        for f in history.types
    ]
    if history.cache is not None:
        cached = parquet_frame.read(spark, history.cache.files, T.StructType(types))
        yield cached.selectExpr(f"{APPEND} AS {quoted(OP)}", *columns, f"{_CACHED}L AS {quoted(POSITION)}")
    if history.slices and history.merge.traits.has_state:
        later = parquet_frame.read(spark, [s.path for s in history.slices], T.StructType([*system, *types]))
        position = f"{_CACHED - 1} - {offset} AS {quoted(POSITION)}"
        yield later.selectExpr(f"{operation} AS {quoted(OP)}", *columns, position)


def _by_key(frames: list[DataFrame], history: History, partitions: int) -> DataFrame:
    """Return all rows, those of a key in one partition. Rows with nulls in the key are in one partition as well."""
    names = [quoted(name) for name in history.layout.keys]
    has_null = " OR ".join(f"{name} IS NULL" for name in names)
    number = F.expr(f"IF({has_null}, 0, hash({', '.join(names)}))")
    return reduce(DataFrame.union, frames).repartition(partitions, number)


def _current_rows(layout: Layout, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The task that yields the current rows of a partition."""
    if (table := _table(batches)) is not None:
        types = pa.schema([table.schema.field(name) for name in layout.columns])
        yield from rows_in_memory(_readable(table, layout), layout, POSITION).table.cast(types).to_batches()


def _records(
    kind: str, layout: Layout, event_time: Instant, plan: SlicePlan, size: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[Records]:
    """Yield the records of a partition, made of some bytes of its rows at once."""
    is_in_place = MERGE_STRATEGIES[kind].is_by_event_time
    for table in grouped((pa.Table.from_batches([batch]) for batch in batches), size):
        is_new = pc.greater_equal(table[POSITION], 0)
        new, history = table.filter(is_new), _PartitionHistory(layout, table.filter(pc.invert(is_new)))
        if is_in_place or not keys.are_distinct(new, layout.keys):
            new = new.take(pc.sort_indices(new[POSITION]))
        absent = [*([] if is_in_place else [POSITION]), *([OP] if new[OP].null_count == new.num_rows else [])]
        rows = Input(_readable(new, layout).drop_columns(absent), event_time, plan.label)
        for records in kernel_of(kind)([rows], history):
            yield replace(records, tables=(fill_event_time(table, plan.schema, event_time) for table in records.tables))


def _table(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """Return the rows of a partition, None if there are none."""
    every = list(batches)
    return pa.Table.from_batches(every).combine_chunks() if every else None


def _readable(table: pa.Table, layout: Layout) -> pa.Table:
    """Return rows in the types of the dataset."""
    kinds = schemas.readable(layout.schema)
    types = {OP: pa.int32(), POSITION: pa.int64()}
    fields = [(name, types.get(name) or kinds.field(name).type) for name in (OP, *layout.columns, POSITION)]
    return table.select([name for name, _ in fields]).cast(pa.schema(fields))


@dataclass(frozen=True)
class _PartitionHistory:
    """The history of the keys of a partition."""

    layout: Layout
    records: pa.Table

    def rows(self) -> RowsInMemory | None:
        """Return the current rows, None if there are no records."""
        if not self.records.num_rows:
            return None
        return rows_in_memory(_readable(self.records, self.layout), self.layout, POSITION)

    def unknown(self, new: pa.Table) -> pa.Array:
        """Return the places of the keys that no record has."""
        old = self.records.select(new.column_names).cast(new.schema)
        return pc.indices_nonzero(pc.invert(keys.are_in(new, old, new.column_names))).cast(pa.int64())

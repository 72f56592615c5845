"""The dataset that inputs are merged into, one after another.

The kernel of the strategy merges rows that fit in memory, whether Arrow or Spark read them, in this process, and others
in tasks of Spark, which write the records too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf import object_stores
from airflow_provider_odf.engine import partitioned_merge, slices
from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.column_layout import Columns, Layout, NewRows
from airflow_provider_odf.engine.columnar.csv_input import CsvInput
from airflow_provider_odf.engine.columnar.inputs import ColumnInput
from airflow_provider_odf.engine.columnar.state import StoredRows, has_types, open_state, read_keys, unknown_keys
from airflow_provider_odf.engine.optional_spark import NeedsSpark, required
from airflow_provider_odf.engine.size_settings import Size
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.strategies import append, kernel_of
from airflow_provider_odf.engine.strategies.strategy import Input
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import Changes, HistorySlice, MergeInput, MergeRequest, NewSlice, StateCache
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan, local_folder, write_files

BROADCAST = 64 * 1024 * 1024
"""Maximum size in bytes of an input whose keys are broadcast to the keys of the state."""


class MergeTarget:
    """A dataset's history, which grows with each slice."""

    def __init__(self, spark: SparkSession | None, request: MergeRequest, first: Columns, memory_limit: int) -> None:
        """``memory_limit`` is the maximum number of bytes of rows in memory."""
        self._memory_limit = memory_limit
        self._session, self._request = spark, request
        self._traits = request.merge.traits
        self.history = states.history(request, first)
        self._next_offset = request.next_offset
        self._input_size = max(files.total_size(source.paths) for source in request.inputs)
        self._history_size = self.history.size
        self._current_rows: int | None = None
        self._state: StoredRows | None = None
        """The state that the last input was merged with."""
        self._room = memory_limit
        """Maximum number of bytes of the state in memory."""

        cached = self.history.cache.rows if self.history.cache else 0
        size = Size(self._input_size + self._history_size, self._history_size, self.history.records + cached)
        self._partitions = size.tasks
        """Number of tasks of a merge in Spark."""
        if spark is not None:
            size.apply(spark)

    @property
    def _spark(self) -> SparkSession:
        return required(self._session)

    @property
    def layout(self) -> Layout:
        """The present columns of the dataset."""
        return self.history.layout

    @property
    def merges_in_tasks(self) -> bool:
        """Whether tasks of Spark merge rows that Spark reads."""
        return self._request.spark == "always" or self._input_size > files.SMALL

    def evolve(self, new: Columns) -> None:
        """Use the columns of a later input. Earlier records have null in new columns."""
        self.history = self.history.in_columns(new)

    def merge(self, new: NewRows, source: MergeInput) -> slices.Written:
        """Merge an input. Return its slices and the number of dropped duplicate rows."""
        if not self.merges_in_tasks:
            return next(self.merge_tables([new.frame.coalesce(1).toArrow()], [source]))
        return self._merge_in_spark(new.frame, source)

    def merge_columns(self, new: ColumnInput, source: MergeInput) -> slices.Written:
        """Merge a file that Arrow reads. Return the same as ``merge``.

        :raises NeedsSpark: the rows or the state do not allow it.
        """
        table = new.read(self._memory_limit)
        if table is not None:
            return next(self._merge_in_arrow([self._input(table, source)], [source]))
        if self._request.merge.kind != "Append" or not isinstance(new, CsvInput):
            raise NeedsSpark
        plan = self._plan(source)
        folder = str(local_folder(plan.directory))
        records = append.from_disk(new.parts(), Instant.parse(source.event_time), self.layout, folder)
        return self._append(write_files(records, plan, self._request.slice_records), False), 0

    def merge_tables(self, tables: Sequence[pa.Table], sources: Sequence[MergeInput]) -> Iterator[slices.Written]:
        """Merge several small inputs in order. Yield the same as ``merge`` for each."""
        inputs = [self._input(table, source) for table, source in zip(tables, sources, strict=True)]
        done = 0
        try:
            for merged in self._merge_in_arrow(inputs, sources):
                done += 1
                yield merged
        except NeedsSpark:
            for table, source in zip(tables[done:], sources[done:], strict=True):
                yield self._merge_in_spark(self._spark.createDataFrame(_nullable(table)), source)

    def _merge_in_arrow(self, inputs: Sequence[Input], sources: Sequence[MergeInput]) -> Iterator[slices.Written]:
        self._room = self._memory_limit - sum(new.table.nbytes for new in inputs)
        merged = kernel_of(self._request.merge.kind)(inputs, self)
        for new, source, records in zip(inputs, sources, merged, strict=True):
            plan, event_time = self._plan(source), Instant.parse(source.event_time)
            filled = (fill_event_time(table, plan.schema, event_time) for table in records.tables)
            written = write_files(filled, plan, self._request.slice_records)
            yield self._append(written, new.table.num_rows == 0), records.dropped

    def _input(self, table: pa.Table, source: MergeInput) -> Input:
        """Return new rows in the types of the dataset."""
        kinds = schemas.readable(self.layout.schema)
        names = [name for name in (OP, *self.layout.columns) if name in table.column_names]
        types = [pa.int32() if name == OP else kinds.field(name).type for name in names]
        rows = table.select(names).cast(pa.schema([*zip(names, types, strict=True)]))
        return Input(rows, Instant.parse(source.event_time), source.name)

    def rows(self) -> StoredRows | None:
        """Return the current rows, None before the first records.

        :raises NeedsSpark: they do not fit in memory, or only Spark converts them.
        """
        if self.history.cache is None and not self.history.slices:
            return None
        self._state = open_state(self.history, self._room, self._state)
        return required(self._state)

    def unknown(self, keys: pa.Table) -> pa.Array:
        """Return the places of the keys that no record has.

        :raises NeedsSpark: only Spark converts the keys of the history.
        """
        return required(unknown_keys(self.history, keys))

    def save_state(self, path: str) -> StateCache | None:
        """Write the state after the last input to a cache. Return None if its place does not allow it."""
        if self.merges_in_tasks and object_stores.is_object(path):  # else the driver would copy the whole history
            return states.save(self.history, path, self._rows_of_tasks)
        return states.save(self.history, path, self._state_rows)

    def _state_rows(self) -> Iterator[pa.Table] | DataFrame | None:
        if self.history.has_only_keys and has_types(self.history):
            return read_keys(self.history)
        if not self.history.has_only_keys and (state := open_state(self.history, self._memory_limit, self._state)):
            return state.all_rows()
        return self._rows_of_tasks()

    def _rows_of_tasks(self) -> DataFrame:
        return partitioned_merge.state(self._spark, self.history, self._partitions)

    def _merge_in_spark(self, new: DataFrame, source: MergeInput) -> slices.Written:
        # Then it is cheaper to read a small input twice than to send the whole history to the tasks.
        only_new_keys = not self._traits.retracts_missing_rows and self._input_size <= min(
            BROADCAST, self._history_size
        )
        written, dropped = partitioned_merge.write(
            new,
            self.history,
            Instant.parse(source.event_time),
            self._plan(source),
            self._request.slice_records,
            self._partitions,
            only_new_keys=only_new_keys,
        )
        is_empty = self._traits.retracts_missing_rows and _retracts_all(written) and new.isEmpty()
        return self._append(written, is_empty), dropped

    def _plan(self, source: MergeInput) -> SlicePlan:
        return SlicePlan(
            directory=self._request.new_data_path,
            schema=self.layout.schema,
            system_time=Instant.parse(self._request.system_time),
            event_time=Instant.parse(source.event_time),
            next_offset=self._next_offset,
            keys=self.layout.keys,
            label=source.name,
        )

    def _append(self, written: tuple[NewSlice, ...], is_input_empty: bool) -> tuple[NewSlice, ...]:
        """Add the slices of an input to the history."""
        if written:
            written = self._with_row_counts(written, is_input_empty)
            self._next_offset = written[-1].offset_interval.end + 1
            self._history_size += sum(new.size for new in written)
            files.keep_sizes({new.path: new.size for new in written})
            self.history = self.history.with_slices([HistorySlice(new.path, new.offset_interval) for new in written])
        return written

    def _with_row_counts(self, written: tuple[NewSlice, ...], is_input_empty: bool) -> tuple[NewSlice, ...]:
        """Return slices with the number of rows before them, from the first input that retracts missing rows on.

        Counting reads the operations of all slices after the cache.
        """
        changes = sum((new.changes for new in written), Changes())
        if not self._traits.retracts_missing_rows or (self._current_rows is None and not changes.removed):
            return written
        before = self.history.rows if self._current_rows is None else self._current_rows
        self._current_rows = before + changes.added - changes.removed
        return tuple(replace(new, rows_before=before, is_input_empty=is_input_empty) for new in written)


def _nullable(table: pa.Table) -> pa.Table:
    """Return the same rows with all columns and nested fields nullable."""
    return table.cast(pa.schema([pa.field(f.name, schemas.with_types(f.type, {})) for f in table.schema]))


def _retracts_all(written: tuple[NewSlice, ...]) -> bool:
    """Whether slices have nothing but retractions, as those of an empty input have; found without a Spark job."""
    return bool(written) and all(new.changes.removed == new.offset_interval.count for new in written)

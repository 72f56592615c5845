"""What inputs are merged onto: a dataset's past, and the form that suits its size.

Small ones are merged in one task without exchanges, and the records collected and written by the driver. Large ones are
joined in parallel and written where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine import duplicates, in_memory, slices, strategies
from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.batches import name_of
from airflow_provider_odf.engine.layout import Fitted
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import HistorySlice, MergeInput, MergeRequest, NewSlice

SMALL_SETTINGS = {
    # Compiling and adapting a plan takes longer than running it on so few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}

PARTITION = 64 * 1024 * 1024
"""Bytes of input for each partition of a large join."""

BROADCAST = 64 * 1024 * 1024
"""Bytes of input up to which its keys are sent to where the known keys are, rather than the other way round."""


class Base:
    """What inputs are merged onto: the dataset's past, which grows by each slice that is written."""

    def __init__(self, spark: SparkSession, request: MergeRequest, first: Fitted) -> None:
        self._spark, self._request, self.layout = spark, request, first.layout
        self.past = states.past(request, first)
        self._next_offset = request.next_offset
        self._input_size = max(sum(map(states.file_size, source.paths)) for source in request.inputs)
        self._past_size = self.past.size
        self.is_small = self._input_size + self._past_size <= states.SMALL
        for key, value in (SMALL_SETTINGS if self.is_small else self._large_settings()).items():
            spark.conf.set(key, value)
        self._current_rows: int | None = None
        self.rows: pa.Table | None = None
        """The state after the last input, where it is kept in memory."""
        self._is_in_memory = len(request.inputs) > 1 and self._input_size <= states.SMALL

    def evolve(self, fitted: Fitted) -> None:
        """Go on in the columns of a later input; what came before has null in those that are new."""
        self.layout, self.past = fitted.layout, self.past.in_columns(fitted)
        self.rows = None

    def merge(self, new: DataFrame, source: MergeInput, name: str) -> tuple[NewSlice | None, int]:
        """The slice that new rows give, None for no records, and how many rows were dropped for being the same."""
        new = new.coalesce(1) if self.is_small else new
        if self._is_in_memory:
            return self.merge_rows([new.toArrow()], [source])[0]
        return self._merge(new, source, name)

    def merge_rows(
        self, tables: Sequence[pa.Table], sources: Sequence[MergeInput]
    ) -> list[tuple[NewSlice | None, int]]:
        """The same for several small inputs, one onto the other."""
        given = list(zip(map(in_memory.plain, tables), sources, strict=True))
        if self.past.kind == "Snapshot" and not self._fits_in_memory():
            return [self._merge(self._spark.createDataFrame(table), s, name_of(s)) for table, s in given]
        rows = [in_memory.Rows(table, Instant.parse(s.event_time), name_of(s)) for table, s in given]
        state = self._state_of(rows) if self.past.has_state else None
        merged, rows_after = in_memory.merged(self.past.kind, rows, state, self.layout)
        self.rows = rows_after if self._fits_in_memory() else None
        return [self._write_merged(new, records) for new, records in zip(rows, merged, strict=True)]

    def _write_merged(self, new: in_memory.Rows, records: in_memory.Records) -> tuple[NewSlice | None, int]:
        order = strategies.order(self.past.kind, self.layout)
        written = slices.write(records.table, order, self._target(new.event_time, new.label))
        return self._followed(written, lambda: new.table.num_rows == 0), records.dropped

    def _fits_in_memory(self) -> bool:
        return self._past_size <= states.SMALL

    def _state_of(self, rows: Sequence[in_memory.Rows]) -> pa.Table | None:
        """What new rows are merged onto; of a long history only that of the keys which they have."""
        if self.rows is not None:
            return self.rows
        state = states.state(self._spark, self.past, small=self.is_small)
        if state is not None and not self._fits_in_memory():
            keys = list(self.layout.keys)
            new = pa.concat_tables(r.table.select(keys) for r in rows).group_by(keys).aggregate([])
            state = state.join(F.broadcast(self._spark.createDataFrame(new)), keys, "left_semi")
        return in_memory.plain(state.toArrow()) if state is not None else None

    def _merge(self, new: DataFrame, source: MergeInput, name: str) -> tuple[NewSlice | None, int]:
        written, dropped = self._write(new, self._count(source), self._target(Instant.parse(source.event_time), name))
        return self._followed(written, new.isEmpty), dropped

    def _target(self, event_time: Instant, name: str) -> slices.Target:
        return slices.Target(
            directory=self._request.new_data_path,
            schema=self.layout.schema,
            system_time=Instant.parse(self._request.system_time),
            event_time=event_time,
            next_offset=self._next_offset,
            keys=self.layout.keys,
            label=name,
        )

    def _followed(self, written: NewSlice | None, is_empty: Callable[[], bool]) -> NewSlice | None:
        """The slice, which is part of the past from now on. ``is_empty`` looks whether its input has no row."""
        if written is not None:
            written = self._counted(written, is_empty)
            self._next_offset = written.offset_interval.end + 1
            self._past_size += written.size
            self.past = self.past.followed_by(HistorySlice(written.path, written.offset_interval))
        return written

    def _counted(self, written: NewSlice, is_empty: Callable[[], bool]) -> NewSlice:
        """The slice with the number of rows before it. They are counted from the first Snapshot that retracts rows on:
        to count them the operations of all slices after the cache are read."""
        if self.past.kind != "Snapshot" or (self._current_rows is None and not written.changes.removed):
            return written
        before = self.past.rows if self._current_rows is None else self._current_rows
        self._current_rows = before + written.changes.added - written.changes.removed
        is_retraction = written.changes.removed == written.offset_interval.count
        return replace(written, rows_before=before, is_input_empty=is_retraction and is_empty())

    def _write(self, new: DataFrame, count: int | None, target: slices.Target) -> tuple[NewSlice | None, int]:
        """Duplicate keys are rare, so they are looked for in what is written, and the work is then done once more."""
        if self._request.merge.kind == "Ledger":
            return self._write_ledger(new, target)
        if count is not None:
            return self._write_snapshot(new, count, target)
        try:
            return self._write_records(self._records(new), target), 0
        except slices.DuplicateKeys:
            distinct, dropped = duplicates.collapse(new, self.layout, target.label)
            return self._write_records(self._records(distinct), target), dropped

    def _write_ledger(self, new: DataFrame, target: slices.Target) -> tuple[NewSlice | None, int]:
        records = self._records(new)
        written = self._write_records(records, target)
        if written is None or not duplicates.are_in(self._spark, written, self.layout):
            return written, 0
        slices.remove(written)
        distinct, dropped = duplicates.collapse(records, self.layout, target.label)
        return self._write_records(distinct, target), dropped

    def _write_snapshot(self, new: DataFrame, count: int, target: slices.Target) -> tuple[NewSlice | None, int]:
        written = self._write_records(self._records(new, marks_copies=False), target)
        if not duplicates.have_merged(new, count, written, self.past):
            return written, 0
        if written is not None:
            slices.remove(written)
        distinct, dropped = duplicates.collapse(new, self.layout, target.label)
        return self._write_records(self._records(distinct), target), dropped

    def _count(self, source: MergeInput) -> int | None:
        """The rows of a large Snapshot's input, where its files tell."""
        request = self._request
        if self.is_small or (request.merge.kind, request.read.kind, request.preprocess) != (
            "Snapshot",
            "Parquet",
            None,
        ):
            return None
        return sum(int(pq.read_metadata(path).num_rows) for path in source.paths)

    def _write_records(self, records: DataFrame, target: slices.Target) -> NewSlice | None:
        order = strategies.order(self._request.merge.kind, self.layout)
        if self.is_small:
            return slices.write(records.toArrow(), order, target)
        return slices.write_in_task(records, order, target)

    def _records(self, new: DataFrame, *, marks_copies: bool = True) -> DataFrame:
        layout = self.layout
        match self._request.merge.kind:
            case "Append":
                return strategies.append(new, layout)
            case "Ledger":
                return strategies.ledger(new, self._known_keys(new), layout)
            case "Snapshot":
                return strategies.snapshot(new, self._state(), layout, marks_copies=marks_copies)
            case "UpsertStream":
                return strategies.upsert_stream(new, self._state(), layout)
            case _:
                return strategies.changelog_stream(new, layout)

    def _state(self) -> DataFrame | None:
        return states.state(self._spark, self.past, small=self.is_small)

    def _known_keys(self, new: DataFrame) -> DataFrame | None:
        """The known keys; of a long history only those that the new rows have, which no shuffle of it is needed for."""
        known = self._state()
        if known is None or self.is_small or self._input_size > BROADCAST:
            return known
        keys = list(self.layout.keys)
        return F.broadcast(known.join(F.broadcast(new.selectExpr(*map(quoted, keys))), keys, "left_semi"))

    def _large_settings(self) -> dict[str, str]:
        partitions = (self._input_size + self.past.size) // PARTITION
        return {"spark.sql.shuffle.partitions": str(min(max(partitions, 8), 2000))}

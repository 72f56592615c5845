"""Merge a Parquet file into a Snapshot, if Arrow can do all of it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from airflow_provider_odf.engine import files
from airflow_provider_odf.engine import schema as schemas
from airflow_provider_odf.engine.column_layout import NewRows
from airflow_provider_odf.engine.columnar import budget, parquet_rows, snapshot
from airflow_provider_odf.engine.columnar.state import State, open_state
from airflow_provider_odf.engine.slice_file import SlicePlan, write_file
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.protocol import MergeInput, MergeRequest, NewSlice


@dataclass(frozen=True)
class ColumnarMerge:
    """New rows in order, and the state that they replace."""

    new: snapshot.NewTable
    state: State | None

    @property
    def is_input_empty(self) -> bool:
        return bool(self.new.in_order.num_rows == 0)

    def write(self, plan: SlicePlan) -> NewSlice | None:
        """Write the slice. Return None without records.

        :raises InvalidQuery, InternalError: as ``write_file`` does.
        """
        return write_file(self._records(plan), plan)

    def _records(self, plan: SlicePlan) -> Iterator[pa.Table]:
        for table in snapshot.records(self.new, self.state):
            yield fill_event_time(table, plan.schema, plan.event_time) if plan.event_time else table


def prepare(
    spark: SparkSession, request: MergeRequest, source: MergeInput, new: NewRows, history: History
) -> ColumnarMerge | None:
    """Read an input, and the keys of the state. Return None if Spark must merge it.

    Spark also merges what Arrow cannot read, for its messages.
    """
    if request.merge.kind != "Snapshot" or not _is_plain(request, source) or new.origins is None:
        return None
    most = budget.of_session(spark)
    kinds = schemas.readable(new.layout.schema)
    columns = {name: (origin, kinds.field(name).type) for name, origin in new.origins.items()}
    try:
        table = parquet_rows.read(source.paths[0], columns, most)
    except (OSError, pa.ArrowException):
        return None
    rows = snapshot.in_order(table, new.layout) if table is not None else None
    if table is None or rows is None:
        return None
    if history.cache is None and not history.slices:
        return ColumnarMerge(rows, None)
    state = open_state(history, most - table.nbytes)
    return ColumnarMerge(rows, state) if state is not None else None


def state_rows(spark: SparkSession, history: History) -> Iterator[pa.Table] | None:
    """Return the rows of the state in the order of their keys. Return None if Spark must compute them."""
    state = open_state(history, budget.of_session(spark))
    return state.all_rows() if state is not None else None


def _is_plain(request: MergeRequest, source: MergeInput) -> bool:
    """Whether the input is one Parquet file whose columns nobody converts."""
    is_parquet = request.read.kind == "Parquet" and request.read.columns is None and request.preprocess is None
    return is_parquet and len(source.paths) == 1 and files.is_file(source.paths[0])

"""``MergeRequest``: read, preprocess, merge, write slices and test the contract in one session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.batches import batches, read_batch
from airflow_provider_odf.engine.column_layout import POSITION, Columns, NewRows, fit
from airflow_provider_odf.engine.columnar import budget, inputs
from airflow_provider_odf.engine.merge_target import MergeTarget
from airflow_provider_odf.engine.optional_spark import NeedsSpark, may_use_arrow, required
from airflow_provider_odf.engine.preprocess import preprocess
from airflow_provider_odf.engine.read import read
from airflow_provider_odf.engine.read.convert import spark_types
from airflow_provider_odf.engine.schema import type_name
from airflow_provider_odf.engine.spark_errors import refusal, unreadable_file
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.protocol import (
    ContractReport,
    MergeInput,
    MergeRequest,
    MergeSuccess,
    NewSlice,
    PositionalHeader,
    StateCache,
)
from airflow_provider_odf.read_steps import Types
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.wording import counted, listed

Progress: TypeAlias = Callable[[str], None]


def execute(
    spark: SparkSession | None, request: MergeRequest, progress: Progress, heap: str | None = None
) -> MergeSuccess:
    """Merge the inputs and return the slices. ``spark`` must be a session for this request only: its settings change.

    ``heap`` is the maximum heap of the JVM as in Spark's settings, by default that of the session.

    :raises NeedsSpark: ``spark`` is None, and the request needs it.
    :raises InvalidQuery: the data or the steps of the request are not valid for this dataset.
    :raises StorageError: a slice could not be written.
    """
    if heap is None and spark is not None:
        heap = spark.conf.get("spark.driver.memory", "")
    memory_limit = budget.of_heap(heap or "")
    try:
        return _Merge(spark, request, progress, memory_limit).run()
    except NeedsSpark:
        raise
    except Exception as e:
        if request.prev_state is None or _is_refused(e, request.prev_state):
            raise
        progress(f"merging again without the cached state, which could not be used ({type(e).__name__})")
        return _Merge(spark, replace(request, prev_state=None), progress, memory_limit).run()


def _is_refused(error: Exception, cache: StateCache) -> bool:
    """Whether the data or the query are at fault, not a file of the cache."""
    if isinstance(error, OdfError):
        return f"{cache.path}/" not in str(error)
    file = unreadable_file(error)
    return refusal(error) is not None and not (file and Path(cache.path) in Path(file).parents)


class _Merge:
    """One request. Each input is merged after the input before it."""

    def __init__(
        self, spark: SparkSession | None, request: MergeRequest, progress: Progress, memory_limit: int
    ) -> None:
        self._session, self._request, self._progress, self._memory_limit = spark, request, progress, memory_limit
        self._stored = self._declared = schemas.decode(request.schema) if request.schema else None
        self._target: MergeTarget | None = None
        self._notices: list[str] = []
        self._headers: list[PositionalHeader] = []
        self._is_analyzed = False

    @property
    def _spark(self) -> SparkSession:
        return required(self._session)

    def run(self) -> MergeSuccess:
        if not self._request.inputs:
            return MergeSuccess((), self._analyze())
        slices = tuple(written for batch in batches(self._request.inputs) for written in self._merge_batch(batch))
        new = [new for written in slices for new in written]
        return MergeSuccess(
            slices=slices,
            schema=self._schema(),
            is_analysed=self._is_analyzed,
            new_state=self._save_state() if new else None,
            report=self._test(new) if new else None,
            notices=tuple(self._notices),
            headers=tuple(self._headers),
        )

    def _analyze(self) -> str | None:
        """Return the schema of the dataset after data with the declared columns, if there are any."""
        request = self._request
        if request.read.columns is None:
            return request.schema
        frame = self._spark.createDataFrame([], spark_types(request.read.columns))
        if request.preprocess is not None:
            frame = preprocess(self._spark, frame, request.preprocess, request.read, ())
        return schemas.encode(fit(frame, request, self._stored).layout.schema)

    def _merge_batch(self, batch: Sequence[MergeInput]) -> Iterator[tuple[NewSlice, ...]]:
        """Yield the slices of a batch. Its inputs are read together if possible, else one by one."""
        is_typed = self._request.read.format.types is Types.FILE
        is_together = len(batch) > 1 and self._session is not None and not is_typed and self._request.spark != "always"
        together = read_batch(self._spark, self._request, batch) if is_together else None
        if together is None:
            yield from map(self._merge, batch)
            return
        self._progress(f"merging {len(batch)} inputs, {batch[0].name} to {batch[-1].name}")
        self._notices += together.notices
        self._headers += together.headers
        self._is_analyzed = True
        self._progress("read by Spark, merged in the engine's process (small inputs are read together)")
        target, rows = self._fit(together.frame)
        tables = together.split(rows.frame.toArrow(), POSITION)
        for source, (written, dropped) in zip(batch, target.merge_tables(tables, batch), strict=True):
            yield self._finish(written, dropped, rows.layout.schema, source.name)

    def _merge(self, source: MergeInput) -> tuple[NewSlice, ...]:
        name = source.name
        self._progress(f"merging {name}")
        try:
            return self._merge_by_arrow(source, name)
        except NeedsSpark as e:
            if self._session is None:
                raise
            why = str(e) or "Arrow cannot read or judge a value, or the rows take too much memory"
        raw = read(self._spark, self._request.read, source.paths, name)
        self._notices += raw.notices
        self._headers += raw.headers
        frame = self._preprocess(raw.frame, source) if raw.frame.columns else self._no_rows()
        if frame is None:
            return ()
        target, rows = self._fit(frame)
        place = "in tasks of Spark" if target.merges_in_tasks else "in the engine's process"
        self._progress(f"{name}: read by Spark, merged {place} ({why})")
        return self._finish(*target.merge(rows, source), rows.layout.schema, name)

    def _merge_by_arrow(self, source: MergeInput, name: str) -> tuple[NewSlice, ...]:
        if self._request.spark == "always":
            raise NeedsSpark("spark = always")
        columns = inputs.open_input(self._request, source, self._stored) if may_use_arrow(self._request) else None
        if columns is None:
            raise NeedsSpark("Arrow does not read this input")
        written, dropped = self._target_for(columns).merge_columns(columns, source)
        self._notices += columns.notices
        self._headers += columns.headers
        self._is_analyzed = True
        where = "" if self._session is not None else ", without Spark"
        self._progress(f"{name}: read and merged by Arrow{where}")
        return self._finish(written, dropped, columns.layout.schema, name)

    def _preprocess(self, frame: DataFrame, source: MergeInput) -> DataFrame:
        transform = self._request.preprocess
        self._is_analyzed = True
        return preprocess(self._spark, frame, transform, self._request.read, source.paths) if transform else frame

    def _no_rows(self) -> DataFrame | None:
        """Return no rows in the dataset's columns, for an input without rows and schema, such as ``[]``.

        Such an input retracts all rows if the strategy retracts missing rows. Return None if it changes nothing.
        """
        if self._stored is None or not self._request.merge.traits.retracts_missing_rows:
            return None
        from airflow_provider_odf.engine.spark_version import from_arrow_schema

        columns = pa.schema([field.with_nullable(True) for field in list(self._stored)[3:]])
        return self._spark.createDataFrame([], from_arrow_schema(columns))

    def _fit(self, frame: DataFrame) -> tuple[MergeTarget, NewRows]:
        """Return new rows with the columns of the dataset, and the dataset with the same columns."""
        rows = fit(frame, self._request, self._stored)
        return self._target_for(rows), rows

    def _target_for(self, new: Columns) -> MergeTarget:
        if self._target is None:
            self._target = MergeTarget(self._session, self._request, new, self._memory_limit)
        elif self._target.layout != new.layout:
            self._target.evolve(new)
        return self._target

    def _finish(
        self, written: tuple[NewSlice, ...], dropped: int, schema: pa.Schema, name: str
    ) -> tuple[NewSlice, ...]:
        """Report the slices of an input and return them. The first one has a schema if the schema changed."""
        if dropped:
            self._notices.append(f"{name}: dropped {counted(dropped, 'duplicate row')}")
        if not written:
            return ()
        start, end = written[0].offset_interval.start, written[-1].offset_interval.end
        where = f" in {len(written)} slices" if len(written) > 1 else ""
        self._progress(f"wrote {counted(end - start + 1, 'record')}{where}, offsets {start} to {end}")
        if schema == self._stored:
            return written
        if self._stored is not None:
            present = set(self._stored.names)
            added = [f"{f.name} {type_name(f.type)}" for f in schema if f.name not in present]
            self._notices.append(f"{name}: new columns, null in earlier records: {listed(added)}")
        self._stored = schema
        return (replace(written[0], schema=schemas.encode(schema)), *written[1:])

    def _schema(self) -> str | None:
        """Return the dataset's schema.

        Without records, the schema of the data counts only if its types do not depend on values.
        """
        typed = self._request.read.columns is not None or self._request.read.format.types is Types.FILE
        schema = self._target.layout.schema if typed and self._target else self._stored
        return self._request.schema if schema is None or schema == self._declared else schemas.encode(schema)

    def _save_state(self) -> StateCache | None:
        target, path = self._target, self._request.new_state_path
        if target is None or path is None or not target.history.is_worth_caching():
            return None
        self._progress("caching the state")
        return target.save_state(path)

    def _test(self, new: list[NewSlice]) -> ContractReport | None:
        request = self._request
        if request.contract is None:
            return None
        from airflow_provider_odf.engine.contract import history  # most merges have no contract

        test = history.test_after(request, request.contract, new, self._schema() or "")
        return history.test(self._session, test, self._progress, self._memory_limit)

"""``TransformRequest``: the next records of a derivative, from new records of its inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.column_rules import RESERVED
from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.engine import slices, sorted_shuffle
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.size_settings import Size
from airflow_provider_odf.engine.strategies import strategy
from airflow_provider_odf.engine.transform import difference, keyed, row_wise
from airflow_provider_odf.engine.transform.analysis import Linear, PlanAnalysis
from airflow_provider_odf.engine.transform.arrow_query import arrow_query
from airflow_provider_odf.engine.transform.inputs import History, Input, history, of_request
from airflow_provider_odf.engine.transform.query import Analysis, Query
from airflow_provider_odf.engine.transform.result import Bound, Result, result
from airflow_provider_odf.engine.transform.slice_plan import slice_plan
from airflow_provider_odf.engine.transform.spark_query import SparkQuery
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import (
    ContractReport,
    HistorySlice,
    NewSlice,
    TransformRequest,
    TransformSuccess,
)
from airflow_provider_odf.records import files, keys
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan, write_file
from airflow_provider_odf.records.sorted_runs import grouped
from airflow_provider_odf.wording import counted

Progress: TypeAlias = Callable[[str], None]


def execute(spark: SparkSession, request: TransformRequest, progress: Progress) -> TransformSuccess:
    """Compute the next records and return the slice. ``spark`` must be a session for this request only.

    :raises InvalidQuery: a query is not valid, its result is not a function of the inputs' rows, or its columns are not
        those of the derivative.
    :raises InternalError: the slice could not be written.
    """
    return _Transform(spark, request, progress).run()


@dataclass(frozen=True)
class _Records:
    """Records to write: rows with OP, the columns of the result and those that sort them.

    ``are_compared`` says that the rows taken back are certainly there, since they were read from the derivative, or
    that the query sets operations itself. ``have_places`` says that the columns that sort them are whole numbers
    without nulls, which are different for each record.
    """

    frame: DataFrame
    are_compared: bool = True
    have_places: bool = False

    @property
    def order(self) -> list[str]:
        """The columns that sort the records: those that are no columns of the result, if there are any, else all."""
        own = [name for name in self.frame.columns if name != OP]
        return [name for name in own if name.startswith(RESERVED)] or own


class _Transform:
    """One request."""

    def __init__(self, spark: SparkSession, request: TransformRequest, progress: Progress) -> None:
        self._spark, self._request, self._progress = spark, request, progress
        self._fit([*(s for i in request.query_inputs for s in i.history), *request.history])
        self._inputs = of_request(spark, request.query_inputs, is_small=self._is_small)
        self._bound = Bound.of(spark, self._inputs)
        self._query = _query(spark, request, self._inputs, self._bound, is_small=self._is_small)

    def _fit(self, slices: Iterable[HistorySlice]) -> None:
        """Set Spark's settings by the size of the slices that the next frames read."""
        read = [*slices]
        total = files.total_size(s.path for s in read)
        size = Size(total, total, sum(s.offset_interval.count for s in read))
        self._is_small = size.is_small
        size.apply(self._spark)

    def run(self) -> TransformSuccess:
        """Analyze the query and, with a directory for the slice, compute the records."""
        analyzed, frame = self._query.analyze()
        columns = self._columns(frame)
        schema = schemas.encode(columns.schema)
        evaluation = replace(analyzed.evaluation(), arrow_query=self._arrow_query(analyzed, schema))
        changed_schema = schema if schema != self._request.schema else None
        if not self._request.new_data_path:
            return TransformSuccess(schema=changed_schema, evaluation=evaluation)
        records = self._records(analyzed, columns)
        self._progress(f"computing new records ({evaluation.kind})")
        new = self._write(records, columns) if records is not None else None
        if new is not None and records is not None and not records.are_compared:
            self._check_taken_back(new, columns)
        if new is not None:
            self._progress(f"wrote {counted(new.offset_interval.count, 'record')}")
        return TransformSuccess(
            new_offset_interval=new.offset_interval if new else None,
            new_watermark=self._request.watermark,
            slice=new,
            schema=changed_schema,
            evaluation=evaluation,
            report=self._test(new, schema) if new else None,
        )

    def _columns(self, frame: DataFrame) -> Result:
        try:
            return result(frame, self._request)
        except InvalidQuery as e:
            raise InvalidQuery(f"transform: {e}") from e

    def _arrow_query(self, analyzed: Analysis, schema: str) -> str | None:
        """Return the query for requests that Arrow may answer, if there is one."""
        reads_records = self._query.waits or self._query.reads_operations(analyzed.used)
        if reads_records or not isinstance(analyzed, PlanAnalysis):
            return None
        return arrow_query(analyzed, self._request, schema)

    def _records(self, analyzed: Analysis, columns: Result) -> _Records | None:
        """Return the new records of the derivative, None if the query reads nothing that is new."""
        is_raw = self._query.reads_operations(analyzed.used) or columns.operation is not None
        if columns.operation is not None and not analyzed.is_row_wise:
            raise self._query.refusal(
                self._request.vocab.operation_type_column,
                f"column {self._request.vocab.operation_type_column} of the result has the name of a system column: "
                "only a query that computes each row from one record can set operations; rename it",
            )
        if analyzed.is_row_wise and self._are_records_enough(analyzed, is_raw=is_raw):
            return self._row_wise(columns, is_raw=is_raw)
        if columns.operation is not None:
            raise InvalidQuery(
                "transform: the query sets operations itself, so its result cannot be compared with the records of the "
                f"query before: run `odf reset {self._request.dataset_alias}` to compute all of it with the new query"
            )
        if not self._request.history or self._request.is_query_new or self._query.waits or is_raw:
            return self._whole(analyzed, columns, is_raw=is_raw)
        changed = [i.number for i in self._inputs if i.is_new]
        parts = analyzed.parts(changed)
        if parts == []:
            return None
        linear = analyzed.linear(changed)
        records = self._incremental(analyzed, linear, columns) if linear else None
        if records is not None:
            return records
        if parts is None:
            return self._whole(analyzed, columns, is_raw=is_raw)
        return self._keyed(analyzed, [keyed.Touched.by(self._spark, part, self._inputs) for part in parts], columns)

    def _keyed(self, analyzed: Analysis, parts: Sequence[keyed.Touched], columns: Result) -> _Records:
        """Return the difference of the touched parts of the result."""

        def rows(part: keyed.Touched) -> DataFrame:
            keyed.view(part, self._inputs)
            return self._rows(columns)

        new, own = keyed.in_parts(rows, parts), self._own(columns)
        records = own.records()
        present = own.counted(keyed.in_parts(lambda part: records, parts))
        return _Records(difference.difference(present, new, columns, analyzed.identity))

    def _are_records_enough(self, analyzed: Analysis, *, is_raw: bool) -> bool:
        """Whether new records alone determine those of a row-wise query.

        A query that is new also changes what earlier records gave, be it those of inputs that it no longer reads. A row
        that vanishes has another offset and system time than when it appeared: queries that show them need the rows
        themselves.
        """
        has_past = bool(self._request.history) or any(i.new_from for i in self._inputs)
        if self._query.waits or (self._request.is_query_new and has_past):
            return False
        if is_raw or all(i.only_grows for i in self._inputs):
            return True
        positions = [{i.history.vocab.offset_column, i.history.vocab.system_time_column} for i in self._inputs]
        return not any(
            name.lower() in analyzed.used.get(i.number, ())
            for i, names in zip(self._inputs, positions, strict=True)
            for name in names
        )

    def _row_wise(self, columns: Result, *, is_raw: bool) -> _Records:
        changed = {i: i.history.records(i.new_slices) if is_raw else i.changes() for i in self._inputs}
        is_additive = all(i.only_grows for i in self._inputs)
        if not (is_raw or is_additive or self._query.carries_records):
            return self._row_wise_by_difference(changed, columns)
        for i, records in changed.items():
            i.view(records, is_raw=is_raw)
        frame = self._bound.checked(self._query.rows_with_records())
        if is_raw:
            return _Records(row_wise.raw_changes(frame, columns), have_places=True)
        changes = row_wise.changes(frame, columns, has_corrections=not is_additive)
        return _Records(changes, is_additive, have_places=True)

    def _row_wise_by_difference(self, changed: Mapping[Input, DataFrame], columns: Result) -> _Records:
        """Return the difference of what removed and added records give, for a query that cannot tell which record a row
        comes from."""

        def rows(condition: str) -> DataFrame:
            for i, records in changed.items():
                op = quoted(i.history.vocab.operation_type_column)
                i.view(records.where(f"{op} {condition} {PRESENT}"), is_raw=False)
            return self._rows(columns)

        removed, added = rows("NOT IN"), rows("IN")
        present = difference.once(removed, columns)
        return _Records(difference.difference(present, added, columns, None), are_compared=False)

    def _incremental(self, analyzed: Analysis, linear: Linear, columns: Result) -> _Records | None:
        """Return the records of a linear query, None if they do not follow from the new records of its inputs."""
        is_sum = linear.totals is None or all(i.only_grows for i in self._inputs)
        if not is_sum or not self._are_records_enough(analyzed, is_raw=False):
            return None
        self._fit(keyed.slices(self._inputs, self._request.history if linear.totals else ()))
        rows = partial(self._rows, columns)
        near = keyed.beside(self._inputs, lambda number: analyzed.parts([number]))
        new = keyed.added(rows, self._inputs, near)
        if linear.totals is not None:
            changes = keyed.totals(self._spark, new, self._own(columns), linear.totals, columns)
        else:
            taken = keyed.removed(rows, self._inputs, near)
            old = difference.once(taken if taken is not None else new.limit(0), columns)
            changes = difference.difference(old, new, columns, analyzed.identity)
        return _Records(changes, are_compared=linear.totals is not None)

    def _whole(self, analyzed: Analysis, columns: Result, *, is_raw: bool) -> _Records:
        for i in self._inputs:
            records = i.history.records()
            i.view(records if is_raw else i.history.current(records), is_raw=is_raw)
            if self._query.waits:
                # A derivative corrects its past, whose earlier records are no versions of a row.
                i.view_records(i.history.current(records) if i.history.merge is None else records)
        rows = self._rows(columns)
        if not self._request.history:
            return _Records(difference.additions(rows, columns))
        own = self._own(columns)
        changed = difference.difference(own.counted(own.records()), rows, columns, analyzed.identity)
        return _Records(changed)

    def _rows(self, columns: Result) -> DataFrame:
        """Return the rows of the query over the present views, with the derivative's columns."""
        return columns.select(self._bound.checked(self._query.rows()))

    def _own(self, columns: Result) -> History:
        """Return the derivative's own records; earlier slices have null in new columns."""
        request = self._request
        return history(
            self._spark, schemas.encode(columns.schema), request.vocab, None, request.history, self._is_small
        )

    def _write(self, records: _Records, columns: Result) -> NewSlice | None:
        request = self._request
        plan = slice_plan(request, columns.schema, has_pairs=columns.operation is None)
        if self._is_small:
            ordered = records.frame.coalesce(1).sortWithinPartitions(*map(quoted, records.order))
            return write_file(iter([ordered.select(quoted(OP), *columns.spark_columns).toArrow()]), plan)
        # Later results are small: one task sorts them before several have begun.
        is_parallel = records.have_places and not request.history and self._spark.sparkContext.defaultParallelism > 1
        return (write_in_tasks if is_parallel else slices.write_in_task)(records.frame, records.order, plan)

    def _check_taken_back(self, new: NewSlice, columns: Result) -> None:
        """Check that the derivative has the rows that a slice takes back.

        :raises InvalidQuery: it does not have one; the message has the row.
        """
        row = difference.missing_row(self._own(columns), HistorySlice(new.path, new.offset_interval))
        if row is None:
            return
        raise InvalidQuery(
            f"transform: the new records take back a row that dataset {self._request.dataset_alias} does not have: "
            f"({', '.join(f'{name}={value}' for name, value in row.asDict().items())}). So the query gave another "
            "result for the same rows of its inputs before. Nothing was written. If the query depends on more than "
            "these rows, change it; if another release of Spark computes it otherwise, keep it. Then run `odf reset "
            f"{self._request.dataset_alias}` to compute all rows again"
        )

    def _test(self, new: NewSlice, schema: str) -> ContractReport | None:
        request = self._request
        if request.contract is None:
            return None
        from airflow_provider_odf.engine.contract import history as contracts

        self._progress(f"testing contract {request.contract.id}")
        test = contracts.test_after(request, request.contract, [new], schema)
        return contracts.test(self._spark, test)


def write_in_tasks(records: DataFrame, order: Sequence[str], plan: SlicePlan) -> NewSlice | None:
    """Write the same slice as `slices.write_in_task`, sorted in several tasks by whole numbers without nulls."""
    sorted_runs = sorted_shuffle.Merged(partial(_sorted_runs, order), tuple(order), plan)
    (written, _) = sorted_shuffle.write_in_tasks(records, sorted_runs, sys.maxsize)
    return next(iter(written), None)


def _sorted_runs(order: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[strategy.Records]:
    for rows in grouped((pa.Table.from_batches([batch]) for batch in batches), sorted_shuffle.RUN):
        yield strategy.Records(iter([rows.take(keys.order(rows, order))]))


def _query(
    spark: SparkSession, request: TransformRequest, inputs: Sequence[Input], bound: Bound, *, is_small: bool
) -> Query:
    if request.transform.engine == DATAFUSION:
        from airflow_provider_odf.engine.transform.datafusion_query import DataFusionQuery

        return DataFusionQuery(spark, request, inputs, bound, is_small=is_small)
    return SparkQuery(spark, request, inputs)

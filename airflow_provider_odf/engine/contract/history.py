"""Test a contract on a dataset's history up to a candidate.

The merge strategy decides which rows are tested: the current rows if the strategy has them, otherwise the new rows.
Keys and references are tested over the whole history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import parquet_frame
from airflow_provider_odf.engine.columnar import budget
from airflow_provider_odf.engine.contract import datafusion_form, datafusion_scan
from airflow_provider_odf.engine.contract.datafusion_scan import DataFusionScan
from airflow_provider_odf.engine.contract.report import by_either, report
from airflow_provider_odf.engine.contract.rows import Other, Rows
from airflow_provider_odf.engine.contract.scan import SparkScan
from airflow_provider_odf.engine.current_rows import current_rows, current_rows_by_key, rows_not_undone
from airflow_provider_odf.engine.optional_spark import NeedsSpark, required
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import select
from airflow_provider_odf.protocol import (
    Contract,
    ContractReport,
    ContractTestRequest,
    ContractTestSuccess,
    HistorySlice,
    MergeRequest,
    NewSlice,
    RelatedDataset,
    TransformRequest,
)
from airflow_provider_odf.records import files
from airflow_provider_odf.records.schema import decode, readable
from airflow_provider_odf.records.slice_file import ROW_GROUP

Progress: TypeAlias = Callable[[str], None]


def execute(
    spark: SparkSession | None, request: ContractTestRequest, progress: Progress, heap: str | None = None
) -> ContractTestSuccess:
    """Test the requested contract and return the report. ``heap`` is the maximum heap of the JVM.

    :raises NeedsSpark: ``spark`` is None, and the contract needs it.
    """
    return ContractTestSuccess(test(spark, request, progress, budget.of_heap(heap or "")))


def test(
    spark: SparkSession | None,
    request: ContractTestRequest,
    progress: Progress = lambda _: None,  # noqa: PT028 - no test of pytest
    memory_limit: int = budget.LEAST,  # noqa: PT028
) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    Without a schema in the request, the files define the columns.

    :param memory_limit: bytes that aggregates without Spark may hold.
    :raises NeedsSpark: ``spark`` is None, and the contract needs it.
    """

    def without_spark() -> ContractReport:
        rows = _rows_without_spark(request, memory_limit)
        return report(request.contract, {request.contract.model: replace(rows, as_of=request.as_of)})

    return by_either(request.contract.id, progress, without_spark, lambda: _test_by_spark(required(spark), request))


def why_spark(request: ContractTestRequest) -> str:
    """Return why Spark must test a contract, empty if it is tried without."""
    if request.spark == "always":
        return "spark = always"
    if request.merge is None and sum(s.offset_interval.count for s in request.history) > ROW_GROUP:
        return "the rows of a derivative are many"
    if not all(map(files.is_path, (s.path for s in request.history))):
        return "the data lie in an object store"
    schema = _spark_schema(request.schema)
    if schema is None:
        return "the columns are unknown, or Spark lacks a type of one"
    # Rows of a dataset without a key are told apart by all columns.
    keys = _key(request) if request.merge is not None else tuple(schema.names)
    return datafusion_form.why_spark(request.contract, schema, keys)


def why_spark_after(merge: MergeRequest, contract: Contract) -> str:
    """Return why Spark must test the contract of a merge, as far as that is known before it, else an empty text."""
    if merge.schema is None:
        return datafusion_form.why_spark(contract, None)
    return why_spark(test_after(merge, contract, (), merge.schema))


def test_after(
    step: MergeRequest | TransformRequest, contract: Contract, new: Iterable[NewSlice], schema: str
) -> ContractTestRequest:
    """Return the request to test a contract on the result of a step: its new slices, and the schema after it."""
    return ContractTestRequest(
        dataset_alias=step.dataset_alias,
        vocab=step.vocab,
        contract=contract,
        history=(*step.history, *(HistorySlice(s.path, s.offset_interval) for s in new)),
        new_from=step.next_offset,
        schema=schema,
        merge=step.merge if isinstance(step, MergeRequest) else None,
        as_of=step.system_time,
        spark=step.spark,
    )


def _rows_without_spark(request: ContractTestRequest, memory_limit: int) -> Rows:
    schema = _spark_schema(request.schema)
    if (why := why_spark(request)) or schema is None:
        raise NeedsSpark(why)
    vocab, merge, offset = request.vocab, request.merge, quoted(request.vocab.offset_column)
    columns = readable(decode(request.schema))
    columns = pa.schema([f.with_nullable(True) for f in columns])
    context = datafusion_scan.context(memory_limit)
    every = datafusion_scan.rows_of(context, [s.path for s in request.history], columns, schema)
    tested, unique_by = every, frozenset[str]()
    if merge is None:
        names = [name for name in columns.names if name not in vocab.columns[:3]]
        every = tested = datafusion_scan.in_memory(context, rows_not_undone(every, names, vocab))
    elif merge.traits.has_current_rows:
        every = tested = current_rows_by_key(every, merge.primary_key, vocab)
        unique_by = frozenset(c.lower() for c in merge.primary_key)
    elif request.new_from > 0:
        new = [s.path for s in request.history if s.offset_interval.end >= request.new_from]
        rows = datafusion_scan.rows_of(context, new, columns, schema) if new else every
        tested = select("*", rows, f"WHERE {offset} >= {request.new_from}")
    scan = DataFusionScan(context, schema, every, tested, offset)
    return Rows(schema, scan, vocab.columns, _key(request), unique_by, has_offsets=True)


def _key(dataset: ContractTestRequest | RelatedDataset) -> tuple[str, ...]:
    """Return the columns that identify a row to a reader."""
    return (dataset.vocab.offset_column, *(dataset.merge.primary_key if dataset.merge else ()))


def _test_by_spark(spark: SparkSession, request: ContractTestRequest) -> ContractReport:
    contract = request.contract
    rows = _rows(spark, request, request.new_from)
    related = {r.model: _rows(spark, r, 0) for r in contract.related if r.history}
    others = {name: Other(those.scan.keyed) for name, those in (related | {contract.model.lower(): rows}).items()}
    return report(contract, {contract.model: replace(rows, others=others, as_of=request.as_of)})


def _rows(spark: SparkSession, dataset: ContractTestRequest | RelatedDataset, new_from: int) -> Rows:
    vocab, merge, history = dataset.vocab, dataset.merge, dataset.history
    declared, offset = _spark_schema(dataset.schema), quoted(vocab.offset_column)
    if not history:
        none = spark.createDataFrame([], declared or T.StructType())
        return Rows(none.schema, SparkScan(none, none, "true", offset, True), vocab.columns, has_offsets=True)
    every = parquet_frame.read(spark, [s.path for s in history], declared)
    is_small = files.are_small(s.path for s in history)
    if is_small:
        every = every.coalesce(1)
    unique_by: frozenset[str] = frozenset()
    if merge is None:
        names = [name for name in every.columns if name not in vocab.columns[:3]]
        rows = current_rows(every, (), names, vocab)
        scan = SparkScan(rows, rows, "true", offset, is_small)
    elif merge.traits.has_current_rows:
        rows = current_rows(every, merge.primary_key, (), vocab)
        scan = SparkScan(rows, rows, "true", offset, is_small)
        unique_by = frozenset(c.lower() for c in merge.primary_key)
    else:
        tested = f"{offset} >= {new_from}"
        new = [s.path for s in history if s.offset_interval.end >= new_from]
        rows = parquet_frame.read(spark, new, declared).where(tested) if new else every.where("false")
        scan = SparkScan(every, rows, tested, offset, is_small)
    return Rows(every.schema, scan, vocab.columns, _key(dataset), unique_by, has_offsets=True)


def _spark_schema(message: str | None) -> T.StructType | None:
    """Return the Spark schema of an Arrow IPC message, None without a message.

    It is also None if Spark lacks a type for a column: the schema then comes from the files.
    """
    if not message:
        return None
    from airflow_provider_odf.engine.spark_version import from_arrow_schema

    try:
        return from_arrow_schema(decode(message))
    except PySparkException:
        return None

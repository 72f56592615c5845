"""Test a contract on a dataset's history up to a candidate.

The merge strategy decides which rows are tested: the current rows if the strategy has them, otherwise the new rows.
Keys and references are tested over the whole history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import parquet_frame
from airflow_provider_odf.engine.contract.report import report
from airflow_provider_odf.engine.contract.rows import Other, Rows
from airflow_provider_odf.engine.contract.scan import Scan
from airflow_provider_odf.engine.current_rows import current_rows
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.protocol import (
    ContractReport,
    ContractTestRequest,
    ContractTestSuccess,
    RelatedDataset,
)
from airflow_provider_odf.records import files
from airflow_provider_odf.records.schema import decode


def execute(spark: SparkSession, request: ContractTestRequest, progress: Callable[[str], None]) -> ContractTestSuccess:
    """Test the requested contract and return the report."""
    progress(f"testing contract {request.contract.id} on {request.dataset_alias}")
    return ContractTestSuccess(test(spark, request))


def test(spark: SparkSession, request: ContractTestRequest) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    Without a schema in the request, the files define the columns.
    """
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
        return Rows(none.schema, Scan(none, none, "true", offset, True), vocab.columns, has_offsets=True)
    every = parquet_frame.read(spark, [s.path for s in history], declared)
    is_small = files.are_small(s.path for s in history)
    if is_small:
        every = every.coalesce(1)
    unique_by: frozenset[str] = frozenset()
    if merge is None:
        names = [name for name in every.columns if name not in vocab.columns[:3]]
        rows = current_rows(every, (), names, vocab)
        scan = Scan(rows, rows, "true", offset, is_small)
    elif merge.traits.has_current_rows:
        rows = current_rows(every, merge.primary_key, (), vocab)
        scan = Scan(rows, rows, "true", offset, is_small)
        unique_by = frozenset(c.lower() for c in merge.primary_key)
    else:
        tested = f"{offset} >= {new_from}"
        new = [s.path for s in history if s.offset_interval.end >= new_from]
        rows = parquet_frame.read(spark, new, declared).where(tested) if new else every.where("false")
        scan = Scan(every, rows, tested, offset, is_small)
    key = (vocab.offset_column, *(merge.primary_key if merge else ()))
    return Rows(every.schema, scan, vocab.columns, key, unique_by, has_offsets=True)


def _spark_schema(message: str | None) -> T.StructType | None:
    """Return the Spark schema of an Arrow IPC message, None without a message.

    It is also None if Spark lacks a type for a column: the schema then comes from the files.
    """
    if not message:
        return None
    from pyspark.sql.pandas.types import from_arrow_schema

    try:
        return from_arrow_schema(decode(message))
    except PySparkException:
        return None

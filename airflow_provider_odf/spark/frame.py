"""A scan as a DataFrame that Spark reads from the slices itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import checked_slices, current_rows, slices
from airflow_provider_odf.engine.current_rows import current_rows as newest_present
from airflow_provider_odf.engine.current_rows import newest_records, rows_not_undone
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan, Scan
from airflow_provider_odf.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame(spark: SparkSession, scan: Scan) -> DataFrame:
    """Return a scan as a DataFrame, see `Scan.to_spark`."""
    if scan.condition is not None:
        raise InvalidInput("a scan with a condition cannot become a DataFrame: use `DataFrame.where` instead")
    checked_slices.check(scan.dataset, scan.state.dataset_id, scan.slices(), scan.cache)
    columns = [quoted(field.name) for field in spark_schema(scan).fields]
    records = _records(spark, scan)
    rows = _current(records, scan) if isinstance(scan, CurrentScan) else records
    return rows.selectExpr(*columns)


def _records(spark: SparkSession, scan: Scan) -> DataFrame:
    schema = spark_schema(HistoryScan(scan.dataset, scan.state))
    paths = [Path(slices.location(scan.dataset, s)).as_uri() for s in scan.slices()]
    if not paths:
        return spark.createDataFrame([], schema)
    records = spark.read.schema(schema).parquet(*paths)
    if isinstance(scan, HistoryScan) and scan.offsets is not None:
        offset = quoted(scan.offsets.column)
        return records.where(f"{offset} BETWEEN {scan.offsets.first} AND {scan.offsets.last}")
    return records


def _current(records: DataFrame, scan: Scan) -> DataFrame:
    state, vocab = scan.state, scan.state.vocab
    if key := current_rows.spelled_key(state, records.columns):
        return newest_present(newest_records(records, key, vocab), vocab)
    if not current_rows.has_changes(scan.dataset, state):
        return records
    system = (vocab.offset_column, vocab.operation_type_column, vocab.system_time_column)
    return rows_not_undone(records, [name for name in records.columns if name not in system], vocab)

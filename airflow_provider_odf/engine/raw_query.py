"""``RawQueryRequest`` of the engine protocol: read and preprocess raw files into typed Parquet."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from airflow_provider_odf.engine.preprocess import preprocess
from airflow_provider_odf.engine.read import read
from airflow_provider_odf.protocol import RawQueryRequest, RawQuerySuccess, ReadStep


def execute(spark: SparkSession, request: RawQueryRequest, progress: Callable[[str], None]) -> RawQuerySuccess:
    """Write the rows of the last query, in order, as a directory of Parquet files. Return the number of records.

    :raises InvalidQuery: the data or the queries are not valid.
    """
    step, paths = request.read or ReadStep("Parquet"), request.input_data_paths
    rows = read(spark, step, paths, request.label)
    for notice in rows.notices:
        progress(notice)
    frame = preprocess(spark, rows.frame, request.transform, step, paths) if request.transform else rows.frame
    frame.write.mode("overwrite").parquet(request.output_data_path)
    return RawQuerySuccess(spark.read.parquet(request.output_data_path).count(), rows.headers)

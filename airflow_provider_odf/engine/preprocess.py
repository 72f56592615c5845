"""``preprocess`` of a source: SQL queries over the view ``input``, the rows from the source."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.engine.query import run
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_errors import query_name
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep, Transform
from airflow_provider_odf.records import files


def preprocess(
    spark: SparkSession, frame: DataFrame, transform: Transform, read: ReadStep, paths: Sequence[str]
) -> DataFrame:
    """Return the rows of the last query. Each query can read ``input`` and earlier queries by alias.

    Views are created in the frame's session: use a separate session per request. ``read`` and ``paths`` are the read
    step and the files of the frame.

    :raises InvalidQuery: a query is not valid, or there is none.
    """
    if transform.temporal_tables:
        raise InvalidQuery("preprocess reads only the new records of a source: remove temporalTables")
    if not transform.queries:
        raise InvalidQuery("preprocess has no query")
    if transform.engine == DATAFUSION:
        from airflow_provider_odf.engine import datafusion

        return datafusion.query(spark, frame, transform, read, small=files.are_small(paths))
    return query(spark, frame, transform)


def query(spark: SparkSession, frame: DataFrame, transform: Transform) -> DataFrame:
    """Return the rows of the last query in Spark SQL."""
    tables = ["input"]
    frame.createOrReplaceTempView("input")
    for number, step in enumerate(transform.queries, 1):
        try:
            frame = run(spark, step.query, query_name(number, step), tables)
        except InvalidQuery as e:
            raise InvalidQuery(f"preprocess, {e}") from e
        if step.alias:
            frame.createOrReplaceTempView(quoted(step.alias))
            tables.append(step.alias)
    return frame

"""``engine: datafusion``: DataFusion queries on frames of Spark.

The driver queries small inputs. For larger ones, the workers run row-wise queries partition by partition, and one task
runs all other queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from airflow_provider_odf.datafusion import session, types
from airflow_provider_odf.datafusion.plan import INPUT, plan
from airflow_provider_odf.datafusion.query_problem import QueryProblem
from airflow_provider_odf.datafusion.run import Job
from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep, Transform
from airflow_provider_odf.read_steps import Types

_LEAST_MEMORY = 128 * 1024 * 1024


def query(spark: SparkSession, frame: DataFrame, transform: Transform, read: ReadStep, *, small: bool) -> DataFrame:
    """Return the rows of the last query.

    :raises InvalidQuery: a query is not valid for the columns. For a small frame, also if its rows are not valid;
        otherwise such errors appear when the rows are used.
    """
    job, is_row_wise = _job(spark, frame, transform, read)
    schema = from_arrow_schema(job.output)
    if small:
        return spark.createDataFrame(job.on_table(frame.toArrow()), schema)
    if is_row_wise:
        return frame.mapInArrow(job.by_part, schema)
    return frame.coalesce(1).mapInArrow(job.at_once, schema)


def query_each(
    spark: SparkSession, frame: DataFrame, tables: Sequence[pa.Table], transform: Transform, read: ReadStep
) -> tuple[DataFrame, tuple[int, ...]]:
    """Query small tables separately. Return all rows in order, and the number of rows for each table.

    ``frame`` has the columns of the tables.
    """
    job, _ = _job(spark, frame, transform, read)
    results = [job.on_table(table) for table in tables]
    rows = spark.createDataFrame(pa.concat_tables(results), from_arrow_schema(job.output))
    return rows, tuple(table.num_rows for table in results)


def _job(spark: SparkSession, frame: DataFrame, transform: Transform, read: ReadStep) -> tuple[Job, bool]:
    # Without a declared schema the reference keeps the unit of times in Parquet. Spark has microseconds.
    unit = "us" if read.format.types is Types.FILE and read.columns is None else "ms"
    arrow = to_arrow_schema(frame.schema, timezone="UTC")
    columns = pa.schema([pa.field(f.name, types.to_datafusion(f.type, unit)) for f in arrow])
    try:
        planned = plan(transform.queries, {INPUT: columns})
    except QueryProblem as e:
        raise InvalidQuery(f"preprocess, {e}") from e
    output = pa.schema([pa.field(f.name, types.to_spark(f.type)) for f in planned.output])
    heap = spark_internals.heap_bytes()
    job = Job(
        steps=transform.queries,
        input=columns,
        output=output,
        version=session.installed_version(),
        memory=max(heap // 2, _LEAST_MEMORY),
        scratch=spark.conf.get("spark.local.dir", "") or "",
    )
    return job, planned.is_row_wise

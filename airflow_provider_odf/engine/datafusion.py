"""``engine: datafusion``: DataFusion queries on frames of Spark.

The driver queries small inputs. For larger ones, the workers run row-wise queries partition by partition, and one task
runs all other queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.datafusion import determinism, types
from airflow_provider_odf.datafusion.plan import INPUT, TransformPlan, installed_version, plan, plan_transform
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.datafusion.run import Job
from airflow_provider_odf.engine.arrow_tasks import in_tasks
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_internals import heap_bytes, is_remote
from airflow_provider_odf.engine.spark_version import from_arrow_schema, to_arrow_schema
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep, Transform
from airflow_provider_odf.read_steps import Types

_LEAST_MEMORY = 128 * 1024 * 1024


def query(spark: SparkSession, frame: DataFrame, transform: Transform, read: ReadStep, *, small: bool) -> DataFrame:
    """Return the rows of the last query of preprocess.

    :raises InvalidQuery: a query is not valid for the columns. For a small frame, also if its rows are not valid;
        otherwise such errors appear when the rows are used.
    """
    job, is_row_wise = _preprocess(spark, frame, transform, read)
    return _rows(spark, {INPUT: frame}, job, is_row_wise=is_row_wise, small=small)


def query_each(
    spark: SparkSession, frame: DataFrame, tables: Sequence[pa.Table], transform: Transform, read: ReadStep
) -> tuple[DataFrame, tuple[int, ...]]:
    """Query small tables separately. Return all rows in order, and the number of rows for each table.

    ``frame`` has the columns of the tables.
    """
    job, _ = _preprocess(spark, frame, transform, read)
    results = [job.on_tables({INPUT: table}) for table in tables]
    rows = spark.createDataFrame(pa.concat_tables(results), from_arrow_schema(job.output))
    return rows, tuple(table.num_rows for table in results)


def analyze(
    frames: Mapping[str, DataFrame], transform: Transform, keys: determinism.Keys | None = None
) -> TransformPlan:
    """Return the plan of the queries of a transform over frames by their names.

    :param keys: sets of columns by frame in which no two rows are equal.

    :raises InvalidQuery: a query is not valid for the columns, or its value is not determined by the rows.
    """
    try:
        return plan_transform(transform.queries, _columns(frames), keys)
    except QueryProblem as e:
        raise InvalidQuery(f"transform, {e}") from e


def transform(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    transform: Transform,
    keys: determinism.Keys | None = None,
    *,
    small: bool,
    most_rows: int | None = None,
    too_many: str = "",
) -> DataFrame:
    """Return the rows of the last query of a transform over frames by their names.

    Small frames are queried in the driver. Of larger ones, row-wise queries run on the partitions of each frame, and
    all others in one task.

    :raises InvalidQuery: as in `analyze`. For small frames, also if their rows are not valid; otherwise such errors
        appear when the rows are used.
    """
    planned = analyze(frames, transform, keys)
    job = _job(spark, transform, _columns(frames), planned.output, "transform")
    job = replace(job, most_rows=most_rows, too_many=too_many)
    return _rows(spark, frames, job, is_row_wise=planned.is_row_wise, small=small)


def _rows(
    spark: SparkSession, frames: Mapping[str, DataFrame], job: Job, *, is_row_wise: bool, small: bool
) -> DataFrame:
    schema = from_arrow_schema(job.output)
    if small:
        return spark.createDataFrame(job.on_tables({n: frame.toArrow() for n, frame in frames.items()}), schema)
    if is_row_wise:
        parts = [in_tasks(frame, partial(job.by_part, table=name), schema) for name, frame in frames.items()]
        return reduce(DataFrame.union, parts)
    if len(frames) == 1:
        return in_tasks(next(iter(frames.values())).coalesce(1), job.at_once, schema)
    return in_tasks(_in_one_frame(frames).coalesce(1), partial(_together, job), schema)


def _in_one_frame(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of all frames as structs, in a column for each frame."""
    types = {f"{number}": frame.schema for number, frame in enumerate(frames.values())}
    parts = []
    for own, frame in zip(types, frames.values(), strict=True):
        row = F.struct(*(frame[quoted(name)] for name in frame.columns))
        columns = [(row if name == own else F.lit(None).cast(type_)).alias(name) for name, type_ in types.items()]
        parts.append(frame.select(*columns))
    return reduce(DataFrame.union, parts)


def _together(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run queries on the rows of a frame made by `_in_one_frame`."""
    tables = [*job.tables]
    return job.together(
        (tables[number], pa.RecordBatch.from_struct_array(rows))
        for batch in batches
        for number, column in enumerate(batch.columns)
        if len(rows := column.drop_null())
    )


def _preprocess(spark: SparkSession, frame: DataFrame, transform: Transform, read: ReadStep) -> tuple[Job, bool]:
    # Without a declared schema the reference keeps the unit of times in Parquet. Spark has microseconds.
    unit = "us" if read.format.types is Types.FILE and read.columns is None else "ms"
    columns = _columns({INPUT: frame}, unit)
    try:
        planned = plan(transform.queries, columns)
    except QueryProblem as e:
        raise InvalidQuery(f"preprocess, {e}") from e
    return _job(spark, transform, columns, planned.output, "preprocess"), planned.is_row_wise


def _columns(frames: Mapping[str, DataFrame], unit: str = "ms") -> dict[str, pa.Schema]:
    """Return the columns of frames as DataFusion gets them. Slices have times in milliseconds."""
    arrow = {name: to_arrow_schema(frame.schema) for name, frame in frames.items()}
    return {
        name: pa.schema([pa.field(f.name, types.to_datafusion(f.type, unit)) for f in schema])
        for name, schema in arrow.items()
    }


def _job(
    spark: SparkSession, transform: Transform, columns: Mapping[str, pa.Schema], output: pa.Schema, purpose: str
) -> Job:
    return Job(
        steps=transform.queries,
        tables=columns,
        output=pa.schema([pa.field(f.name, types.to_spark(f.type)) for f in output]),
        version=installed_version(),
        memory=_LEAST_MEMORY if is_remote(spark) else max(heap_bytes() // 2, _LEAST_MEMORY),
        scratch=spark.conf.get("spark.local.dir", "") or "",
        purpose=purpose,
    )

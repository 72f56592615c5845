"""Batches of small inputs: the engine reads and preprocesses them as one frame, then splits the rows by input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.preprocess import query
from airflow_provider_odf.engine.read.raw import concat
from airflow_provider_odf.engine.read.read import RowsOfInputs, read_several
from airflow_provider_odf.protocol import MergeInput, MergeRequest, ReadStep, Transform
from airflow_provider_odf.records import files

_ROW_WISE = frozenset(("Project", "Filter", "Generate", "Repartition", "LogicalRDD", "LocalRelation"))
"""Plan nodes that compute each row from one row. The engine adds Repartition: queries with hints are not batched."""

_NOT_ROW_WISE = re.compile(r"monotonically_increasing_id|spark_partition_id|input_file|/\*\+", re.IGNORECASE)
_PARTITION_ROWS = 10_000


def batches(inputs: Sequence[MergeInput]) -> Iterator[tuple[MergeInput, ...]]:
    """Yield the inputs in order, grouped into batches that stay small."""
    batch: list[MergeInput] = []
    size = 0
    for source in inputs:
        own = files.total_size(source.paths)
        if batch and size + own > files.SMALL:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(source)
        size += own
    if batch:
        yield tuple(batch)


def read_batch(spark: SparkSession, request: MergeRequest, batch: Sequence[MergeInput]) -> RowsOfInputs | None:
    """Read and preprocess several inputs. Return None if the reader or a query needs each input on its own.

    :raises InvalidQuery: as ``read`` and ``preprocess`` do.
    """
    transform = request.preprocess
    if not _may_be_batched(transform):
        return None
    rows = read_several(spark, request.read, [(source.paths, source.name) for source in batch])
    if rows is None or transform is None:
        return rows
    if transform.engine == DATAFUSION:
        return _query_each(spark, rows, transform, request.read)
    if not _is_row_wise(query(spark, rows.frame, transform)):
        return None
    frame, owners = _in_partitions(spark, rows)
    return replace(rows, frame=query(spark, frame, transform), owners=owners)


def _query_each(spark: SparkSession, rows: RowsOfInputs, transform: Transform, read: ReadStep) -> RowsOfInputs:
    """Run DataFusion on each input separately. The queries need not be row-wise."""
    from airflow_provider_odf.engine import datafusion

    frame, sizes = datafusion.query_each(spark, rows.frame, rows.split(rows.frame.toArrow()), transform, read)
    return replace(rows, frame=frame, sizes=sizes)


def _in_partitions(spark: SparkSession, rows: RowsOfInputs) -> tuple[DataFrame, tuple[int, ...]]:
    """Return the rows with each input in separate partitions, and the input of each partition."""
    # These settings affect only the session of this request. Without a local relation, each Arrow batch becomes a
    # partition.
    spark.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_PARTITION_ROWS))
    tables = rows.split(rows.frame.toArrow().combine_chunks())
    owners = tuple(i for i, table in enumerate(tables) for _ in table.to_batches(max_chunksize=_PARTITION_ROWS))
    return spark.createDataFrame(concat(tables), rows.frame.schema), owners


def _may_be_batched(transform: Transform | None) -> bool:
    if transform is None or transform.engine == DATAFUSION:
        return True
    return not any(_NOT_ROW_WISE.search(step.query) for step in transform.queries)


def _is_row_wise(frame: DataFrame) -> bool:
    """Whether each row of a frame depends on one row only, whatever other rows there are."""
    if spark_internals.is_remote(frame.sparkSession):
        return False  # nobody knows
    return _ROW_WISE.issuperset(spark_internals.node_names(frame))

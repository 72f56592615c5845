"""Batches of small inputs: the engine reads and preprocesses them as one frame, then splits the rows by input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.engine import files, spark_internals
from airflow_provider_odf.engine.layout import POSITION
from airflow_provider_odf.engine.preprocess import query
from airflow_provider_odf.engine.read.opened import ReadApart
from airflow_provider_odf.engine.read.raw import concatenated
from airflow_provider_odf.engine.read.several import read_several
from airflow_provider_odf.protocol import MergeInput, MergeRequest, PositionalHeader, ReadStep, Transform

_ROW_WISE = frozenset(("Project", "Filter", "Generate", "Repartition", "LogicalRDD", "LocalRelation"))
"""Plan nodes that make each row of one row. Repartition is the engine's own: queries with hints are not batched."""

_NOT_ROW_WISE = re.compile(r"monotonically_increasing_id|spark_partition_id|input_file|/\*\+", re.IGNORECASE)
_PARTITION_ROWS = 10_000
_PARTITION = 33
"""First bit of the partition number in ``monotonically_increasing_id``."""


def batches(inputs: Sequence[MergeInput]) -> Iterator[tuple[MergeInput, ...]]:
    """Yield the inputs in order, grouped into batches that stay small."""
    batch: list[MergeInput] = []
    size = 0
    for source in inputs:
        own = sum(map(files.size_or_large, source.paths))
        if batch and size + own > files.SMALL:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(source)
        size += own
    if batch:
        yield tuple(batch)


@dataclass(frozen=True)
class Batch:
    """Rows of several inputs in one frame, in order.

    ``sizes`` has the number of rows of each input. If the queries dropped or added rows, ``owners`` has the input of
    each partition instead.
    """

    frame: DataFrame
    sizes: tuple[int, ...]
    notices: tuple[str, ...]
    headers: tuple[PositionalHeader, ...] = ()
    owners: tuple[int, ...] | None = None

    def apart(self, rows: pa.Table) -> list[pa.Table]:
        """Return the rows of each input. ``rows`` is computed from the frame and has POSITION."""
        sizes = self.sizes if self.owners is None else self._counted(rows[POSITION], self.owners)
        starts = accumulate(sizes, initial=0)
        return [rows.slice(start, size) for start, size in zip(starts, sizes, strict=False)]

    def _counted(self, positions: pa.ChunkedArray, owners: Sequence[int]) -> list[int]:
        sizes = [0] * len(self.sizes)
        for run in pc.value_counts(pc.shift_right(positions, _PARTITION)).to_pylist():
            sizes[owners[run["values"]]] += run["counts"]
        return sizes


def read_batch(spark: SparkSession, request: MergeRequest, batch: Sequence[MergeInput]) -> Batch | None:
    """Read and preprocess several inputs. Return None if the reader or a query needs each input on its own.

    :raises InvalidQuery: as ``read`` and ``preprocess`` do.
    """
    transform = request.preprocess
    if len(batch) == 1 or not _may_be_batched(transform):
        return None
    found = read_several(spark, request.read, [(source.paths, name_of(source)) for source in batch])
    if found is None:
        return None
    if transform is None:
        return Batch(found.frame, found.sizes, found.notices, found.headers)
    if transform.engine == DATAFUSION:
        return _queried_apart(spark, found, transform, request.read)
    if not _is_row_wise(query(spark, found.frame, transform)):
        return None
    frame, owners = _partitioned(spark, found)
    return Batch(query(spark, frame, transform), found.sizes, found.notices, found.headers, owners)


def _queried_apart(spark: SparkSession, found: ReadApart, transform: Transform, read: ReadStep) -> Batch:
    """Run DataFusion on each input separately. The queries need not be row-wise."""
    from airflow_provider_odf.engine import datafusion

    tables = Batch(found.frame, found.sizes, ()).apart(found.frame.toArrow())
    frame, sizes = datafusion.query_each(spark, found.frame, tables, transform, read)
    return Batch(frame, sizes, found.notices, found.headers)


def _partitioned(spark: SparkSession, found: ReadApart) -> tuple[DataFrame, tuple[int, ...]]:
    """Return the rows with each input in separate partitions, and the input of each partition."""
    # These settings affect only the session of this request. Without a local relation, each Arrow batch becomes a
    # partition.
    spark.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_PARTITION_ROWS))
    rows = Batch(found.frame, found.sizes, ()).apart(found.frame.toArrow().combine_chunks())
    owners = tuple(i for i, table in enumerate(rows) for _ in table.to_batches(max_chunksize=_PARTITION_ROWS))
    return spark.createDataFrame(concatenated(rows), found.frame.schema), owners


def name_of(source: MergeInput) -> str:
    """Return the name of an input in messages."""
    return source.label or ", ".join(source.paths)


def _may_be_batched(transform: Transform | None) -> bool:
    if transform is None or transform.engine == DATAFUSION:
        return True
    return not any(_NOT_ROW_WISE.search(step.query) for step in transform.queries)


def _is_row_wise(frame: DataFrame) -> bool:
    """Whether each row of a frame depends on one row only, whatever other rows there are."""
    return _ROW_WISE.issuperset(spark_internals.node_names(frame))

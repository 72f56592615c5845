"""Many small inputs of one request, read and preprocessed as one frame and then told apart again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.layout import POSITION
from airflow_provider_odf.engine.preprocess import preprocess
from airflow_provider_odf.engine.read.opened import ReadApart
from airflow_provider_odf.engine.read.several import read_several
from airflow_provider_odf.engine.state import SMALL, file_size
from airflow_provider_odf.protocol import MergeInput, MergeRequest, Transform

_ROW_WISE = frozenset(("Project", "Filter", "Generate", "LogicalRDD", "LocalRelation"))
_PLACE_IN_FILE = re.compile(r"monotonically_increasing_id|spark_partition_id|input_file", re.IGNORECASE)
_PARTITION = 33
"""``monotonically_increasing_id`` has the number of the partition above these bits."""


def batches(inputs: Sequence[MergeInput]) -> Iterator[tuple[MergeInput, ...]]:
    """Inputs in their order, neighbours together as long as they are small."""
    batch: list[MergeInput] = []
    size = 0
    for source in inputs:
        own = sum(map(file_size, source.paths))
        if batch and size + own > SMALL:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(source)
        size += own
    if batch:
        yield tuple(batch)


def read_batch(spark: SparkSession, request: MergeRequest, batch: Sequence[MergeInput]) -> ReadApart | None:
    """The rows of several inputs, read and preprocessed; None where each must be taken by itself, since the reader or
    a query looks at more than one row.

    :raises InvalidQuery: as ``read`` and ``preprocess`` do.
    """
    if len(batch) == 1 or not _is_row_wise_text(request.preprocess):
        return None
    found = read_several(spark, request.read, [(source.paths, name_of(source)) for source in batch])
    if found is None or request.preprocess is None:
        return found
    frame = preprocess(spark, found.frame, request.preprocess)
    return ReadApart(frame, found.owners, found.notices) if _is_row_wise(frame) else None


def apart(rows: pa.Table, owners: Sequence[int], count: int) -> list[pa.Table]:
    """The rows of each of ``count`` inputs, in order, by their POSITION."""
    partitions = pc.shift_right(rows[POSITION], _PARTITION)
    runs = pc.value_counts(partitions).to_pylist()
    sizes = [0] * count
    for run in runs:
        sizes[owners[run["values"]]] += run["counts"]
    starts = accumulate(sizes, initial=0)
    return [rows.slice(start, size) for start, size in zip(starts, sizes, strict=False)]


def name_of(source: MergeInput) -> str:
    """What messages call an input."""
    return source.label or ", ".join(source.paths)


def _is_row_wise_text(transform: Transform | None) -> bool:
    return transform is None or not any(_PLACE_IN_FILE.search(step.query) for step in transform.queries)


def _is_row_wise(frame: DataFrame) -> bool:
    """Whether each row of a frame comes of one row, so that it does not matter which others are there."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    return bool(plan.subqueriesAll().isEmpty()) and all(name in _ROW_WISE for name in _nodes(plan))


def _nodes(plan: object) -> Iterator[str]:
    """Names of the nodes of a plan of the JVM."""
    yield plan.nodeName()  # type: ignore[attr-defined]
    children = plan.children()  # type: ignore[attr-defined]
    for index in range(children.size()):
        yield from _nodes(children.apply(index))

"""Read many small inputs at once, if their rows can be separated afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from airflow_provider_odf.engine.read import raw, source
from airflow_provider_odf.engine.read.opened import Opened, ReadApart, read_apart
from airflow_provider_odf.engine.read.read import READERS
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import Types


def read_several(spark: SparkSession, step: ReadStep, inputs: Sequence[tuple[Sequence[str], str]]) -> ReadApart | None:
    """Return the rows of inputs in one frame. Each input has paths and a label.

    Return None if they must be read one by one: several files, different columns, not text, or inferred types.

    :raises InvalidQuery: as ``read`` does.
    """
    if step.kind not in READERS or step.format.types is Types.FILE or (step.columns is None and step.infer_schema):
        return None
    if any(len(paths) != 1 or source.unreadable(paths[0], step) for paths, _ in inputs):
        return None
    sources = [READERS[step.kind](step, paths[0], label) for paths, label in inputs]
    opened = [one for one in sources if isinstance(one, Opened)]
    if len(opened) < len(sources):
        return None
    first = opened[0]
    is_same = all(o.columns == first.columns and raw.schema(o.parser) == raw.schema(first.parser) for o in opened)
    return read_apart(spark, opened) if is_same and first.columns else None

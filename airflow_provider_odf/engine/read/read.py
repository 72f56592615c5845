"""``read``: the rows of raw files, by the kind of the read step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.protocol import ReadStep


@dataclass(frozen=True)
class Read:
    """Rows in input order, and what the user should know about how they were read."""

    frame: DataFrame
    notices: tuple[str, ...] = ()


def read(spark: SparkSession, step: ReadStep, paths: Sequence[str], label: str) -> Read:
    """The rows of files that are one input. ``label`` is what messages call it."""
    reader = spark.read
    if step.columns:
        reader = reader.schema(", ".join(f"`{c.name}` {c.type}" for c in step.columns))
    if step.kind == "Csv":
        return Read(reader.option("header", step.header).option("escape", step.escape).csv(list(paths)).coalesce(1))
    if step.kind == "Parquet":
        return Read(reader.parquet(*paths).coalesce(1))
    return Read(reader.option("multiLine", step.kind == "Json").json(list(paths)).coalesce(1))

"""A bound on the number of result rows: a result that explodes ends with an error before it fills the disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.engine.transform.inputs import Input

MOST_ROWS = 10_000_000
"""Number of rows of a result, in one task of Spark, that is never too large."""

MOST_ROWS_PER_RECORD = 100
"""Number of result rows for each input record above which a larger result is an error: most likely a join lacks a
condition, and the result would fill the disk."""

SETTING = "spark.odf.maxResultRows"

_POSITION_BITS = 33
"""Bits of ``monotonically_increasing_id`` that number the rows of a task."""


@dataclass(frozen=True)
class Bound:
    """Maximum number of result rows in one task, for a number of input records."""

    rows: int
    records: int

    @classmethod
    def of(cls, spark: SparkSession, inputs: Iterable[Input]) -> Bound:
        records = sum(s.offset_interval.count for i in inputs for s in i.history.slices)
        default = max(MOST_ROWS, MOST_ROWS_PER_RECORD * records)
        return cls(int(spark.conf.get(SETTING, None) or default), records)

    @property
    def message(self) -> str:
        return (
            f"the result has more than {self.rows:,} rows of {self.records:,} input records: does a join lack a "
            f"condition? To allow more, set {SETTING} (ODF_MAX_RESULT_ROWS for a local Spark)"
        )

    def checked(self, frame: DataFrame) -> DataFrame:
        """Return the rows of a frame, with an error instead of far too many."""
        position = f"(monotonically_increasing_id() & {2**_POSITION_BITS - 1})"
        return frame.where(f"CASE WHEN {position} < {self.rows} THEN TRUE ELSE raise_error({text(self.message)}) END")

"""Spark's settings for a request, by the size of the files that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from airflow_provider_odf.records import files

SMALL_SETTINGS: Mapping[str, str] = {
    # For so few rows, compiling and adapting a plan takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}

_TASK = 64 << 20
"""Bytes of files for each task after a shuffle."""

_LEAST_TASKS, _MOST_TASKS = 8, 2000

_BATCH_ROWS = 65_536
"""Rows that Spark and Python exchange at once, if they are narrow."""

_NARROW = 256
"""Bytes of a row in its file up to which Spark need not limit the bytes of a batch. It measures them for every row,
which takes a fifth of the time of a merge or of a query."""


@dataclass(frozen=True)
class Size:
    """Bytes of all files that a request reads, and of those whose rows are counted, with the number of these rows."""

    total: int
    measured: int
    rows: int

    @property
    def is_small(self) -> bool:
        return self.total <= files.SMALL

    @property
    def tasks(self) -> int:
        """Number of tasks after a shuffle."""
        return 1 if self.is_small else min(max(self.total // _TASK, _LEAST_TASKS), _MOST_TASKS)

    def apply(self, spark: SparkSession) -> None:
        """Set the settings of a session."""
        for key, value in self._settings().items():
            spark.conf.set(key, value)

    def _settings(self) -> Mapping[str, str]:
        if self.is_small:
            return SMALL_SETTINGS
        settings = {"spark.sql.shuffle.partitions": str(self.tasks)}
        if self.rows and self.measured / self.rows <= _NARROW:
            settings["spark.sql.execution.arrow.maxRecordsPerBatch"] = str(_BATCH_ROWS)
            settings["spark.sql.execution.arrow.maxBytesPerBatch"] = str((1 << 31) - 1)
        return settings

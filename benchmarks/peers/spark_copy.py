"""Plain Spark, as the pyspark documentation starts it: a file read and written again. The floor of every merge."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.measure import Clock


def main(source: str, target: str, heap: str = "1g") -> None:
    """Times are without the session's start."""
    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", heap)
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    spark.range(1000).write.parquet(f"{target}.warm")
    clock = Clock()
    spark.read.parquet(source).write.parquet(target)
    answer = clock.answer()
    written = spark.read.parquet(target).count()
    size = sum(f.stat().st_size for f in Path(target).glob("*.parquet"))
    spark.stop()
    print(json.dumps({**answer, "rows": written, "bytes": size}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

"""Plain Spark, as the pyspark documentation starts it: a file read and written again. The floor of every merge."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def main(source: str, target: str, heap: str = "1g") -> None:
    """``seconds`` is without the session's start."""
    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", heap)
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    spark.range(1000).write.parquet(f"{target}.warm")
    start = time.perf_counter()
    spark.read.parquet(source).write.parquet(target)
    seconds = time.perf_counter() - start
    written = spark.read.parquet(target).count()
    size = sum(f.stat().st_size for f in Path(target).glob("*.parquet"))
    spark.stop()
    print(json.dumps({"seconds": seconds, "rows": written, "bytes": size}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

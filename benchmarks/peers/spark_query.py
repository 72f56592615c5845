"""Plain Spark, as the pyspark documentation starts it: a query over Parquet files, written as Parquet."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from benchmarks.measure import Clock


def main(query: str, inputs: dict[str, list[str]], target: str, heap: str = "1g") -> None:
    """Times are without the session's start, and after a run of the same query."""
    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", heap)
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    for alias, paths in inputs.items():
        spark.read.parquet(*paths).createOrReplaceTempView(alias)
    spark.sql(query).write.parquet(f"{target}.warm")
    clock = Clock()
    spark.sql(query).write.parquet(target)
    answer = clock.answer()
    spark.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

"""Plain Spark, as the pyspark documentation starts it: CSV files or directories, each read and written as Parquet."""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession


def main(sources: list[str], target: str, schema: str, heap: str = "") -> None:
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    spark = (builder.config("spark.driver.memory", heap) if heap else builder).getOrCreate()
    start = time.perf_counter()
    for number, source in enumerate(sources):
        spark.read.csv(source, schema, header=True, escape='"').write.parquet(f"{target}/{number}")
    work = time.perf_counter() - start
    spark.stop()
    print(json.dumps({"work": work}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

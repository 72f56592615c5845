"""A contract tested by datacontract-cli on a DataFrame of Spark."""

from __future__ import annotations

import json
import sys

from datacontract.data_contract import DataContract
from pyspark.sql import SparkSession
from spark_jobs import timed


def main() -> None:
    given = json.loads(sys.argv[1])
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.read.parquet(given["data"]).createOrReplaceTempView("orders")
    with open(given["contract"]) as file:
        text = file.read().partition("servers:")[0] + "servers: {spark: {type: dataframe}}\n"

    def test() -> int:
        checks = DataContract(data_contract_str=text, spark=spark).test().checks
        return sum(check.result == "failed" for check in checks)

    timed(spark, test)


if __name__ == "__main__":
    main()

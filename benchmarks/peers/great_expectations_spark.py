"""The same checks as expectations of Great Expectations on a DataFrame of Spark."""

from __future__ import annotations

import json
import os
import sys

os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx
from great_expectations import expectations as gxe
from pyspark.sql import SparkSession
from spark_jobs import timed

EXPECTATIONS = [
    gxe.ExpectColumnValuesToNotBeNull(column="order_id"),
    gxe.ExpectColumnValuesToBeUnique(column="order_id"),
    gxe.ExpectColumnValueLengthsToBeBetween(column="order_id", min_value=10),
    gxe.ExpectColumnValuesToNotBeNull(column="customer"),
    gxe.ExpectColumnValuesToBeBetween(column="customer", min_value=1),
    gxe.ExpectColumnValuesToBeBetween(column="total", min_value=0),
    gxe.ExpectColumnValuesToBeBetween(column="total", max_value=1000),
    gxe.ExpectColumnValuesToBeInSet(column="status", value_set=["open", "paid", "shipped"]),
    gxe.ExpectColumnValuesToMatchRegex(column="email", regex="^[^@ ]+@[^@ ]+$"),
    gxe.ExpectColumnValueLengthsToBeBetween(column="email", max_value=40),
    gxe.ExpectColumnValuesToNotBeNull(column="placed"),
    gxe.ExpectColumnValuesToBeOfType(column="placed", type_="TimestampType"),
]


def main() -> None:
    given = json.loads(sys.argv[1])
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.read.parquet(given["data"])
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_spark("spark").add_dataframe_asset("orders")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    suite = gx.ExpectationSuite(name="orders", expectations=EXPECTATIONS)

    def test() -> int:
        return sum(not result.success for result in batch.validate(suite).results)

    timed(spark, test)


if __name__ == "__main__":
    main()

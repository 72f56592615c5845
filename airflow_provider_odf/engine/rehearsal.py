"""A small job of the kinds that merges are made of, so that the class-data archive has the classes they need."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as sf

SCHEMA = "id BIGINT, name STRING, day DATE, at TIMESTAMP, price DECIMAL(12,2), ratio DOUBLE, ok BOOLEAN"


def run(spark: SparkSession, directory: Path) -> None:
    """Reads CSV and JSON lines, joins, deduplicates, sorts, writes and reads Parquet, in ``directory``."""
    csv, json, parquet = directory / "rows.csv", directory / "rows.json", str(directory / "rows.parquet")
    csv.write_text("id,name,day,at,price,ratio,ok\n1,a,2024-01-01,2024-01-01T00:00:00Z,1.50,0.5,true\n")
    json.write_text('{"id": 1, "name": "b", "day": "2024-01-01", "at": "2024-01-01T00:00:00Z", "price": 1.5}\n')
    new = spark.read.option("header", True).csv(str(csv), schema=SCHEMA).coalesce(1)
    old = spark.read.json(str(json), schema=SCHEMA).coalesce(1)
    latest = Window.partitionBy("id").orderBy(sf.col("at").desc())
    ranked = old.unionByName(new).withColumn("rank", sf.row_number().over(latest)).filter("rank = 1").drop("rank")
    ranked.orderBy("id").write.parquet(parquet)
    state = spark.read.parquet(parquet)
    changed = new.alias("n").join(state.alias("s"), "id", "full_outer").filter("NOT n.name <=> s.name")
    changed.select("id", "n.name", "s.price").orderBy("id").toArrow()
    new.groupBy("id").agg(sf.count("*").alias("rows"), sf.max("at")).filter("rows > 1").collect()
    new.createOrReplaceTempView("input")
    spark.sql("SELECT id, upper(name) AS name, CAST(price AS STRING) FROM input WHERE ok").toArrow()

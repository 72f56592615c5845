"""Read JSON files. A record that has a key twice is no row, as for polling: one of its values would be lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting

Load: TypeAlias = Callable[[T.StructType], DataFrame]
"""Reads the records with a schema."""


def infer(
    spark: SparkSession, paths: Sequence[str], options: Mapping[str, Any], malformed: str
) -> tuple[T.StructType, Load]:
    """Return the schema that Spark infers, and how to read the records with one.

    Keys that differ in case are different fields of the schema. ``malformed`` is the column with records that are no
    rows.
    """
    options = {**options, "columnNameOfCorruptRecord": malformed}
    with setting(spark, "spark.sql.caseSensitive", "true"):
        try:
            inferred = spark.read.options(**options).json([*paths]).schema
        except PySparkException as e:
            if e.getCondition() != "COLUMN_ALREADY_EXISTS":
                raise
        else:
            return inferred, lambda schema: spark.read.options(**options).schema(schema).json([*paths])
        texts = spark.read.text([*paths], wholetext=options["multiLine"] == "true").where("trim(value) != ''")
        valid = texts.where("try_parse_json(value) IS NOT NULL")  # a VARIANT has no key twice
        inferred = spark_internals.read_json(spark.read.options(**options), valid).schema

    def load(schema: T.StructType) -> DataFrame:
        rows = spark_internals.read_json(spark.read.options(**options).schema(schema), valid)
        others = texts.where("try_parse_json(value) IS NULL").selectExpr(f"value AS {quoted(malformed)}")
        return rows.unionByName(others, allowMissingColumns=True)

    return inferred, load

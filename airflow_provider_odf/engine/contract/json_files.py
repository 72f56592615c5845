"""Read JSON files. Records that Spark would read in part are no rows: those with a key twice, and those with more text
after the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting

_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
"""Options of Spark for texts that are no JSON."""

_IS_ONE_DOCUMENT = "get_json_object(concat('[', value, ', \"odf:end\"]'), '$[1]') <=> 'odf:end'"
_IS_VALID = "try_parse_json(value) IS NOT NULL"
"""SQL that is true for a text that begins with a document without a key twice: a VARIANT has none."""

Load: TypeAlias = Callable[[T.StructType], DataFrame]
"""Reads the records with a schema."""


def infer(
    spark: SparkSession, paths: Sequence[str], options: Mapping[str, Any], malformed: str
) -> tuple[T.StructType, Load]:
    """Return the schema that Spark infers, and how to read the records with one.

    Keys that differ in case are different fields of the schema. ``malformed`` is the column with records that are no
    rows.
    """
    options = {**_STRICT, **options, "columnNameOfCorruptRecord": malformed}
    texts = spark.read.options(**options).text([*paths], wholetext=options["multiLine"] == "true")
    texts = texts.selectExpr("ltrim('\ufeff', value) AS value").where("trim(value) != ''")
    with setting(spark, "spark.sql.caseSensitive", "true"):
        # Spark ignores what follows a document.
        if not texts.where(f"NOT {_IS_ONE_DOCUMENT} AND {_IS_VALID}").limit(1).collect():
            try:
                inferred = spark.read.options(**options).json([*paths]).schema
            except PySparkException as e:
                if e.getCondition() != "COLUMN_ALREADY_EXISTS":
                    raise
            else:
                return inferred, lambda schema: spark.read.options(**options).schema(schema).json([*paths])
        valid = texts.where(f"{_IS_ONE_DOCUMENT} AND {_IS_VALID}")
        inferred = spark_internals.read_json(spark.read.options(**options), valid).schema

    def load(schema: T.StructType) -> DataFrame:
        rows = spark_internals.read_json(spark.read.options(**options).schema(schema), valid)
        others = texts.where(f"NOT ({_IS_ONE_DOCUMENT} AND {_IS_VALID})").selectExpr(f"value AS {quoted(malformed)}")
        return rows.unionByName(others, allowMissingColumns=True)

    return inferred, load

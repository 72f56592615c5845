"""Read JSON files. Records that Spark would read in part are no rows: those with a key twice, and those with more text
after the document."""

from __future__ import annotations

import re
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


def exact(load: Load, names: Sequence[str]) -> T.StructType:
    """Return columns with the types that Spark infers, but NULL where it finds nulls alone, and structs without fields
    for empty objects."""
    if not names:
        return T.StructType()
    frame = load(T.StructType([T.StructField(name, T.VariantType()) for name in names]))
    row = frame.selectExpr(*(f"schema_of_variant_agg({quoted(name)}) AS c{i}" for i, name in enumerate(names))).head()
    return T.StructType([T.StructField(n, _of_variant(text)) for n, text in zip(names, row or (), strict=True)])


def _of_variant(schema: str) -> T.DataType:
    """Return the type of a column from the schema of its variants."""
    struct = re.sub(r"`(?:[^`]|``)*`|OBJECT<", lambda m: "STRUCT<" if m[0] == "OBJECT<" else m[0], schema)
    return _inferred(T.DataType.fromDDL(struct))


def _inferred(kind: T.DataType) -> T.DataType:
    """Return the type that Spark infers for values of a type."""
    match kind:
        case T.StructType():
            return T.StructType([T.StructField(f.name, _inferred(f.dataType)) for f in kind])
        case T.ArrayType():
            return T.ArrayType(_inferred(kind.elementType))
        case T.DecimalType():
            return T.DoubleType()
        case T.VariantType():
            return T.StringType()
        case _:
            return kind

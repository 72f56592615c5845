"""Read CSV and JSON files.

CSV is read column by column: each file has its own header. A column that a file lacks is null in its rows. A name that
a header has twice stands for no column, with the reason. A column without a name has one by its position, as in Spark:
``_c2`` is the third.

Records of JSON that Spark would read in part are no rows: those with a key twice, and those with more text after the
document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.contract.rows import as_path, file_name, with_malformed
from airflow_provider_odf.engine.contract.texts import replaced
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting

Header: TypeAlias = tuple[str, ...]

_REPEATED = "\0"
"""Sign between a repeated name and its position."""


def read_csv(
    spark: SparkSession, paths: Sequence[str], options: Mapping[str, Any], malformed: str
) -> tuple[DataFrame | None, dict[str, str]]:
    """Return the rows of the files as text, None without any header, and the broken columns in lower case: why.

    ``malformed`` is the name of the column with records that are no rows.
    """
    headers = _headers(spark, paths, options)
    names = _names(headers)
    broken = _broken(headers, names)
    frames = []
    for header, files in headers.items():
        unique = _unique(header, names)
        schema = T.StructType([T.StructField(name, T.StringType()) for name in (*unique, malformed)])
        reader = spark.read.options(**options).options(enforceSchema="true", columnNameOfCorruptRecord=malformed)
        frame = reader.schema(schema).csv([*paths] if len(headers) == 1 else [*map(as_path, files)])
        dropped = {name for name in unique if name.rpartition(_REPEATED)[0] or name.lower() in broken}
        frames.append(with_malformed(frame, unique[0], malformed).drop(*dropped))
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames) if frames else None
    return whole, broken


def _names(headers: Iterable[Header]) -> dict[str, str]:
    """Return the names of all columns, by name in lower case."""
    return {name.lower(): name for header in reversed([*headers]) for name in reversed(header)}


def _unique(header: Header, names: Mapping[str, str]) -> list[str]:
    """Return the columns of a header. A name that it repeats has the position in addition, which no header has."""
    counts = Counter(name.lower() for name in header)
    return [
        names[name.lower()] if counts[name.lower()] == 1 else f"{name}{_REPEATED}{index}"
        for index, name in enumerate(header)
    ]


def _broken(headers: Mapping[Header, Sequence[str]], names: Mapping[str, str]) -> dict[str, str]:
    broken: dict[str, str] = {}
    for header, files in headers.items():
        file, counts = file_name(files[0]), Counter(name.lower() for name in header)
        for key, name in names.items():
            if counts[key] > 1:
                broken.setdefault(key, f"the header of {file} has {name} {counts[key]} times: rename the columns")
            elif not counts[key]:
                broken.setdefault(key, f"the header of {file} has no {name}, which other files have")
    return broken


def _headers(spark: SparkSession, paths: Sequence[str], options: Mapping[str, Any]) -> dict[Header, list[str]]:
    """Return the headers of the files, each with the files that have it. Empty files have none."""
    records = _first_records(spark, paths, options)
    headers: dict[Header, list[str]] = {}
    parsed: dict[str, Header] = {}
    for file, record in sorted(records.items()):
        if record not in parsed:
            parsed[record] = _parsed(spark, record, options)
        headers.setdefault(parsed[record], []).append(file)
    return headers


def _parsed(spark: SparkSession, record: str, options: Mapping[str, Any]) -> Header:
    lines = spark.sparkContext.parallelize([record], 1)
    row = spark.read.options(**options).options(header="false").csv(lines).head()
    return tuple(name or f"_c{index}" for index, name in enumerate(row or ()))


def _first_records(spark: SparkSession, paths: Sequence[str], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the first record of each file, in one job."""
    schema = T.StructType([T.StructField("number", T.IntegerType()), T.StructField("record", T.StringType())])
    reader = spark.read.options(**options).options(header="false", columnNameOfCorruptRecord="record")
    # What is not one number is no row of this schema, so Spark returns its text.
    records = reader.schema(schema).csv([*paths]).where("_metadata.file_block_start = 0")
    text = "coalesce(record, CAST(number AS STRING)) AS record"
    numbered = records.selectExpr("_metadata.file_path AS file", "monotonically_increasing_id() AS row", text)
    first = numbered.groupBy("file").agg(F.min_by("record", "row").alias("record")).collect()
    return {row["file"]: row["record"] for row in first}


_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
"""Options of Spark for texts that are no JSON."""

_IS_ONE_DOCUMENT = "get_json_object(concat('[', value, ', \"odf:end\"]'), '$[1]') <=> 'odf:end'"
_IS_VALID = "try_parse_json(value) IS NOT NULL"
"""SQL that is true for a text that begins with a document without a key twice: a VARIANT has none."""

Load: TypeAlias = Callable[[T.StructType], DataFrame]
"""Reads the records with a schema."""


def infer_json(
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


def exact_types(load: Load, names: Sequence[str]) -> T.StructType:
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
    return replaced(T.DataType.fromDDL(struct), lambda kind, _: _INFERRED.get(type(kind)))


_INFERRED: Mapping[type[T.DataType], T.DataType] = {T.DecimalType: T.DoubleType(), T.VariantType: T.StringType()}
"""Type of variants -> the type that Spark infers for values of it."""

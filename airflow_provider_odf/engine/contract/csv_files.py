"""Read CSV files column by column: each file has its own header.

A column that a file lacks is null in its rows. A name that a header has twice stands for no column, with the reason. A
column without a name has one by its position, as in Spark: ``_c2`` is the third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.data import as_path, file_name, with_malformed

Header: TypeAlias = tuple[str, ...]

_REPEATED = "\0"
"""Sign between a repeated name and its position."""


def read(
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

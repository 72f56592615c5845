"""Read sources of a contract test: files and tables that Spark can read.

Values of CSV and JSON stay text, or variants of JSON, until a check converts them to the type that the contract
declares. So a value of another type fails the clause ``type``, and neither the run nor other clauses.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import files
from airflow_provider_odf.engine.contract import csv_files, json_files, json_types, parquet_files
from airflow_provider_odf.engine.contract.data import Data, Unreadable, with_malformed
from airflow_provider_odf.engine.contract.texts import Declared
from airflow_provider_odf.engine.session import setting
from airflow_provider_odf.engine.spark_errors import message, refusal, root_cause
from airflow_provider_odf.protocol import Check, Source

_MALFORMED = "odf:malformed"

_NONE = "odf:none"
"""A key that no record of JSON has."""


def read(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    """Return the rows of a source; ``checks`` are those of its model.

    :raises Unreadable: the source has a problem, or Spark cannot read it.
    """
    if source.problem:
        raise Unreadable(source.problem)
    try:
        return _READERS.get(source.format, _other)(spark, source, checks)
    except (PySparkException, Py4JJavaError) as e:
        raise Unreadable(_reason(e, source)) from e


def _csv(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    types = Declared(json_types.types_of(checks))
    options = {"header": "true", "escape": '"', **source.options}
    options["multiLine"] = str(_is_small(source) or _has_quoted_line_ends(spark, source)).lower()
    frame, broken = csv_files.read(spark, source.paths, options, _MALFORMED)
    if frame is None:
        schema = T.StructType([T.StructField(_MALFORMED, T.StringType())])
        return Data(spark.createDataFrame([], schema), True, types, _MALFORMED)
    return Data(frame, _is_small(source), types, _MALFORMED, broken)


def _has_quoted_line_ends(spark: SparkSession, source: Source) -> bool:
    """Whether a field of CSV contains a line end: its first line has an odd number of quotes."""
    lines = spark.read.text([*source.paths])
    return bool(lines.where("length(value) % 2 != length(replace(value, '\"', '')) % 2").limit(1).collect())


def _ndjson(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    return _json(spark, source, checks, is_whole=False)


def _any_json(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    """Read JSON with one document in each line, or with one array or one document in each file."""
    delimiter = source.options.get("delimiter")
    if delimiter is None:
        first = spark.read.options(**source.options).text([*source.paths]).where("trim(value) != ''").head()
        is_whole = first is not None and not re.fullmatch(r"\{.*\}", first[0].strip())
    else:
        is_whole = delimiter == "array"
    return _json(spark, source, checks, is_whole=is_whole)


def _json(spark: SparkSession, source: Source, checks: Sequence[Check], *, is_whole: bool) -> Data:
    shapes = json_types.Shapes.of_checks(checks)
    options = {**source.options, "multiLine": str(is_whole).lower()}
    inferred, load = json_files.infer(spark, source.paths, options, _MALFORMED)
    fields = {f.name: f for f in inferred if f.name != _MALFORMED}
    declared = shapes.columns
    doubtful = json_types.in_doubt(T.StructType([*fields.values()]), declared)
    fields |= {f.name: f for f in json_files.exact(load, doubtful) if f.name in fields or f.dataType != T.NullType()}
    fitting = json_types.to_read(T.StructType([*fields.values()] or declared.fields), shapes)
    none, malformed = (T.StructField(name, T.StringType()) for name in (_NONE, _MALFORMED))
    frame = with_malformed(load(T.StructType([none, *fitting.schema, malformed])), _NONE, _MALFORMED).drop(_NONE)
    return Data(frame, _is_small(source), Declared(shapes.types, fitting.kinds), _MALFORMED, fitting.broken)


def _parquet(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    reader = spark.read.options(**source.options).option("mergeSchema", True)
    with setting(spark, "spark.sql.parquet.reader.respectUnknownTypeAnnotation.enabled", "true"):
        try:
            return Data(reader.parquet(*source.paths), _is_small(source))
        except (PySparkException, Py4JJavaError):
            frame, broken, problem = parquet_files.read(spark, source)
            return Data(frame, _is_small(source), broken=broken, problem=problem)


def _other(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    reader = spark.read.format(source.format).options(**source.options)
    return Data(reader.load([*source.paths]) if source.paths else reader.load())


_READERS: Mapping[str, Callable[[SparkSession, Source, Sequence[Check]], Data]] = {
    "csv": _csv,
    "json": _any_json,
    "ndjson": _ndjson,
    "parquet": _parquet,
}
"""Format -> its reader. Spark reads other formats by their name."""


def _is_small(source: Source) -> bool:
    names = [name for path in source.paths for name in _names(path)]
    return bool(names) and files.are_small(names)


def _names(path: str) -> list[str]:
    """Return the files of a path, in which backslashes escape characters of globs."""
    plain = re.sub(r"\\(.)", r"\1", path)
    return [plain] if os.path.exists(plain) or not glob.has_magic(path) else glob.glob(path)


def _reason(error: PySparkException | Py4JJavaError, source: Source) -> str:
    cause = root_cause(error)
    if isinstance(error, PySparkException) and error.getCondition() == "PATH_NOT_FOUND":
        return f"no file matches {', '.join(source.paths)}"
    if source.install and re.search("ClassNotFoundException|No suitable driver|No FileSystem for scheme", cause):
        return f"Spark lacks the library to read this: set ODF_SPARK_PACKAGES={source.install}, or add its jar to Spark"
    if isinstance(error, PySparkException) and not (error.getCondition() or "").startswith("FAILED_JDBC"):
        return _plain(str(refusal(error) or message(error)))
    return _plain(cause)


def _plain(text: str) -> str:
    """Return the first line of a message of Java without the classes of its exceptions."""
    return re.sub(r"^([\w.$]+(Exception|Error): )+", "", text.partition("\n")[0])

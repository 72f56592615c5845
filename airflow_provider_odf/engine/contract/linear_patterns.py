"""Match regular expressions in linear time, with RE2.

Java's expressions backtrack: on some patterns, a text of 30 characters takes hours. Arrow contains RE2, which runs in
Spark's Python workers.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from airflow_provider_odf.engine.sql import Sql, text

_NAME = "odf_matches"


def matches(value: Sql, pattern: str) -> Sql:
    """Return SQL that tests whether a text contains a match of an RE2 pattern, in a session with `register`."""
    return f"{_NAME}({value}, {text(pattern)})"


def is_in(sql: Sql) -> bool:
    """Whether SQL calls the function of `matches`."""
    return f"{_NAME}(" in sql


def register(spark: SparkSession) -> None:
    """Make the function of `matches` known to a session."""
    from pyspark.sql.pandas.functions import arrow_udf

    spark.udf.register(_NAME, arrow_udf(_contains, "boolean"))  # type: ignore[call-overload]


def _contains(values: pa.Array, patterns: pa.Array) -> pa.Array:
    return pc.match_substring_regex(values, patterns[0].as_py()) if len(values) else values.cast(pa.bool_())

"""What differs between the versions of Spark that are supported: 4.1 and 4.2."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas import types as of_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType


def version(spark: SparkSession) -> tuple[int, int]:
    """Return the version of the Spark that runs a session, which may be another one than that of this Python.

    >>> from types import SimpleNamespace
    >>> version(SimpleNamespace(version="4.1.3-amzn-0"))
    (4, 1)
    """
    major, minor, *_ = spark.version.split(".")
    return int(major), int(minor)


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns of Arrow that Spark makes of its own, with times in UTC."""
    options: dict[str, Any] = {"timezone": "UTC"}
    if not options.keys() & signature(of_arrow.to_arrow_schema).parameters:  # then it is UTC in any case
        options = {}
    return of_arrow.to_arrow_schema(schema, **options)


def from_arrow_schema(schema: pa.Schema) -> StructType:
    """Return the columns of Spark for those of Arrow. A time without a zone has none in Spark either."""
    return of_arrow.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def from_arrow_type(kind: pa.DataType) -> DataType:
    """Return the type of Spark for one of Arrow, as `from_arrow_schema` does."""
    return of_arrow.from_arrow_type(kind, prefer_timestamp_ntz=True)

"""Read Parquet files that Spark cannot read together: column by column.

A column of a type that Spark cannot read, or of types without a common one, is left out, with the reason. So is a file
that is not Parquet. All others are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, cast

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.contract.conditions import ERRORS
from airflow_provider_odf.engine.contract.rows import Unreadable, as_path, file_name
from airflow_provider_odf.engine.contract.texts import combined, replaced
from airflow_provider_odf.engine.spark_errors import root_cause
from airflow_provider_odf.protocol import Source

_MOST_DIGITS = 38
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_WIDER: tuple[tuple[type[T.DataType], ...], ...] = (
    _INTEGERS,
    (T.FloatType, T.DoubleType),
    (T.IntegerType, T.DoubleType),
    (T.DateType, T.TimestampNTZType),
)
"""Types, the narrowest first, that Spark reads as the last of them."""


@dataclass
class Columns:
    """The columns of files: what Spark can read, and why it cannot read others, by path."""

    spark: SparkSession
    readable: dict[str, T.StructField] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Column -> the first file with it."""

    def add(self, schema: Any, file: str) -> T.StructType:
        """Add the columns in the footer of a file; return those that Spark can read."""
        seen: dict[str, str] = {}
        own = T.StructType()
        for one in schema.getFields():
            key = one.getName().lower()
            if key in seen:
                self.broken[key] = f"{file} has the columns {seen[key]} and {one.getName()}: rename one of them"
            seen[key] = one.getName()
            if (kind := self._of(one, one.getName(), file)) is not None:
                self._merge(T.StructField(one.getName(), kind), file)
                own.add(one.getName(), kind)
        return own

    def _of(self, one: Any, path: str, file: str) -> T.DataType | None:
        """Return the type of a field without the fields inside it that Spark cannot read, None if nothing is left."""
        if one.isPrimitive() or one.getLogicalTypeAnnotation() is not None or str(one.getRepetition()) == "REPEATED":
            try:
                return spark_internals.type_of_parquet(self.spark, one)
            except ERRORS as e:
                self.broken[path.lower()] = f"{path} in {file} is of {_unreadable_type(e)}"
                return None
        inner = [(f.getName(), self._of(f, f"{path}.{f.getName()}", file)) for f in one.asGroupType().getFields()]
        fields = [T.StructField(name, kind) for name, kind in inner if kind is not None]
        return T.StructType(fields) if fields else None

    def _merge(self, new: T.StructField, file: str) -> None:
        key = new.name.lower()
        old = self.readable.setdefault(key, new)
        first = self.files.setdefault(key, file)
        kind = combined((old.dataType, new.dataType), _wider)
        if kind is None:
            types = f"{old.dataType.simpleString()} in {first} and {new.dataType.simpleString()} in {file}"
            self.broken.setdefault(key, f"{old.name} is of type {types}: write the files with one type")
        else:
            self.readable[key] = T.StructField(old.name, kind)

    @property
    def schema(self) -> T.StructType:
        """The columns that Spark can read."""
        return T.StructType([one for key, one in self.readable.items() if key not in self.broken])


def read(spark: SparkSession, source: Source) -> tuple[DataFrame, dict[str, str], str]:
    """Return the rows of the files, the broken columns, and which files cannot be read (empty for none).

    :raises Unreadable: Spark can read none of the files.
    """
    reader = spark.read.options(**source.options)
    columns, readable, problems = Columns(spark), dict[str, T.StructType](), list[str]()
    for uri in sorted(reader.schema("c INT").parquet(*source.paths).inputFiles()):
        try:
            schema = spark_internals.parquet_schema(spark, uri)
        except ERRORS as e:
            cause, file = root_cause(e).partition(": ")[2] or root_cause(e), file_name(uri)
            problems.append(cause if file in cause else f"{file}: {cause}")
            continue
        readable[uri] = columns.add(schema, file_name(uri))
    if not readable:
        raise Unreadable("; ".join(problems[:3]) or f"no file matches {', '.join(source.paths)}")
    frames = _frames(reader, columns.schema, readable)
    return reduce(DataFrame.union, frames), columns.broken, "; ".join(problems[:3])


def _frames(reader: DataFrameReader, schema: T.StructType, files: Mapping[str, T.StructType]) -> Iterator[DataFrame]:
    """Yield the rows of files with their own schemas in a common schema."""
    groups: dict[T.DataType, list[str]] = {}
    for uri, own in files.items():
        groups.setdefault(_with_nulls(schema, own), []).append(as_path(uri))
    for kind, paths in groups.items():
        frame = reader.schema(cast(T.StructType, kind)).parquet(*paths)
        yield frame if kind == schema else frame.to(schema)


def _with_nulls(kind: T.DataType, own: T.DataType) -> T.DataType:
    """Return a type with the type null where a file has it, which Spark reads as no other type."""
    nulls = set[str]()

    def note(inner: T.DataType, path: str) -> None:
        if isinstance(inner, T.NullType):
            nulls.add(path.lower())

    replaced(own, note)
    return replaced(kind, lambda _, path: T.NullType() if path.lower() in nulls else None)


def _unreadable_type(error: Exception) -> str:
    """Return the type of an error of Spark, and why Spark cannot read it."""
    if digits := re.search(r"precision (\d+) exceeds", str(error), re.IGNORECASE):
        return (
            f"type DECIMAL with {digits[1]} digits, and Spark reads {_MOST_DIGITS} at most: write fewer digits, or text"
        )
    kind = str(error).partition("Parquet type: ")[2].partition(". SQLSTATE")[0] or root_cause(error)
    return f"the type {kind}, which Spark cannot read"


def _wider(kinds: Sequence[T.DataType]) -> T.DataType | None:
    """Return the type that Spark reads values of two types as, None if there is none."""
    one, other = kinds
    if isinstance(one, T.DecimalType) and isinstance(other, T.DecimalType):
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale
        return T.DecimalType(digits, scale) if digits <= _MOST_DIGITS else None
    for types in _WIDER:
        if type(one) in types and type(other) in types:
            return max(one, other, key=lambda kind: types.index(type(kind)))
    return None

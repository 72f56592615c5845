"""Read Parquet files that Spark cannot read together: column by column.

A column of a type that Spark cannot read, or of types without a common one, is left out, with the reason. So is a file
that is not Parquet. All others are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.contract.conditions import ERRORS
from airflow_provider_odf.engine.contract.data import Unreadable, as_path, file_name
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

    readable: dict[str, T.StructField] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Column -> the first file with it."""

    def add(self, schema: Any, file: str) -> None:
        """Add the columns in the footer of a file."""
        seen: dict[str, str] = {}
        for one in schema.getFields():
            key = one.getName().lower()
            if key in seen:
                self.broken[key] = f"{file} has the columns {seen[key]} and {one.getName()}: rename one of them"
            seen[key] = one.getName()
            if (kind := self._of(one, one.getName(), file)) is not None:
                self._merge(T.StructField(one.getName(), kind), file)

    def _of(self, one: Any, path: str, file: str) -> T.DataType | None:
        """Return the type of a field without the fields inside it that Spark cannot read, None if nothing is left."""
        if one.isPrimitive() or one.getLogicalTypeAnnotation() is not None or str(one.getRepetition()) == "REPEATED":
            try:
                return spark_internals.type_of_parquet(one)
            except ERRORS as e:
                kind = str(e).partition("Parquet type: ")[2].partition(". SQLSTATE")[0] or root_cause(e)
                self.broken[path.lower()] = f"{path} in {file} is of the type {kind}, which Spark cannot read"
                return None
        inner = [(f.getName(), self._of(f, f"{path}.{f.getName()}", file)) for f in one.asGroupType().getFields()]
        fields = [T.StructField(name, kind) for name, kind in inner if kind is not None]
        return T.StructType(fields) if fields else None

    def _merge(self, new: T.StructField, file: str) -> None:
        key = new.name.lower()
        old = self.readable.setdefault(key, new)
        first = self.files.setdefault(key, file)
        kind = common_type(old.dataType, new.dataType)
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
    columns, readable, problems = Columns(), list[str](), list[str]()
    for uri in sorted(reader.schema("c INT").parquet(*source.paths).inputFiles()):
        try:
            schema = spark_internals.parquet_schema(spark, uri)
        except ERRORS as e:
            problems.append(_problem(file_name(uri), root_cause(e).partition(": ")[2] or root_cause(e)))
            continue
        columns.add(schema, file_name(uri))
        readable.append(uri)
    if not readable:
        raise Unreadable("; ".join(problems[:3]) or f"no file matches {', '.join(source.paths)}")
    frame = reader.schema(columns.schema).parquet(*map(as_path, readable))
    return frame, columns.broken, "; ".join(problems[:3])


def _problem(file: str, cause: str) -> str:
    return cause if file in cause else f"{file}: {cause}"


def common_type(one: T.DataType, other: T.DataType) -> T.DataType | None:
    """Return the type that Spark reads values of both types as, None if there is none."""
    if one == other:
        return one
    if isinstance(one, T.StructType) and isinstance(other, T.StructType):
        return _common_struct(one, other)
    if isinstance(one, T.DecimalType) and isinstance(other, T.DecimalType):
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale
        return T.DecimalType(digits, scale) if digits <= _MOST_DIGITS else None
    for types in _WIDER:
        if type(one) in types and type(other) in types:
            return max(one, other, key=lambda kind: types.index(type(kind)))
    return None


def _common_struct(one: T.StructType, other: T.StructType) -> T.StructType | None:
    names = dict.fromkeys((*one.fieldNames(), *other.fieldNames()))
    kinds = {
        name: common_type(one[name].dataType, other[name].dataType)
        if name in one.fieldNames() and name in other.fieldNames()
        else (one if name in one.fieldNames() else other)[name].dataType
        for name in names
    }
    fields = [T.StructField(name, kind) for name, kind in kinds.items() if kind is not None]
    return T.StructType(fields) if len(fields) == len(kinds) else None

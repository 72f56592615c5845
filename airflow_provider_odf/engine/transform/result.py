"""The columns of a derivative, from those of its query's result, and the bound on the number of result rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf import column_rules
from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.column_layout import find, operation_code, value_sql, with_spelling
from airflow_provider_odf.engine.schema import evolve, quoted, slice_schema, top_type, type_name
from airflow_provider_odf.engine.sql import ddl, text
from airflow_provider_odf.engine.transform.inputs import Input
from airflow_provider_odf.engine.transform.plan_tree import is_collated
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import DatasetVocabulary, TransformRequest
from airflow_provider_odf.records import schema as schemas


@dataclass(frozen=True)
class Result:
    """The columns of a query's result in terms of the derivative.

    ``columns`` are the event time and the columns of data, ``projection`` their SQL, by name of the query's columns.
    ``operation`` is the SQL of the code of the operation, if the query selects it.
    """

    schema: pa.Schema
    columns: tuple[str, ...]
    projection: tuple[str, ...]
    operation: str | None

    def select(self, frame: DataFrame, *others: str) -> DataFrame:
        """Return the rows of the query with the derivative's columns, and with other columns.

        Rows are compared with GROUP BY, to which -0.0 is 0.0, and the bits of a NaN depend on the processor.
        """
        floats = [f.name for f in self.schema if re.search(r"\b(float|double)\b", str(f.type))]
        return spark_internals.with_one_zero(frame.selectExpr(*self.projection, *others), floats)

    @property
    def spark_columns(self) -> list[str]:
        return [quoted(name) for name in self.columns]


def result(frame: DataFrame, request: TransformRequest) -> Result:
    """Return the columns of a query's result.

    :raises InvalidQuery: a column is missing, has a name of the system, or a type that slices do not support, or the
        derivative's schema does not allow the columns.
    """
    vocab, fields = request.vocab, frame.schema.fields
    stored = schemas.decode(request.schema) if request.schema else None
    _check(fields, vocab)
    event, op = find(vocab.event_time_column, fields), find(vocab.operation_type_column, fields)
    if event is None:
        raise InvalidQuery(
            f"the result has no column {vocab.event_time_column}, the event time of each row: select it, or name "
            "another column in SetVocab.eventTimeColumn"
        )
    data = with_spelling([f for f in fields if f not in (event, op)], stored)
    schema = slice_schema(vocab, top_type(event.dataType, event.name), [f for _, f in data], frozenset())
    if stored is not None:
        schema = evolve(stored, schema)
    names = {f.name: name for name, f in data} | {schema.names[3]: event.name}
    types = {f.name: f.dataType for _, f in data} | {schema.names[3]: event.dataType}
    absent = T.NullType()
    columns = tuple(schema.names[3:])
    projection = tuple(
        f"{_value(names.get(name), types.get(name, absent), schema.field(name).type)} AS {quoted(name)}"
        for name in columns
    )
    operation = operation_code(op, "the query") if op is not None else None
    return Result(schema, columns, projection, operation)


def _value(name: str | None, kind: T.DataType, stored: pa.DataType) -> str:
    if name is None:
        return f"CAST(NULL AS {type_name(stored)})"
    # Slices have texts without a collation, which Spark does not compare with those of one.
    if is_collated(kind.simpleString()):
        return f"CAST({quoted(name)} AS {ddl(_plain(kind))})"
    return value_sql(name, kind)


def _plain(kind: T.DataType) -> T.DataType:
    """Return a type whose texts have no collation."""
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_plain(kind.elementType))
    if isinstance(kind, T.StructType):
        return T.StructType([T.StructField(f.name, _plain(f.dataType)) for f in kind])
    return T.StringType() if isinstance(kind, T.StringType) else kind


def _check(fields: Sequence[T.StructField], vocab: DatasetVocabulary) -> None:
    lower = [f.name.lower() for f in fields]
    if same := sorted({f.name for f in fields if lower.count(f.name.lower()) > 1}):
        raise InvalidQuery(f"the result has several columns {', '.join(same)}, ignoring case: rename one of them")
    types = {f.name: f.dataType.simpleString().upper() for f in fields}
    if problem := next(column_rules.check(types, vocab, None, "the result"), None):
        raise InvalidQuery(f"{problem.message}: {problem.fix}")


MOST_ROWS = 10_000_000
"""Number of rows of a result, in one task of Spark, that is never too large."""

MOST_ROWS_PER_RECORD = 100
"""Number of result rows for each input record above which a larger result is an error: most likely a join lacks a
condition, and the result would fill the disk."""

SETTING = "spark.odf.maxResultRows"

_POSITION_BITS = 33
"""Bits of ``monotonically_increasing_id`` that number the rows of a task."""


@dataclass(frozen=True)
class Bound:
    """Maximum number of result rows in one task, for a number of input records."""

    rows: int
    records: int

    @classmethod
    def of(cls, spark: SparkSession, inputs: Iterable[Input]) -> Bound:
        records = sum(s.offset_interval.count for i in inputs for s in i.history.slices)
        default = max(MOST_ROWS, MOST_ROWS_PER_RECORD * records)
        return cls(int(spark.conf.get(SETTING, None) or default), records)

    @property
    def message(self) -> str:
        return (
            f"the result has more than {self.rows:,} rows of {self.records:,} input records: does a join lack a "
            f"condition? To allow more, set {SETTING} (ODF_MAX_RESULT_ROWS for a local Spark)"
        )

    def checked(self, frame: DataFrame) -> DataFrame:
        """Return the rows of a frame, with an error instead of far too many."""
        position = f"(monotonically_increasing_id() & {2**_POSITION_BITS - 1})"
        return frame.where(f"CASE WHEN {position} < {self.rows} THEN TRUE ELSE raise_error({text(self.message)}) END")

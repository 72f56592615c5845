"""Convert new data to the columns of a dataset: check names and types, and find the event time and the keys.

The result has the event time, then the data columns, with the dataset's spelling and with times in milliseconds. It is
a single projection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf import column_rules
from airflow_provider_odf.engine import schema as schemas
from airflow_provider_odf.engine.read.scalar import Formats, is_in_range, scalar
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.merge_strategies import (
    APPEND,
    CORRECT_TO,
    OPERATION_NAMES,
    OPERATIONS_TEXT,
    OperationColumn,
)
from airflow_provider_odf.protocol import MergeRequest, MergeStrategy
from airflow_provider_odf.read_steps import Types
from airflow_provider_odf.records.schema import MILLISECONDS, OP

POSITION = "odf:position"
"""Internal column of the engine: the position of a row in its input."""

_OPERATIONS = ", ".join(f"'{name}', {code}, '{code}', {code}" for code, name in enumerate(OPERATION_NAMES))
"""Arguments of ``decode``: operation names, and codes as text, with their codes."""

_OUT_OF_RANGE = " is outside the years 1 to 9999: check whether its unit is seconds, milliseconds or microseconds"


@dataclass(frozen=True)
class Layout:
    """The columns of a dataset for a merge, event time first.

    A change is a difference in the columns ``compared``. ``schema`` is the schema of the slices.
    """

    schema: pa.Schema
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def event_time(self) -> str:
        return self.columns[0]


class Columns(Protocol):
    """The columns of new rows. ``types`` has the Spark types of the layout's columns."""

    @property
    def layout(self) -> Layout: ...

    @property
    def types(self) -> T.StructType: ...


@dataclass(frozen=True)
class NewRows:
    """New rows with the columns of the dataset. ``frame`` also has POSITION, and OP if the data have operations."""

    frame: DataFrame
    layout: Layout

    @property
    def types(self) -> T.StructType:
        """Spark types of the layout's columns."""
        return T.StructType([self.frame.schema[name] for name in self.layout.columns])


def fit(frame: DataFrame, request: MergeRequest, stored: pa.Schema | None) -> NewRows:
    """Convert new rows to the columns of the dataset.

    The schema is the ``stored`` one plus new columns. Before the first data it comes from the rows.

    :raises InvalidQuery: names, types, keys or the stored schema do not allow it.
    """
    layout, own = layout_of(frame.schema.fields, request, stored)
    operation = _operation(own.op, request) if own.op is not None else None
    return NewRows(_project(frame, layout, own.event, operation, own.data), layout)


@dataclass(frozen=True)
class OwnColumns:
    """The columns of new data by their part in the dataset. ``data`` has the dataset's spelling of each name."""

    event: T.StructField | None
    op: T.StructField | None
    data: Sequence[tuple[str, T.StructField]]


def layout_of(
    fields: Sequence[T.StructField], request: MergeRequest, stored: pa.Schema | None
) -> tuple[Layout, OwnColumns]:
    """Return the columns of the dataset with those of new data.

    :raises InvalidQuery: as ``fit`` does.
    """
    vocab = request.vocab
    event = find(vocab.event_time_column, fields)
    op = find(vocab.operation_type_column, fields)
    _check_columns(fields, event, request)
    data = with_spelling([f for f in fields if f not in (event, op)], stored)
    schema = schemas.slice_schema(
        vocab, _event_type(event, request, stored), [f for _, f in data], _required(request, stored)
    )
    if stored is not None:
        schema = schemas.evolve(stored, schema)
    columns = tuple(schema.names[3:])
    return Layout(schema, columns, *_keys(request.merge, columns)), OwnColumns(event, op, data)


def _check_columns(fields: Sequence[T.StructField], event: T.StructField | None, request: MergeRequest) -> None:
    count = Counter(f.name.lower() for f in fields)
    if same := sorted({f.name for f in fields if count[f.name.lower()] > 1}):
        raise InvalidQuery(
            f"columns {', '.join(same)} have the same name, ignoring case: rename one of them in preprocess"
        )
    types = {f.name: f.dataType.simpleString().upper() for f in fields}
    if event is None or _is_coerced(event, request):
        types[event.name if event else request.vocab.event_time_column] = ""
    if problem := next(column_rules.check(types, request.vocab, request.merge), None):
        properties = {"primary_key": "primaryKey", "compare_columns": "compareColumns"}
        place = f"{request.merge.kind}.{properties[problem.part]}: " if problem.part in properties else ""
        raise InvalidQuery(f"{place}{problem.message}: {problem.fix}")


def find(name: str, fields: Iterable[T.StructField]) -> T.StructField | None:
    """Return the column of a name, ignoring case."""
    return next((f for f in fields if f.name.lower() == name.lower()), None)


def _event_type(event: T.StructField | None, request: MergeRequest, stored: pa.Schema | None) -> pa.DataType:
    if event is None or _is_coerced(event, request):
        return stored.field(3).type if stored is not None else MILLISECONDS
    return schemas.top_type(event.dataType, event.name)


def _is_coerced(event: T.StructField, request: MergeRequest) -> bool:
    """Whether an event time is text without a declared type. Such text is RFC 3339."""
    read = request.read
    is_inferred = read.columns is None and request.preprocess is None and read.format.types is not Types.FILE
    return is_inferred and isinstance(event.dataType, T.StringType)


def with_spelling(fields: Sequence[T.StructField], stored: pa.Schema | None) -> list[tuple[str, T.StructField]]:
    """Return each field with its name in the data and with the dataset's spelling."""
    spelling = _spelling(stored)
    return [(f.name, T.StructField(spelling.get(f.name.lower(), f.name), f.dataType)) for f in fields]


def _spelling(stored: pa.Schema | None) -> dict[str, str]:
    """Return the dataset's spelling by lower-case name."""
    return {name.lower(): name for name in stored.names} if stored is not None else {}


def _required(request: MergeRequest, stored: pa.Schema | None) -> frozenset[str]:
    """Return the columns declared NOT NULL that no query changes, with the dataset's spelling."""
    if request.preprocess is not None or request.read.columns is None:
        return frozenset()
    spelling = _spelling(stored)
    return frozenset(spelling.get(c.name.lower(), c.name) for c in request.read.columns if not c.is_nullable)


def _keys(merge: MergeStrategy, columns: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the key columns and the compared columns of a strategy, with the dataset's spelling."""
    if not merge.traits.has_key:
        return (), ()
    spelling = {name.lower(): name for name in columns}
    keys = tuple(spelling[name.lower()] for name in merge.primary_key)
    if not keys:
        raise InvalidQuery(f"{merge.kind} needs a primaryKey")
    if merge.compare_columns is None:
        return keys, tuple(c for c in columns if c not in keys)
    return keys, tuple(spelling[name.lower()] for name in merge.compare_columns)


def _project(
    frame: DataFrame,
    layout: Layout,
    event: T.StructField | None,
    op: str | None,
    data: Sequence[tuple[str, T.StructField]],
) -> DataFrame:
    kind = "DATE" if pa.types.is_date(layout.schema.field(3).type) else "TIMESTAMP"
    time = f"CAST(NULL AS {kind})"
    if event is not None:
        is_text = isinstance(event.dataType, T.StringType)
        time = _from_text(event.name, kind) if is_text else value_sql(event.name, event.dataType)
    sql = [f"{time} AS {quoted(layout.event_time)}"]
    sql += [f"{value_sql(name, f.dataType)} AS {quoted(f.name)}" for name, f in data]
    if op is not None:
        sql.append(f"{op} AS {quoted(OP)}")
    return frame.selectExpr(*sql, f"monotonically_increasing_id() AS {quoted(POSITION)}")


def value_sql(name: str, kind: T.DataType) -> str:
    """Return SQL for a column as a slice has it: times in milliseconds, within the years 1 to 9999."""
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):
        return f"date_trunc('MILLISECOND', {_in_range(name, T.TimestampType(), f'CAST({quoted(name)} AS TIMESTAMP)')})"
    return _in_range(name, kind, quoted(name)) if isinstance(kind, T.DateType) else quoted(name)


def _from_text(name: str, kind: str) -> str:
    """Return SQL that parses an event time in RFC 3339. Other text is an error."""
    type_, value = (T.DateType() if kind == "DATE" else T.TimestampType()), quoted(name)
    moment = scalar(value, type_, Formats(has_millis=False), name)
    reason = f"' is not an RFC 3339 time such as 2024-05-02T08:00:00Z: declare the type of {name} in read.schema"
    before = text(f"column {name}: '")
    wrong = f"raise_error(concat({before}, substring({value}, 1, 200), {text(reason)}))"
    read = f"coalesce({moment}, CASE WHEN {value} IS NOT NULL THEN {wrong} END)"
    return read if kind == "DATE" else f"date_trunc('MILLISECOND', {read})"


def _in_range(name: str, kind: T.DataType, value: str) -> str:
    """Return SQL for a date or time in the years 1 to 9999, which all tools can read.

    Others are an error with their text, for example if microseconds are read as milliseconds.
    """
    wrong = f"raise_error(concat({text(f'column {name}: ')}, CAST({value} AS STRING), {text(_OUT_OF_RANGE)}))"
    return f"CASE WHEN {value} IS NULL OR ({is_in_range(value, kind)}) THEN {value} ELSE {wrong} END"


def operation_code(field: T.StructField, where: str, *, is_optional: bool = False) -> str:
    """Return SQL for the code of an operation, given as code or name. Other values are an error.

    If the column is optional, null means +A. ``where`` names the rows in messages.
    """
    column = quoted(field.name)
    if isinstance(field.dataType, T.StringType):
        code = f"decode({column}, {_OPERATIONS})"
    elif isinstance(field.dataType, T.IntegralType):
        code = f"IF({column} BETWEEN {APPEND} AND {CORRECT_TO}, CAST({column} AS INT), NULL)"
    else:
        kind = field.dataType.simpleString().upper()
        raise InvalidQuery(
            f"column {field.name} has operation codes of type {kind}: "
            f"convert them to {OPERATIONS_TEXT}, as INT or STRING"
        )
    value = f"coalesce(CAST({column} AS STRING), 'null')"
    error = f"raise_error(concat({text(f'{where}: an operation is not one of {OPERATIONS_TEXT}: ')}, {value}))"
    if is_optional:
        return f"CASE WHEN {column} IS NULL THEN {APPEND} ELSE coalesce({code}, {error}) END"
    return f"coalesce({code}, {error})"


def _operation(field: T.StructField, request: MergeRequest) -> str:
    labels = [source.label for source in request.inputs]
    where = f"{labels[0]}: column {field.name}" if len(labels) == 1 else f"column {field.name}"
    is_optional = request.merge.traits.operation_column is OperationColumn.OPTIONAL
    return operation_code(field, where, is_optional=is_optional)

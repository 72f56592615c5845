"""``inferSchema``: the narrowest type that fits all values of a column, or the column's type in the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from airflow_provider_odf.engine.read.convert import raw_name
from airflow_provider_odf.engine.read.raw import PROBLEM
from airflow_provider_odf.engine.read.scalar import Formats, scalar
from airflow_provider_odf.engine.sql import Sql, matches, when
from airflow_provider_odf.protocol import Column, ReadStep

_LONG = r"^\s*[+-]?\d{19,}\s*$"
_DATE_LENGTH = len("yyyy-mm-dd")

CANDIDATES: tuple[st.DataType, ...] = (
    st.LongType(),
    st.DoubleType(),
    st.BooleanType(),
    st.DateType(),
    st.TimestampType(),
)


def columns(raw: DataFrame, untyped: Sequence[Column], step: ReadStep) -> tuple[Column, ...]:
    """Return the columns with types, STRING if no other type fits or there are no values. It reads all rows once."""
    if not untyped:
        return ()
    tests = [f"{_fits(i, column, step)} AS {raw_name(i)}" for i, column in enumerate(untyped)]
    row = raw.selectExpr(*tests, f"first({PROBLEM}, true) AS {PROBLEM}").first()
    if row is None or row[PROBLEM] is not None:
        # The check of the rows reports it with the label.
        return tuple(untyped)
    known = {column.name.lower(): column for column in step.known_columns}
    return tuple(with_known_type(replace(c, type=_narrowest(row[raw_name(i)])), known) for i, c in enumerate(untyped))


def with_known_type(inferred: Column, known: Mapping[str, Column]) -> Column:
    """Return an inferred column with the type of the known column of the same name, if that has a type.

    The names in ``known`` are in lower case.
    """
    column = known.get(inferred.name.lower())
    return replace(column, name=inferred.name) if column is not None and column.type else inferred


def _fits(index: int, column: Column, step: ReadStep) -> Sql:
    """Return SQL that tests for each candidate type whether all values fit, null without values."""
    raw = raw_name(index)
    fits = (when(f"{raw} IS NOT NULL", _is(raw, kind, column, step)) for kind in CANDIDATES)
    return f"array({', '.join(f'bool_and({one})' for one in fits)})"


def _is(raw: Sql, kind: st.DataType, column: Column, step: ReadStep) -> Sql:
    formats = Formats.of(step)
    value = scalar(raw, kind, formats, column.name)
    if kind == st.DoubleType():
        return f"{value} IS NOT NULL AND (NOT {matches(raw, _LONG)} OR {_keeps_digits(raw, value)})"
    # A declared DATE accepts a timestamp and keeps its date. An inferred one would lose the time.
    is_date = kind == st.DateType() and formats.date is None
    return f"{value} IS NOT NULL AND length({raw}) = {_DATE_LENGTH}" if is_date else f"{value} IS NOT NULL"


def _keeps_digits(raw: Sql, double: Sql) -> Sql:
    """Return SQL that tests whether an integer keeps its digits as DOUBLE. An id of 20 digits does not."""
    return f"coalesce(try_cast({raw} AS DECIMAL(38,0)) = try_cast({double} AS DECIMAL(38,0)), false)"


def _narrowest(fits: Sequence[bool | None]) -> str:
    return next((t.simpleString().upper() for t, does in zip(CANDIDATES, fits, strict=True) if does), "STRING")

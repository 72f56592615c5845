"""The difference between new rows and the state in Spark, for strategies that compare rows by key.

Flags mark missing rows, since any value may be null. ``<=>`` compares values: null equals null.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT
from airflow_provider_odf.records.schema import COPY, OP

IS_RETRACTED = "odf:retract"
"""Column of new rows that retract their key."""

_NEW, _OLD = "odf:new", "odf:old"
_NEW_MISSING = f"{quoted(_NEW)} IS NULL"
_OLD_MISSING = f"{quoted(_OLD)} IS NULL"
_BOTH = f"{quoted(_NEW)} AND {quoted(_OLD)}"


def difference(new: DataFrame, state: DataFrame | None, layout: Layout, how: str, copy: str) -> DataFrame:
    """Join new rows (with IS_RETRACTED) with the state and return the records; ``copy`` is the SQL of COPY."""
    if state is None:
        rows = new.where(f"NOT {quoted(IS_RETRACTED)}")
        return rows.selectExpr(operation(APPEND), *names(layout.columns), f"{copy} AS {quoted(COPY)}")
    left = new.withColumn(_NEW, F.lit(True)).alias("n")
    right = state.withColumn(_OLD, F.lit(True)).alias("o")
    joined = left.join(right, F.expr(" AND ".join(f"n.{k} = o.{k}" for k in names(layout.keys))), how)
    changed = joined.where(
        f"({_OLD_MISSING} AND NOT {quoted(IS_RETRACTED)}) OR {_NEW_MISSING} "
        f"OR ({_BOTH} AND ({quoted(IS_RETRACTED)} OR {copy} > 1 OR {_differs(layout)}))"
    )
    operations = (
        f"CASE WHEN {_OLD_MISSING} THEN array({APPEND}) WHEN {_NEW_MISSING} OR {quoted(IS_RETRACTED)} "
        f"THEN array({RETRACT}) ELSE array({CORRECT_FROM}, {CORRECT_TO}) END"
    )
    sides = changed.selectExpr("*", f"explode({operations}) AS {quoted(OP)}")
    is_new = f"{quoted(OP)} IN {PRESENT}"
    columns = [f"IF({is_new}, n.{c}, o.{c}) AS {c}" for c in names(layout.columns)]
    return sides.selectExpr(quoted(OP), *columns, f"{copy} AS {quoted(COPY)}")


def _differs(layout: Layout) -> str:
    differs = [f"NOT (n.{c} <=> o.{c})" for c in names(c for c in layout.compared if c != layout.event_time)]
    if layout.event_time in layout.compared:
        # Otherwise a source without event times would change all its rows at every poll.
        time = quoted(layout.event_time)
        differs.append(f"(n.{time} IS NOT NULL AND NOT (n.{time} <=> o.{time}))")
    return "(" + (" OR ".join(differs) or "false") + ")"


def names(columns: Iterable[str]) -> list[str]:
    """Return column names as SQL."""
    return [quoted(c) for c in columns]


def operation(code: int) -> str:
    """Return SQL for the column of an operation code."""
    return f"{code} AS {quoted(OP)}"

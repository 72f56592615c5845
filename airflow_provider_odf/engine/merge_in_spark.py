"""The merge strategies for large inputs: compute the records that new rows add to the history, as data frames.

See "Merge strategies" in the specification. New rows have the event time, the data columns, POSITION and, in streams,
OP. The state has the event time and the data columns, or the keys alone. The result has OP, the columns and the sort
columns. Flags mark missing rows, since any value may be null. ``<=>`` compares values: null equals null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.layout import CHANGE, COPY, OP, POSITION, Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT

ORDINAL = "odf:ordinal"
_NEW, _OLD, _RETRACT = "odf:new", "odf:old", "odf:retract"


def append(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return all rows as +A."""
    return new.selectExpr(_op(APPEND), *_names(layout.columns), quoted(POSITION))


def ledger(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the rows whose key is not in the state, as +A."""
    unseen = new if state is None else new.join(state, list(layout.keys), "left_anti")
    return append(unseen, None, layout)


def snapshot(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the records that turn the state into the new rows.

    They are +A for a new key, -R for a missing one, and -C and +C for a changed row. COPY is 1 for one row of each key
    and greater for duplicates, which the result always contains, changed or not. New rows that already have COPY keep
    it: numbering takes a third of the work for many rows.
    """
    keys = ", ".join(_names(layout.keys))
    copy = quoted(COPY) if COPY in new.columns else f"row_number() OVER (PARTITION BY {keys} ORDER BY {keys})"
    flagged = new.selectExpr(*_names(layout.columns), f"{copy} AS {quoted(COPY)}", f"false AS {quoted(_RETRACT)}")
    return _difference(flagged, state, layout, "full_outer", quoted(COPY))


def upsert_stream(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the records that put the last row of each key into the state.

    They are -R if the row retracts a key of the state, otherwise +A, or -C and +C.
    """
    keys = ", ".join(_names(layout.keys))
    retract = f"{quoted(OP)} <=> {RETRACT}" if OP in new.columns else "false"
    last = f"row_number() OVER (PARTITION BY {keys} ORDER BY {quoted(POSITION)} DESC) AS {quoted(ORDINAL)}"
    rows = new.selectExpr(*_names(layout.columns), f"{retract} AS {quoted(_RETRACT)}", last)
    return _difference(rows.where(f"{quoted(ORDINAL)} = 1"), state, layout, "left_outer", "1")


def changelog_stream(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the rows unchanged, with the position of their change.

    The n-th -C of a key and its n-th +C are one change, at the position of the first one.
    """
    keys = ", ".join(_names(layout.keys))
    ordinal = f"row_number() OVER (PARTITION BY {keys}, {quoted(OP)} ORDER BY {quoted(POSITION)}) AS {quoted(ORDINAL)}"
    is_half = f"{quoted(OP)} IN ({CORRECT_FROM}, {CORRECT_TO})"
    first = f"min({quoted(POSITION)}) OVER (PARTITION BY {keys}, {is_half}, {quoted(ORDINAL)})"
    change = f"IF({is_half}, {first}, {quoted(POSITION)}) AS {quoted(CHANGE)}"
    return new.selectExpr("*", ordinal).selectExpr(*_names([OP, *layout.columns]), change)


Records: TypeAlias = Callable[[DataFrame, DataFrame | None, Layout], DataFrame]

RECORDS: Mapping[str, Records] = {
    "Append": append,
    "Ledger": ledger,
    "Snapshot": snapshot,
    "ChangelogStream": changelog_stream,
    "UpsertStream": upsert_stream,
}
"""Merge strategy -> function that returns the records of new rows and the state."""


def _difference(new: DataFrame, state: DataFrame | None, layout: Layout, how: str, copy: str) -> DataFrame:
    """Join new rows (with _RETRACT) with the state and return the records; ``copy`` is the SQL of COPY."""
    if state is None:
        rows = new.where(f"NOT {quoted(_RETRACT)}")
        return rows.selectExpr(_op(APPEND), *_names(layout.columns), f"{copy} AS {quoted(COPY)}")
    left = new.withColumn(_NEW, F.lit(True)).alias("n")
    right = state.withColumn(_OLD, F.lit(True)).alias("o")
    joined = left.join(right, F.expr(" AND ".join(f"n.{k} = o.{k}" for k in _names(layout.keys))), how)
    changed = joined.where(
        f"({_OLD_MISSING} AND NOT {quoted(_RETRACT)}) OR {_NEW_MISSING} "
        f"OR ({_BOTH} AND ({quoted(_RETRACT)} OR {copy} > 1 OR {_differs(layout)}))"
    )
    operations = (
        f"CASE WHEN {_OLD_MISSING} THEN array({APPEND}) WHEN {_NEW_MISSING} OR {quoted(_RETRACT)} "
        f"THEN array({RETRACT}) ELSE array({CORRECT_FROM}, {CORRECT_TO}) END"
    )
    sides = changed.selectExpr("*", f"explode({operations}) AS {quoted(OP)}")
    is_new = f"{quoted(OP)} IN {PRESENT}"
    columns = [f"IF({is_new}, n.{c}, o.{c}) AS {c}" for c in _names(layout.columns)]
    return sides.selectExpr(quoted(OP), *columns, f"{copy} AS {quoted(COPY)}")


_NEW_MISSING = f"{quoted(_NEW)} IS NULL"
_OLD_MISSING = f"{quoted(_OLD)} IS NULL"
_BOTH = f"{quoted(_NEW)} AND {quoted(_OLD)}"


def _differs(layout: Layout) -> str:
    differs = [f"NOT (n.{c} <=> o.{c})" for c in _names(c for c in layout.compared if c != layout.event_time)]
    if layout.event_time in layout.compared:
        # Otherwise a source without event times would change all its rows at every poll.
        time = quoted(layout.event_time)
        differs.append(f"(n.{time} IS NOT NULL AND NOT (n.{time} <=> o.{time}))")
    return "(" + (" OR ".join(differs) or "false") + ")"


def _names(columns: Iterable[str]) -> list[str]:
    return [quoted(c) for c in columns]


def _op(code: int) -> str:
    return f"{code} AS {quoted(OP)}"

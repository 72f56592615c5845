"""The merge strategies: which records a dataset's history gains from new rows, as functions of data frames.

"Merge strategies" of the specification. New rows have the event time first, then the data columns, then POSITION (and
OP in streams); the state has the same columns without the last. The result has OP, the columns, and what ``order``
names. Rows are told apart by flags of presence, never by their values, and compared by ``<=>``: null equals null.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.layout import OP, POSITION, Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.protocol import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT

COPY = "odf:copy"
"""1 for a new row whose key is its own; of rows that share a key one has 1 and the others more, if marked. Those are
always in the result, whether changed or not, for whoever writes it to find."""

CHANGE = "odf:change"
"""Where in the input a change of a ChangelogStream is."""

ORDINAL = "odf:ordinal"
_NEW, _OLD, _RETRACT = "odf:new", "odf:old", "odf:retract"


def append(new: DataFrame, layout: Layout) -> DataFrame:
    """All rows as +A."""
    return new.selectExpr(_op(APPEND), *_names(layout.columns), quoted(POSITION))


def ledger(new: DataFrame, known: DataFrame | None, layout: Layout) -> DataFrame:
    """Rows whose key is not among the ``known`` ones, as +A."""
    unseen = new if known is None else new.join(known, list(layout.keys), "left_anti")
    return append(unseen, layout)


def snapshot(new: DataFrame, state: DataFrame | None, layout: Layout, *, marks_copies: bool = True) -> DataFrame:
    """What turns the state into the new rows: +A for a new key, -R for a vanished one, -C and +C for a changed row.

    Marking rows that share a key is cheap for few rows, and a third of the work for many.
    """
    keys = ", ".join(_names(layout.keys))
    copy = f"row_number() OVER (PARTITION BY {keys} ORDER BY {keys})" if marks_copies else "1"
    flagged = new.selectExpr(*_names(layout.columns), f"{copy} AS {quoted(COPY)}", f"false AS {quoted(_RETRACT)}")
    return _difference(flagged, state, layout, "full_outer", quoted(COPY))


def upsert_stream(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """The last row of each key put into the state: -R where it retracts a known key, else +A, or -C and +C."""
    keys = ", ".join(_names(layout.keys))
    retract = f"{quoted(OP)} <=> {RETRACT}" if OP in new.columns else "false"
    last = f"row_number() OVER (PARTITION BY {keys} ORDER BY {quoted(POSITION)} DESC) AS {quoted(ORDINAL)}"
    rows = new.selectExpr(*_names(layout.columns), f"{retract} AS {quoted(_RETRACT)}", last)
    return _difference(rows.where(f"{quoted(ORDINAL)} = 1"), state, layout, "left_outer", "1")


def changelog_stream(new: DataFrame, layout: Layout) -> DataFrame:
    """The rows as they are, with the place of their change: the n-th -C of a key and its n-th +C are one, at the first
    of the two."""
    keys = ", ".join(_names(layout.keys))
    ordinal = f"row_number() OVER (PARTITION BY {keys}, {quoted(OP)} ORDER BY {quoted(POSITION)}) AS {quoted(ORDINAL)}"
    is_half = f"{quoted(OP)} IN ({CORRECT_FROM}, {CORRECT_TO})"
    first = f"min({quoted(POSITION)}) OVER (PARTITION BY {keys}, {is_half}, {quoted(ORDINAL)})"
    change = f"IF({is_half}, {first}, {quoted(POSITION)}) AS {quoted(CHANGE)}"
    return new.selectExpr("*", ordinal).selectExpr(*_names([OP, *layout.columns]), change)


def order(kind: str, layout: Layout) -> tuple[str, ...]:
    """The columns by which the records of a slice are sorted, nulls first."""
    return {
        "Append": (layout.event_time, POSITION),
        "Ledger": (layout.event_time, POSITION),
        "ChangelogStream": (*layout.keys, CHANGE, OP),
    }.get(kind, (*layout.keys, OP))


def _difference(new: DataFrame, state: DataFrame | None, layout: Layout, how: str, copy: str) -> DataFrame:
    """The one join: new rows (with _RETRACT) against the state; ``copy`` is the expression of COPY."""
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
    is_new = f"{quoted(OP)} IN ({APPEND}, {CORRECT_TO})"
    columns = [f"IF({is_new}, n.{c}, o.{c}) AS {c}" for c in _names(layout.columns)]
    return sides.selectExpr(quoted(OP), *columns, f"{copy} AS {quoted(COPY)}")


_NEW_MISSING = f"{quoted(_NEW)} IS NULL"
_OLD_MISSING = f"{quoted(_OLD)} IS NULL"
_BOTH = f"{quoted(_NEW)} AND {quoted(_OLD)}"


def _differs(layout: Layout) -> str:
    differs = [f"NOT (n.{c} <=> o.{c})" for c in _names(c for c in layout.compared if c != layout.event_time)]
    if layout.event_time in layout.compared:
        # A source without event times would else change all its rows at every poll.
        time = quoted(layout.event_time)
        differs.append(f"(n.{time} IS NOT NULL AND NOT (n.{time} <=> o.{time}))")
    return "(" + (" OR ".join(differs) or "false") + ")"


def _names(columns: Iterable[str]) -> list[str]:
    return [quoted(c) for c in columns]


def _op(code: int) -> str:
    return f"{code} AS {quoted(OP)}"

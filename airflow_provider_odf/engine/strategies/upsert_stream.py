"""``UpsertStream``: the records that put the last row of each key into the current rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.column_layout import OP, ORDINAL, POSITION, Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.strategies.difference import IS_RETRACTED, difference, names
from airflow_provider_odf.engine.strategies.keyed_rows import CurrentRows
from airflow_provider_odf.engine.strategies.strategy import Input, Records
from airflow_provider_odf.merge_strategies import RETRACT


def in_arrow(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], pa.Table]:
    current = CurrentRows(inputs, state, layout)
    return [current.upsert(new) for new in inputs], current.table()


def in_spark(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the records that put the last row of each key into the state.

    They are -R if the row retracts a key of the state, otherwise +A, or -C and +C.
    """
    keys = ", ".join(names(layout.keys))
    retract = f"{quoted(OP)} <=> {RETRACT}" if OP in new.columns else "false"
    last = f"row_number() OVER (PARTITION BY {keys} ORDER BY {quoted(POSITION)} DESC) AS {quoted(ORDINAL)}"
    rows = new.selectExpr(*names(layout.columns), f"{retract} AS {quoted(IS_RETRACTED)}", last)
    return difference(rows.where(f"{quoted(ORDINAL)} = 1"), state, layout, "left_outer", "1")

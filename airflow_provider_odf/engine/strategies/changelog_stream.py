"""``ChangelogStream``: rows have their operations, and become records as they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.column_layout import CHANGE, OP, ORDINAL, POSITION, Layout
from airflow_provider_odf.engine.row_numbers import row_numbers
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.strategies.difference import names
from airflow_provider_odf.engine.strategies.strategy import Input, Records
from airflow_provider_odf.merge_strategies import CORRECT_FROM, CORRECT_TO


def in_arrow(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], None]:
    return [_changes(new, layout) for new in inputs], None


def _changes(new: Input, layout: Layout) -> Records:
    """Return the rows with the position of their change.

    The n-th -C of a key and its n-th +C are one change, at the position of the first one.
    """
    counters: dict[tuple[int, int], Iterator[int]] = {}
    corrections: dict[tuple[int, int], int] = {}
    changes = []
    keys, ops = row_numbers(new.table, layout.keys).to_pylist(), new.table[OP].to_pylist()
    for place, (key, op) in enumerate(zip(keys, ops, strict=True)):
        if op in (CORRECT_FROM, CORRECT_TO):
            ordinal = next(counters.setdefault((key, op), itertools.count()))
            changes.append(corrections.setdefault((key, ordinal), place))
        else:
            changes.append(place)
    table = fill_event_time(new.table, layout.schema, new.event_time).select([OP, *layout.columns])
    return Records(table.append_column(CHANGE, pa.array(changes, pa.int64())))


def in_spark(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the rows unchanged, with the position of their change.

    The n-th -C of a key and its n-th +C are one change, at the position of the first one.
    """
    keys = ", ".join(names(layout.keys))
    ordinal = f"row_number() OVER (PARTITION BY {keys}, {quoted(OP)} ORDER BY {quoted(POSITION)}) AS {quoted(ORDINAL)}"
    is_half = f"{quoted(OP)} IN ({CORRECT_FROM}, {CORRECT_TO})"
    first = f"min({quoted(POSITION)}) OVER (PARTITION BY {keys}, {is_half}, {quoted(ORDINAL)})"
    change = f"IF({is_half}, {first}, {quoted(POSITION)}) AS {quoted(CHANGE)}"
    return new.selectExpr("*", ordinal).selectExpr(*names([OP, *layout.columns]), change)

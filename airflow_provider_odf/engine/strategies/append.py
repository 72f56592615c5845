"""``Append``: all rows are new records."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.column_layout import OP, POSITION, Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.strategies.difference import names, operation
from airflow_provider_odf.engine.strategies.strategy import Input, Records
from airflow_provider_odf.merge_strategies import APPEND


def in_arrow(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], None]:
    return [add(new, layout) for new in inputs], None


def add(new: Input, layout: Layout) -> Records:
    """Return all rows as +A."""
    table = fill_event_time(new.table, layout.schema, new.event_time)
    ops = pa.repeat(pa.scalar(APPEND, pa.int32()), table.num_rows)
    return Records(table.select([*layout.columns, POSITION]).append_column(OP, ops))


def in_spark(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return all rows as +A."""
    return new.selectExpr(operation(APPEND), *names(layout.columns), quoted(POSITION))

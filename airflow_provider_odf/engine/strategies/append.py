"""``Append``: all rows are new records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.columnar.state import with_operation
from airflow_provider_odf.engine.slices import fill_event_time
from airflow_provider_odf.engine.strategies.new_rows import PIECE, by_event_time, complete
from airflow_provider_odf.engine.strategies.strategy import Before, Input, Records
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.merge_strategies import APPEND
from airflow_provider_odf.records import sorted_runs


def kernel(inputs: Sequence[Input], before: Before) -> Iterator[Records]:
    """Yield all rows as +A."""
    return (Records(by_event_time(new, before.layout).additions()) for new in inputs)


def from_disk(parts: Iterator[pa.Table], event_time: Instant, layout: Layout, directory: str) -> Iterator[pa.Table]:
    """Yield rows that do not fit in memory as +A; sorted runs of them are in a directory."""
    tables = (fill_event_time(complete(part, layout), layout.schema, event_time) for part in parts)
    for rows in sorted_runs.in_order(tables, layout.event_time, directory, PIECE):
        yield with_operation(rows, APPEND)

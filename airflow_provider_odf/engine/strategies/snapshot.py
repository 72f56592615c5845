"""``Snapshot``: the records that turn the current rows into the new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.strategies.difference import changes
from airflow_provider_odf.engine.strategies.new_rows import check_keys, distinct_by_key
from airflow_provider_odf.engine.strategies.spark_difference import IS_RETRACTED, difference, names
from airflow_provider_odf.engine.strategies.strategy import Before, Input, Records
from airflow_provider_odf.records.schema import COPY


def kernel(inputs: Sequence[Input], before: Before, layout: Layout) -> Iterator[Records]:
    """Yield the records that turn the current rows into the new rows."""
    for new in inputs:
        check_keys(new, layout)
        rows, dropped = distinct_by_key(new, layout)
        yield Records(changes(rows, before.rows(), keeps_missing=False), dropped)


def in_spark(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the records that turn the state into the new rows.

    They are +A for a new key, -R for a missing one, and -C and +C for a changed row. COPY is 1 for one row of each key
    and greater for duplicates, which the result always contains, changed or not. New rows that already have COPY keep
    it: numbering takes a third of the work for many rows.
    """
    keys = ", ".join(names(layout.keys))
    copy = quoted(COPY) if COPY in new.columns else f"row_number() OVER (PARTITION BY {keys} ORDER BY {keys})"
    flagged = new.selectExpr(*names(layout.columns), f"{copy} AS {quoted(COPY)}", f"false AS {quoted(IS_RETRACTED)}")
    return difference(flagged, state, layout, "full_outer", quoted(COPY))

"""``Snapshot``: the records that turn the current rows into the new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_odf.engine.strategies.difference import changes
from airflow_provider_odf.engine.strategies.new_rows import check_keys, distinct_by_key
from airflow_provider_odf.engine.strategies.strategy import Before, Input, Records


def kernel(inputs: Sequence[Input], before: Before) -> Iterator[Records]:
    """Yield the records that turn the current rows into the new rows."""
    layout = before.layout
    for new in inputs:
        check_keys(new, layout)
        rows, dropped = distinct_by_key(new, layout)
        yield Records(changes(rows, before.rows(), keeps_missing=False), dropped)

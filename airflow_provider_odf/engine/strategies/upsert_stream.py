"""``UpsertStream``: the records that put the last row of each key into the current rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.strategies.difference import changes
from airflow_provider_odf.engine.strategies.new_rows import by_key, check_keys
from airflow_provider_odf.engine.strategies.strategy import Before, Input, Records
from airflow_provider_odf.merge_strategies import RETRACT
from airflow_provider_odf.records import keys
from airflow_provider_odf.records.keys import equality_codes_of
from airflow_provider_odf.records.schema import OP


def kernel(inputs: Sequence[Input], before: Before) -> Iterator[Records]:
    """Yield the records that put the last row of each key into the current rows.

    They are -R if the row retracts a key of the current rows, otherwise +A, or -C and +C.
    """
    layout = before.layout
    for new in inputs:
        rows = _with_keys(new, layout)
        check_keys(rows, layout)
        yield Records(changes(by_key(_last(rows.table, layout), layout), before.rows(), keeps_missing=True))


def _with_keys(new: Input, layout: Layout) -> Input:
    """Return the rows without retractions of null keys: no row has such a key."""
    if OP not in new.table.column_names or not any(new.table[name].null_count for name in layout.keys):
        return new
    has_null = reduce(pc.or_, (new.table[name].is_null() for name in layout.keys))
    is_retraction = pc.equal(new.table[OP], RETRACT)
    return replace(new, table=new.table.filter(pc.invert(pc.and_(is_retraction, has_null))))


def _last(table: pa.Table, layout: Layout) -> pa.Table:
    """Return the last row of each key."""
    if keys.are_distinct(table, layout.keys):
        return table
    places = pa.table({"key": equality_codes_of(table, layout.keys), "place": pa.array(range(table.num_rows))})
    return table.take(places.group_by("key", use_threads=False).aggregate([("place", "max")])["place_max"])

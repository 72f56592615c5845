"""``Ledger``: rows with a new key are new records, rows with a known key are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.duplicates import collapse
from airflow_provider_odf.engine.strategies.new_rows import by_event_time, check_keys
from airflow_provider_odf.engine.strategies.strategy import Before, Input, Records
from airflow_provider_odf.records import keys
from airflow_provider_odf.records.keys import equality_codes_of


def kernel(inputs: Sequence[Input], before: Before) -> Iterator[Records]:
    """Yield the rows whose key neither the history nor an earlier input has, as +A."""
    layout = before.layout
    for new, places in zip(inputs, _unknown(inputs, before), strict=True):
        check_keys(new, layout)
        is_whole = len(places) == new.table.num_rows
        rows, dropped = new.table if is_whole else new.table.take(places), 0
        if not keys.are_distinct(rows, layout.keys):
            rows, dropped = collapse(rows, layout, new.label)
        yield Records(by_event_time(replace(new, table=rows), layout).additions(), dropped)


def _unknown(inputs: Sequence[Input], before: Before) -> Iterator[pa.Array]:
    """Yield the places of the new rows of each input."""
    layout = before.layout
    pool = pa.concat_tables([new.table.select(list(layout.keys)) for new in inputs])
    places = before.unknown(pool)
    if len(inputs) == 1:
        yield places
        return
    own = pa.chunked_array([pa.repeat(n, new.table.num_rows) for n, new in enumerate(inputs)]).take(places)
    numbers = equality_codes_of(pool.take(places), layout.keys)
    firsts = pa.table({"key": numbers, "input": own}).group_by("key", use_threads=False).aggregate([("input", "min")])
    first = firsts["input_min"].take(pc.index_in(numbers, value_set=firsts["key"].combine_chunks()))
    is_first = pc.equal(own, first)
    places, own = places.filter(is_first.combine_chunks()), own.filter(is_first)
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(own).to_pylist()}
    begin = done = 0
    for n, new in enumerate(inputs):
        count = counts.get(n, 0)
        yield pc.subtract(places.slice(done, count), begin)
        begin, done = begin + new.table.num_rows, done + count

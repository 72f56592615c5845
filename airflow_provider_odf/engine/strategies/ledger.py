"""``Ledger``: rows with a new key are new records, rows with a known key are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from airflow_provider_odf.engine import duplicates
from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.row_numbers import key_numbers
from airflow_provider_odf.engine.strategies.append import add
from airflow_provider_odf.engine.strategies.append import in_spark as add_in_spark
from airflow_provider_odf.engine.strategies.strategy import Input, Records


def in_arrow(inputs: Sequence[Input], state: pa.Table | None, layout: Layout) -> tuple[list[Records], pa.Table]:
    keys = list(layout.keys)
    tables = [new.table.select(keys) for new in inputs]
    old_keys = state.select(keys) if state is not None else tables[0].slice(0, 0)
    pool = pa.concat_tables([old_keys, *tables])
    ids = key_numbers(pool, keys)
    keys_so_far, begin, records, kept_rows = set(ids[: old_keys.num_rows]), old_keys.num_rows, [], []
    for new in inputs:
        own = ids[begin : begin + new.table.num_rows]
        unseen = [i for i, key in enumerate(own) if key not in keys_so_far]
        fresh = {own[i] for i in unseen}
        unseen_rows, dropped = new.table.take(pa.array(unseen, pa.int64())), 0
        if len(fresh) < len(unseen):
            unseen_rows, dropped = duplicates.collapse_table(unseen_rows, layout, new.label)
        records.append(Records(add(Input(unseen_rows, new.event_time, new.label), layout).table, dropped))
        kept_rows += [begin + i for i in unseen]
        keys_so_far |= fresh
        begin += len(own)
    return records, pa.concat_tables([old_keys, pool.take(pa.array(kept_rows, pa.int64()))])


def in_spark(new: DataFrame, state: DataFrame | None, layout: Layout) -> DataFrame:
    """Return the rows whose key is not in the state, as +A."""
    unseen = new if state is None else new.join(state, list(layout.keys), "left_anti")
    return add_in_spark(unseen, None, layout)

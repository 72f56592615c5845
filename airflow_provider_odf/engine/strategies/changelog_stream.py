"""``ChangelogStream``: rows have their operations, and become records as they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.strategies.new_rows import complete
from airflow_provider_odf.engine.strategies.strategy import Before, Input, Records
from airflow_provider_odf.merge_strategies import CORRECT_FROM, CORRECT_TO
from airflow_provider_odf.records.keys import equality_codes_of
from airflow_provider_odf.records.schema import OP

_CHANGE = "odf:change"
"""Column with the position of a row's change in the input."""


def kernel(inputs: Sequence[Input], before: Before) -> Iterator[Records]:
    """Yield the rows unchanged, in the order of their changes."""
    return (Records(iter([_in_order(new.table, before.layout)])) for new in inputs)


def _in_order(table: pa.Table, layout: Layout) -> pa.Table:
    rows = complete(table, layout)
    changes = rows.append_column(_CHANGE, _changes(rows, layout))
    by_change = [(name, "ascending") for name in (*layout.keys, _CHANGE, OP)]
    return rows.take(pc.sort_indices(changes, sort_keys=by_change))


def _changes(rows: pa.Table, layout: Layout) -> pa.Array:
    """Return for each row the position of its change.

    The n-th -C of a key and its n-th +C are one change, at the position of the first one.
    """
    counters: dict[tuple[int, int], Iterator[int]] = {}
    corrections: dict[tuple[int, int], int] = {}
    changes = []
    keys, ops = equality_codes_of(rows, layout.keys).to_pylist(), rows[OP].to_pylist()
    for place, (key, op) in enumerate(zip(keys, ops, strict=True)):
        if op in (CORRECT_FROM, CORRECT_TO):
            ordinal = next(counters.setdefault((key, op), itertools.count()))
            changes.append(corrections.setdefault((key, ordinal), place))
        else:
            changes.append(place)
    return pa.array(changes, pa.int64())

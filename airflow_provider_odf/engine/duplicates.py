"""Rows of one input with the same key: equal rows count once, different rows are an error."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.records.keys import equality_codes_of

_SHOWN = 5


class DifferentRows(InvalidQuery):
    """Rows with the same key differ.

    ``keys`` has the first of these keys, one more than the message shows. Those of several tasks make one message.
    """

    def __init__(self, label: str, keys: pa.Table) -> None:
        by_key = [(name, "ascending") for name in keys.column_names]
        self.keys = keys.sort_by(by_key).slice(0, _SHOWN + 1)
        named = ["(" + ", ".join(f"{k}={v}" for k, v in row.items()) + ")" for row in self.keys.to_pylist()]
        more = ", ..." if len(named) > _SHOWN else ""
        super().__init__(
            f"{label}: rows with the same primary key differ: {', '.join(named[:_SHOWN])}{more}; "
            "choose a primaryKey that is unique within an input, or select one row for each key in preprocess"
        )


def collapse(rows: pa.Table, layout: Layout, label: str) -> tuple[pa.Table, int]:
    """Return the first of each group of equal rows, and the number of dropped rows.

    :raises DifferentRows: rows with the same key differ.
    """
    columns = [name for name in layout.columns if name in rows.column_names]
    distinct = rows.take(_groups(equality_codes_of(rows, columns))["place_min"].sort())
    several = _groups(equality_codes_of(distinct, layout.keys)).filter(pc.field("place_count") > 1)
    if several.num_rows:
        raise DifferentRows(label, distinct.select(list(layout.keys)).take(several["place_min"]))
    return distinct, rows.num_rows - distinct.num_rows


def _groups(numbers: pa.Array) -> pa.Table:
    """Return the first place of each number, and how often it is there."""
    places = pa.table({"number": numbers, "place": pa.array(range(len(numbers)), pa.int64())})
    return places.group_by("number").aggregate([("place", "min"), ("place", "count")])

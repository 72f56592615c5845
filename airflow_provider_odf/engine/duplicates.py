"""Rows of one input with the same key: equal rows count once, different rows are an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.column_layout import POSITION, Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import Changes, NewSlice
from airflow_provider_odf.records import files
from airflow_provider_odf.records.row_numbers import row_numbers

SHOWN = 5


def are_in(spark: SparkSession, new_slice: NewSlice, layout: Layout) -> bool:
    """Whether two new rows of a slice (+A or +C) have the same key."""
    op, keys = layout.schema.names[1], list(layout.keys)
    if new_slice.size <= files.SMALL:
        table = files.read_parquet(new_slice.path, keys, pc.field(op).isin(PRESENT))
        return bool(pc.count_distinct(row_numbers(table, keys)).as_py() < table.num_rows)
    return are_among(spark.read.parquet(new_slice.path).where(f"{quoted(op)} IN {PRESENT}"), layout)


def are_among(rows: DataFrame, layout: Layout) -> bool:
    """Whether two rows have the same key."""
    return not rows.groupBy(*map(quoted, layout.keys)).count().where("count > 1").isEmpty()


def have_merged(new: DataFrame, count: int, new_slice: NewSlice | None, history: History) -> bool:
    """Whether two of ``count`` new rows, which replaced the current rows of ``history``, have the same key.

    The slice alone does not show that two rows matched the same current row. The numbers of rows do.
    """
    changes = new_slice.changes if new_slice else Changes()
    if count - changes.added == history.rows - changes.removed:
        return new_slice is not None and are_in(new.sparkSession, new_slice, history.layout)
    # A history of another writer may have inconsistent numbers of rows.
    return are_among(new, history.layout)


def collapse(rows: DataFrame, layout: Layout, label: str) -> tuple[DataFrame, int]:
    """Return the first of each group of equal rows, and the number of dropped rows.

    :raises InvalidQuery: rows with the same key differ. The message names some of the keys.
    """
    columns = ", ".join(quoted(c) for c in layout.columns)
    copy = f"row_number() OVER (PARTITION BY {columns} ORDER BY {quoted(POSITION)})"
    distinct = rows.selectExpr("*", f"{copy} AS `odf:same`").where("`odf:same` = 1").drop("odf:same")
    several = distinct.groupBy(*map(quoted, layout.keys)).count().where("count > 1")
    if shared_keys := several.orderBy(*map(quoted, layout.keys)).limit(SHOWN + 1).collect():
        raise different_rows([row.asDict() for row in shared_keys], layout.keys, label)
    return distinct, rows.count() - distinct.count()


def collapse_table(rows: pa.Table, layout: Layout, label: str) -> tuple[pa.Table, int]:
    """Return the first of each group of equal rows, and the number of dropped rows.

    :raises InvalidQuery: rows with the same key differ. The message names some of the keys.
    """
    columns = [name for name in layout.columns if name in rows.column_names]
    distinct = rows.take(_groups(row_numbers(rows, columns))["place_min"].sort())
    several = _groups(row_numbers(distinct, layout.keys)).filter(pc.field("place_count") > 1)
    if several.num_rows:
        shared = distinct.select(list(layout.keys)).take(several["place_min"])
        in_order = shared.sort_by([(key, "ascending") for key in layout.keys])
        raise different_rows(in_order.slice(0, SHOWN + 1).to_pylist(), layout.keys, label)
    return distinct, rows.num_rows - distinct.num_rows


def _groups(numbers: pa.Array) -> pa.Table:
    """Return the first place of each number, and how often it is there."""
    places = pa.table({"number": numbers, "place": pa.array(range(len(numbers)), pa.int64())})
    return places.group_by("number").aggregate([("place", "min"), ("place", "count")])


def different_rows(shared_keys: Sequence[Mapping[str, Any]], keys: Sequence[str], label: str) -> InvalidQuery:
    """Return the error for keys with different rows. It names the first ``SHOWN`` keys."""
    named = ["(" + ", ".join(f"{k}={row[k]}" for k in keys) + ")" for row in shared_keys]
    more = ", ..." if len(named) > SHOWN else ""
    return InvalidQuery(
        f"{label}: rows with the same primary key differ: {', '.join(named[:SHOWN])}{more}; "
        "choose a primaryKey that is unique within an input, or select one row for each key in preprocess"
    )

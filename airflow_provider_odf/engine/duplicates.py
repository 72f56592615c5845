"""Rows of one input that share a key: the same rows count once, different ones are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.layout import POSITION, Layout
from airflow_provider_odf.engine.numbered import numbered
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.state import Past, operations
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import APPEND, CORRECT_TO, NewSlice

SHOWN = 5


def are_in(spark: SparkSession, written: NewSlice, layout: Layout) -> bool:
    """Whether two of a slice's new rows, +A or +C, have one key."""
    op, keys = layout.schema.names[1], list(layout.keys)
    if written.size <= states.SMALL:
        table = pq.read_table(written.path, columns=keys, filters=pc.field(op).isin([APPEND, CORRECT_TO]))
        return bool(pc.count_distinct(numbered(table, keys)).as_py() < table.num_rows)
    return are_among(spark.read.parquet(written.path).where(f"{quoted(op)} IN ({APPEND}, {CORRECT_TO})"), layout)


def are_among(rows: DataFrame, layout: Layout) -> bool:
    """Whether two rows have one key."""
    return not rows.groupBy(*map(quoted, layout.keys)).count().where("count > 1").isEmpty()


def have_merged(new: DataFrame, count: int, written: NewSlice | None, past: Past) -> bool:
    """Whether two of ``count`` new rows of a Snapshot, now written onto ``past``, have one key.

    The numbers tell whether a row of the state was matched twice, which the slice alone does not show.
    """
    added, retracted = operations(written.path, past.vocab) if written else (0, 0)
    if count - added == past.rows - retracted:
        return written is not None and are_in(new.sparkSession, written, past.layout)
    # Another writer's history may not add up either.
    return are_among(new, past.layout)


def collapse(rows: DataFrame, layout: Layout, label: str) -> tuple[DataFrame, int]:
    """The first of each group of equal rows, and how many others there were.

    :raises InvalidQuery: rows of one key differ; the message names some of those keys.
    """
    columns = ", ".join(quoted(c) for c in layout.columns)
    copy = f"row_number() OVER (PARTITION BY {columns} ORDER BY {quoted(POSITION)})"
    distinct = rows.selectExpr("*", f"{copy} AS `odf:same`").where("`odf:same` = 1").drop("odf:same")
    several = distinct.groupBy(*map(quoted, layout.keys)).count().where("count > 1")
    if found := several.orderBy(*map(quoted, layout.keys)).limit(SHOWN + 1).collect():
        raise refused([row.asDict() for row in found], layout.keys, label)
    return distinct, rows.count() - distinct.count()


def refused(found: Sequence[Mapping[str, Any]], keys: Sequence[str], label: str) -> InvalidQuery:
    """The error for keys of several different rows, of which the first ``SHOWN`` are named."""
    named = ["(" + ", ".join(f"{k}={row[k]}" for k in keys) + ")" for row in found]
    more = ", ..." if len(named) > SHOWN else ""
    return InvalidQuery(
        f"{label}: different rows have one primary key: {', '.join(named[:SHOWN])}{more}; "
        "choose a primaryKey that is unique within an input, or decide between the rows in preprocess"
    )

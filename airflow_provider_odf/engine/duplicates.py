"""Rows of one input that share a key: the same rows count once, different ones are refused."""

from __future__ import annotations

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.layout import POSITION, Layout
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InvalidQuery

_SHOWN = 5


def are_in(spark: SparkSession, path: str, keys: tuple[str, ...], *, small: bool) -> bool:
    """Whether two records of a slice have one key."""
    if small:
        table = pq.read_table(path, columns=list(keys))
        return bool(table.group_by(list(keys)).aggregate([]).num_rows < table.num_rows)
    counts = spark.read.parquet(path).groupBy(*map(quoted, keys)).count()
    return not counts.where("count > 1").isEmpty()


def collapse(rows: DataFrame, layout: Layout, label: str) -> tuple[DataFrame, int]:
    """The first of each group of equal rows, and how many others there were.

    :raises InvalidQuery: rows of one key differ; the message names some of those keys.
    """
    columns = ", ".join(quoted(c) for c in layout.columns)
    copy = f"row_number() OVER (PARTITION BY {columns} ORDER BY {quoted(POSITION)})"
    distinct = rows.selectExpr("*", f"{copy} AS `odf:same`").where("`odf:same` = 1").drop("odf:same")
    several = distinct.groupBy(*map(quoted, layout.keys)).count().where("count > 1")
    if found := several.orderBy(*map(quoted, layout.keys)).limit(_SHOWN + 1).collect():
        named = ["(" + ", ".join(f"{k}={row[k]}" for k in layout.keys) + ")" for row in found]
        more = ", ..." if len(named) > _SHOWN else ""
        raise InvalidQuery(
            f"{label}: different rows have one primary key: {', '.join(named[:_SHOWN])}{more}; "
            "choose a primaryKey that is unique within an input, or decide between the rows in preprocess"
        )
    return distinct, rows.count() - distinct.count()

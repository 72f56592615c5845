"""The difference between the present rows of a derivative and the result of its query, as records of a changelog."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform.inputs import COUNT
from airflow_provider_odf.engine.transform.layout import Result
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT
from airflow_provider_odf.records.schema import OP

ORDER = ("odf:order", "odf:pair", "odf:side")
"""Columns that sort the records of a slice: event time, then all columns; a correction has its new row's place."""


def additions(rows: DataFrame, result: Result) -> DataFrame:
    """Return all rows as added ones."""
    order = f"struct({', '.join(result.spark_columns)}) AS `odf:order`"
    operation = f"CAST({APPEND} AS INT) AS {quoted(OP)}"
    return rows.selectExpr(operation, *result.spark_columns, order, "1 AS `odf:pair`", "0 AS `odf:side`")


def difference(present: DataFrame, rows: DataFrame, result: Result, identity: Collection[str] | None) -> DataFrame:
    """Return the records that turn the present rows into the rows of the result. Both have the columns of the result.

    ``present`` also has COUNT, how often the row is there; the counts of equal rows are added. ``identity`` are columns
    that tell which row became which: vanished and new rows that are equal in them are corrections. There are none if it
    is None; if it is empty, the result has one row.
    """
    columns = result.spark_columns
    net = (
        present.selectExpr(*columns, f"-{quoted(COUNT)} AS {quoted(COUNT)}")
        .unionAll(once(rows, result))
        .groupBy(*columns)
        .agg({COUNT: "sum"})
        .toDF(*result.columns, "odf:net")
        .where("`odf:net` <> 0")
    )
    copies = "explode(sequence(1L, abs(`odf:net`))) AS `odf:copy`"
    changed = net.selectExpr(*columns, "`odf:net` > 0 AS `odf:is_new`", copies).drop("odf:copy")
    row = f"struct({', '.join(columns)})"
    if identity is None or set(identity) >= set(result.columns):
        return changed.selectExpr(
            f"IF(`odf:is_new`, {APPEND}, {RETRACT}) AS {quoted(OP)}",
            *columns,
            f"{row} AS `odf:order`",
            "1 AS `odf:pair`",
            "0 AS `odf:side`",
        )
    same = ", ".join([*map(quoted, identity), ""])
    numbered = changed.selectExpr(
        "*", f"row_number() OVER (PARTITION BY {same}`odf:is_new` ORDER BY {row}) AS `odf:pair`"
    )
    paired = numbered.selectExpr(
        "*",
        f"max(IF(`odf:is_new`, {row}, NULL)) OVER (PARTITION BY {same}`odf:pair`) AS `odf:new`",
        f"count(1) OVER (PARTITION BY {same}`odf:pair`) AS `odf:sides`",
    )
    corrects = "`odf:sides` = 2"
    return paired.selectExpr(
        f"CASE WHEN {corrects} THEN IF(`odf:is_new`, {CORRECT_TO}, {CORRECT_FROM}) "
        f"ELSE IF(`odf:is_new`, {APPEND}, {RETRACT}) END AS {quoted(OP)}",
        *columns,
        f"IF({corrects}, `odf:new`, {row}) AS `odf:order`",
        "`odf:pair`",
        "IF(`odf:is_new`, 1, 0) AS `odf:side`",
    )


def once(rows: DataFrame, result: Result) -> DataFrame:
    """Return rows with COUNT, of which each is there once."""
    return rows.selectExpr(*result.spark_columns, f"1L AS {quoted(COUNT)}")


def of_rows(rows: DataFrame, result: Result) -> DataFrame:
    """Return the records that turn the row ``odf:old`` into the row ``odf:new``, or add that where there is no old one.

    Groups identify the rows; those of a query that shows nothing else do not change.
    """

    def step(operation: int, row: str, side: int) -> str:
        return f"named_struct('op', {operation}, 'row', {row}, 'side', {side})"

    steps = (
        f"IF(`odf:old` IS NULL, array({step(APPEND, '`odf:new`', 1)}), "
        f"array({step(CORRECT_FROM, '`odf:old`', 0)}, {step(CORRECT_TO, '`odf:new`', 1)}))"
    )
    changed = rows.where("NOT (`odf:old` <=> `odf:new`)").selectExpr("`odf:new`", f"explode({steps}) AS `odf:step`")
    return changed.selectExpr(
        f"`odf:step`.op AS {quoted(OP)}",
        *(f"`odf:step`.row.{column} AS {column}" for column in result.spark_columns),
        "`odf:new` AS `odf:order`",
        "1 AS `odf:pair`",
        "`odf:step`.side AS `odf:side`",
    )

"""The difference between the present rows of a derivative and the result of its query, as records of a changelog.

A query that looks deterministic may still give another result for the same row in a later run: with another release of
Spark, or by a function that the engine takes for deterministic. Its derivative would then take back rows that it never
had. Records that come from a comparison with the present rows take back only these. All others are checked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine import parquet_frame
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform.inputs import COUNT, STEPS, History, matching
from airflow_provider_odf.engine.transform.result import Result
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT
from airflow_provider_odf.protocol import HistorySlice
from airflow_provider_odf.records import files
from airflow_provider_odf.records.schema import OP

if TYPE_CHECKING:
    from pyspark.sql import Row


def additions(rows: DataFrame, result: Result) -> DataFrame:
    """Return all rows as added ones, which their own columns sort."""
    return rows.selectExpr(f"CAST({APPEND} AS INT) AS {quoted(OP)}", *result.spark_columns)


def difference(present: DataFrame, rows: DataFrame, result: Result, identity: Collection[str] | None) -> DataFrame:
    """Return the records that turn the present rows into the rows of the result. Both have the columns of the result.

    The columns sort the records: event time, then all others. If there are corrections, further columns do, by which a
    correction has the place of its new row.

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
    if identity is None or set(identity) >= set(result.columns):
        operation = f"IF(`odf:is_new`, {APPEND}, {RETRACT}) AS {quoted(OP)}"
        return changed.selectExpr(operation, *columns)
    row = f"struct({', '.join(columns)})"
    same = ", ".join([*map(quoted, identity), ""])
    numbered = changed.selectExpr(
        "*", f"row_number() OVER (PARTITION BY {same}`odf:is_new` ORDER BY {', '.join(columns)}) AS `odf:pair`"
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
        *(f"IF({corrects}, `odf:new`.{column}, {column}) AS {_place(n)}" for n, column in enumerate(columns)),
        "`odf:pair`",
        "IF(`odf:is_new`, 1, 0) AS `odf:side`",
    )


def _place(number: int) -> str:
    """Return the column that sorts records by a column of the result. Spark compares plain columns much faster than a
    struct of them, in the same order."""
    return quoted(f"odf:place {number}")


def once(rows: DataFrame, result: Result) -> DataFrame:
    """Return rows with COUNT, of which each is there once."""
    return rows.selectExpr(*result.spark_columns, f"1L AS {quoted(COUNT)}")


def of_rows(rows: DataFrame, result: Result) -> DataFrame:
    """Return the records that turn the row ``odf:old`` into the row ``odf:new``, or add that where there is no old one.

    Groups identify the rows; those of a query that shows nothing else do not change.
    """
    changed = rows.where("NOT (`odf:old` <=> `odf:new`)").selectExpr("`odf:new`", f"explode({STEPS}) AS `odf:step`")
    return changed.selectExpr(
        f"`odf:step`.op AS {quoted(OP)}",
        *(f"`odf:step`.row.{column} AS {column}" for column in result.spark_columns),
        *(f"`odf:new`.{column} AS {_place(n)}" for n, column in enumerate(result.spark_columns)),
        "`odf:step`.side AS `odf:side`",
    )


def missing_row(own: History, new: HistorySlice) -> Row | None:
    """Return a row, as texts, that a new slice takes back although the derivative does not have it, else None.

    ``own`` is the history before the slice. Only the rows of it are read that `_records_like` returns, and none if the
    slice takes none back.
    """
    if own.are_additions([new]):
        return None
    first = new.offset_interval.start
    offset, op, *_ = (quoted(name) for name in own.vocab.columns)
    columns = [*map(quoted, own.columns)]
    pairs = [(column, f"odf:taken{n}") for n, column in enumerate(columns)]
    taken = own.records([new]).where(f"{op} NOT IN {PRESENT}").select(*columns).toDF(*(name for _, name in pairs))
    there = (
        f"sum(IF({op} IN {PRESENT}, 1, -1)) OVER "
        f"(PARTITION BY {', '.join(columns)} ORDER BY {offset} ROWS UNBOUNDED PRECEDING)"
    )
    counted = matching(_records_like(own, new), taken, pairs).selectExpr("*", f"{there} AS `odf:there`")
    missing = counted.where(f"`odf:there` < 0 AND {offset} >= {first}")
    return missing.selectExpr(*(f"CAST({column} AS STRING) AS {column}" for column in columns)).first()


def _records_like(own: History, new: HistorySlice) -> DataFrame:
    """Return the records of a history and of a new slice, without most of those that differ from all rows that the
    slice takes back: in the column that tells most of these apart, or in the range of their event times."""
    time, *others = own.columns
    is_taken_back = ~pc.field(own.vocab.operation_type_column).isin(PRESENT)
    times = files.read_parquet(new.path, [time], is_taken_back)[0]
    if len(times) <= parquet_frame.MAX_VALUES:
        exact = [name for name in others if parquet_frame.are_exact(own.arrow.field(name).type)]
        rows = files.read_parquet(new.path, exact, is_taken_back)
        distinct = {time: times.unique(), **{name: rows[name].unique() for name in exact}}
        name, values = max(distinct.items(), key=lambda item: len(item[1]))
        if (found := own.found(name, values)) is not None:
            return found.unionAll(own.records([new]))
    bounds = pc.min_max(times)
    every = replace(own, slices=(*own.slices, new))
    return every.records().where(
        F.expr(quoted(time)).between(F.lit(bounds["min"].as_py()), F.lit(bounds["max"].as_py()))
    )

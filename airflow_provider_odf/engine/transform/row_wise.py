"""Row-wise queries: each result row comes from one input row, so only new records are read.

Each result row gets the operation of the record that it comes from. For that, a hidden column of the inputs is carried
through Spark's analyzed plan to the result; the query itself need not select it.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform.plan_tree import MARK
from airflow_provider_odf.engine.transform.result import Result
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT
from airflow_provider_odf.records.schema import OP

RECORD = "odf:record"
"""Hidden column: number of the input, offset and operation of the record that a row comes from."""


def with_records(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Return the rows of a row-wise query with the column RECORD."""
    plan = spark_internals.plan_without_aliases(frame)
    carried, record = _carry(plan)
    return spark_internals.frame_of(spark, _project(plan, carried, record)).withColumnRenamed(record.name(), RECORD)


def _carry(plan: Any) -> tuple[Any, Any]:
    """Return a plan that also has the hidden column, and that column."""
    for column in spark_internals.items(plan.output()):
        if column.name().startswith(MARK):
            return plan, column
    below = spark_internals.items(plan.children())
    carried = [*map(_carry, below)]
    if plan.nodeName() == "Project":
        child, record = carried[0]
        return spark_internals.project(plan.projectList().appended(record), child), record
    if plan.nodeName() == "Union":
        branches = [_project(old, child, record) for old, (child, record) in zip(below, carried, strict=True)]
        union = spark_internals.with_children(plan, branches)
        return union, union.output().last()
    child, record = carried[0]
    return spark_internals.with_children(plan, [child]), record


def _project(plan: Any, carried: Any, record: Any) -> Any:
    """Return the columns of a plan, then the hidden column, of the plan that carries it."""
    return spark_internals.project(plan.output().appended(record), carried)


def raw_changes(frame: DataFrame, result: Result) -> DataFrame:
    """Return the records of a query over the raw records of its inputs, and columns that sort them. They have the
    operations that the query selects, or are added rows."""
    operation = result.operation or f"CAST({APPEND} AS INT)"
    position = "monotonically_increasing_id() AS `odf:pair`"
    place = [f"{quoted(RECORD)}.input AS `odf:input`", f"{quoted(RECORD)}.offset AS `odf:offset`"]
    return result.select(frame, f"{operation} AS {quoted(OP)}", *place, position)


def changes(frame: DataFrame, result: Result, *, has_corrections: bool) -> DataFrame:
    """Return the records of a row-wise query, each row with the operation of its record, and columns that sort them.

    A correction whose two sides give different numbers of rows becomes retractions or added rows, since a slice has
    corrections in pairs. A correction that the query does not show is dropped.
    """
    record = quoted(RECORD)
    rows = result.select(
        frame,
        f"{record}.op AS {quoted(OP)}",
        f"{record}.input AS `odf:input`",
        f"{record}.offset AS `odf:offset`",
        "monotonically_increasing_id() AS `odf:position`",
    )
    if not has_corrections:
        columns = [quoted(OP), *result.spark_columns, "`odf:input`", "`odf:offset`"]
        return rows.selectExpr(*columns, "`odf:position` AS `odf:pair`")
    return _paired(rows, result)


def _paired(rows: DataFrame, result: Result) -> DataFrame:
    op, row = quoted(OP), f"struct({', '.join(result.spark_columns)})"
    is_correction = f"{op} IN ({CORRECT_FROM}, {CORRECT_TO})"
    # A correction is two records with neighbouring offsets; its pairs are numbered within it.
    change = "PARTITION BY `odf:input`, `odf:change`, `odf:corrects`"
    numbered = rows.selectExpr(
        "*",
        f"IF({op} = {CORRECT_TO}, `odf:offset` - 1, `odf:offset`) AS `odf:change`",
        f"{is_correction} AS `odf:corrects`",
    ).selectExpr("*", f"row_number() OVER ({change}, {op} ORDER BY `odf:position`) AS `odf:pair`")
    sides = numbered.selectExpr(
        "*",
        f"count(1) OVER ({change}, `odf:pair`) AS `odf:sides`",
        f"min({row}) OVER ({change}, `odf:pair`) AS `odf:least`",
        f"max({row}) OVER ({change}, `odf:pair`) AS `odf:most`",
    )
    seen = sides.where("NOT (`odf:corrects` AND `odf:sides` = 2 AND `odf:least` <=> `odf:most`)")
    return seen.selectExpr(
        f"CASE WHEN NOT `odf:corrects` OR `odf:sides` = 2 THEN {op} "
        f"WHEN {op} = {CORRECT_FROM} THEN {RETRACT} ELSE {APPEND} END AS {op}",
        *result.spark_columns,
        "`odf:input`",
        "`odf:change` AS `odf:offset`",
        "`odf:pair`",
        f"IF({op} = {CORRECT_TO}, 1, 0) AS `odf:side`",
    )

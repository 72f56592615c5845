"""Keep the clock out of texts that a query converts to times.

Spark takes a text with a time of day alone, such as ``10:30``, for that time on the day of the run. In a derivative
such a text is not valid: the conversion gives an error, or null if the query asks for it.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.transform.plan_tree import Node, subplans

_PARSER = "ParseToTimestamp"
_START = r"^(?=[\x00-\x20\x7f]*(T\d|\d{1,2}:))"
"""Matches the start of a text that Spark would take for a time of day."""

_INVALID = "time of day without a date: "


def can_be_read(root: Node) -> bool:
    """Whether a query may convert texts to times."""
    return any(
        class_name(part) == _PARSER or (class_name(part) == "Cast" and part["dataType"] == "timestamp")
        for node in root.nodes()
        for part in subplans(node.fields)
    )


def refused(frame: DataFrame) -> DataFrame:
    """Return the rows of a query in which times of day are not valid."""
    return spark_internals.frame_of(frame.sparkSession, _plan(spark_internals.analyzed_plan(frame)))


def _plan(plan: Any) -> Any:
    below = [_plan(child) for child in spark_internals.items(plan.children())]
    return spark_internals.with_expressions(spark_internals.with_children(plan, below), _expression)


def _expression(expression: Any) -> Any:
    below = [_expression(child) for child in spark_internals.items(expression.children())]
    if _converts(expression):
        below = [spark_internals.replaced(below[0], _START, _INVALID)]
    changed = spark_internals.with_children(expression, below) if below else expression
    return changed.withNewPlan(_plan(changed.plan())) if spark_internals.is_subquery(changed) else changed


def _converts(expression: Any) -> bool:
    """Whether an expression converts a text to a timestamp, without a format."""
    if spark_internals.kind(expression) not in ("Cast", _PARSER) or expression.children().size() != 1:
        return False
    types = (expression.children().apply(0).dataType(), expression.dataType())
    return [t.typeName().partition(" ")[0] for t in types] == ["string", "timestamp"]

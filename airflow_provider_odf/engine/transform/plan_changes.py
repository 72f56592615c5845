"""Changes of Spark's plans that keep a result a function of the rows of its inputs.

Spark takes a text with a time of day alone, such as ``10:30``, for that time on the day of the run. In a derivative
such a text is not valid: the conversion gives an error, or null if the query asks for it.

A sum of floating-point numbers depends on the order of its additions in its last digits, and Spark's order follows from
how the rows came to the tasks. So the rows below an aggregate or a window with sums are brought together by its groups,
and sorted by the groups and the arguments of the sums. Rows that are equal in these are the same to the sums. As the
rows of a group come one after another to one task, each sum is made in one go. Functions that compare (min,
sort_array(collect_list(…))) need no order, once -0.0 is 0.0 as in GROUP BY. The optimized plan is changed, where
correlated subqueries are joins and each aggregate has its final groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.spark_internals import items, kind, with_children
from airflow_provider_odf.engine.transform.plan_tree import Node, parts, subplans
from airflow_provider_odf.errors import InvalidQuery

_PARSER = "ParseToTimestamp"
_TIME_OF_DAY = r"^(?=[\x00-\x20\x7f]*(T\d|\d{1,2}:))"
"""Matches the start of a text that Spark would take for a time of day."""

SETTINGS = {
    # Beyond 128 groups it would merge partial sums. Its replacement needs the rows sorted by groups, as they are.
    "spark.sql.execution.useObjectHashAggregateExec": "false",
    # The first would merge subqueries into a form that has no place in a query, the second drop sorts.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.MergeSubplans,"
    "org.apache.spark.sql.catalyst.optimizer.EliminateSorts",
}
"""Settings for the rows of `in_order`."""

_EXACT = (
    "Count", "CountIf", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg", "HyperLogLogPlusPlus", "First",
    "Last", "AnyValue", "MaxBy", "MinBy", "PivotFirst",
)  # fmt: skip
"""Aggregate functions whose value is the same for every order of the rows."""
_COMPARING = ("Min", "Max", "CollectList", "CollectSet", "ListAgg", "Mode", "Percentile", "PercentileDisc")
"""Aggregate functions for which only the order of -0.0 and 0.0 counts."""

_FLOAT = re.compile(r"\b(float|double)\b")
_LIST_BESIDE_SUMS = (
    "listagg(DISTINCT …) cannot be beside a sum or an average of floating-point numbers: write "
    "array_join(sort_array(collect_set(…)), ',')"
)


def can_have_times(root: Node) -> bool:
    """Whether a query may convert texts to times."""
    return any(
        class_name(part) == _PARSER or (class_name(part) == "Cast" and part["dataType"] == "timestamp")
        for node in root.nodes()
        for part in subplans(node.fields)
    )


def without_times_of_day(frame: DataFrame) -> DataFrame:
    """Return the rows of a query in which times of day are not valid."""

    def of_plan(plan: Any) -> Any:
        changed = with_children(plan, [of_plan(child) for child in items(plan.children())])
        return spark_internals.with_expressions(changed, lambda expression: _changed(expression, arguments, of_plan))

    def arguments(expression: Any, below: list[Any]) -> list[Any]:
        invalid = "time of day without a date: "
        return [spark_internals.replaced(below[0], _TIME_OF_DAY, invalid)] if _converts(expression) else below

    return spark_internals.frame_of(frame.sparkSession, of_plan(spark_internals.analyzed_plan(frame)))


def _converts(expression: Any) -> bool:
    """Whether an expression converts a text to a timestamp, without a format."""
    if kind(expression) not in ("Cast", _PARSER) or expression.children().size() != 1:
        return False
    types = (expression.children().apply(0).dataType(), expression.dataType())
    return [t.typeName().partition(" ")[0] for t in types] == ["string", "timestamp"]


def _changed(expression: Any, arguments: Callable[[Any, list[Any]], list[Any]], of_plan: Callable[[Any], Any]) -> Any:
    """Return an expression with other arguments, and with the plans of its subqueries changed."""
    below = arguments(expression, [_changed(child, arguments, of_plan) for child in items(expression.children())])
    changed = with_children(expression, below) if below else expression
    return changed.withNewPlan(of_plan(changed.plan())) if spark_internals.is_subquery(changed) else changed


def can_have_sums(root: Node) -> bool:
    """Whether a query has functions to which `in_order` may have to give an order."""
    return any(
        class_name(part) == "AggregateExpression" and class_name(part["below"][0]) not in _EXACT
        for node in root.all_nodes()
        if node.kind in ("Aggregate", "Window")
        for name in ("aggregateExpressions", "windowExpressions")
        for item in node.expressions(name)
        for part in parts(item)
    )


def in_order(spark: SparkSession, frame: DataFrame, *, hides_overflow: bool) -> DataFrame:
    """Return the rows of a query with sums in a defined order. The session needs SETTINGS.

    :param hides_overflow: whether there may be sums of whole numbers that are null if they overflow on their way.
    :raises InvalidQuery: an aggregate has sums and a function that Spark cannot compute beside them.
    """
    return spark_internals.frame_of(spark, _Ordering(hides_overflow).plan(spark_internals.optimized_plan(frame)))


@dataclass(frozen=True)
class _Ordering:
    """Changes of plans and expressions of the JVM."""

    hides_overflow: bool

    def plan(self, plan: Any) -> Any:
        """Return a plan in which all sums have an order."""
        if plan.nodeName() == "Aggregate" and any(map(self._adds, _calls_of(plan))):
            # Spark's rule for DISTINCT fails with a list of distinct values in an order.
            if any(c.isDistinct() and kind(c.aggregateFunction()) == "ListAgg" for c in _calls_of(plan)):
                raise InvalidQuery(_LIST_BESIDE_SUMS)
            plan = spark_internals.without_distinct(plan)
        children = items(plan.children())
        below = [self.plan(child) for child in children]
        if any(new is not old for new, old in zip(below, children, strict=True)):
            plan = with_children(plan, below)
        calls = [*_calls_of(plan)]
        # Each step to an expression is a call to the JVM, so only nodes with something to change are walked.
        if spark_internals.has_subqueries(plan) or any(map(_compares_floats, calls)):
            plan = spark_internals.with_expressions(plan, lambda e: _changed(e, _with_one_zero, self.plan))
            calls = [*_calls_of(plan)]
        values = [argument for call in calls if self._adds(call) for argument in _arguments(call)]
        return _ordered(plan, values) if any(map(self._adds, calls)) else plan

    def _adds(self, call: Any) -> bool:
        """Whether the value of an aggregate function depends on the order of the rows."""
        name = kind(call.aggregateFunction())
        if name in _EXACT or name in _COMPARING:
            return False
        types = [*_types(call)]
        if name == "Average" and any(t in ("int", "bigint") for t in types):
            return True
        return any(map(_FLOAT.search, types)) or (self.hides_overflow and name in ("Sum", "Average"))


def _with_one_zero(expression: Any, below: list[Any]) -> list[Any]:
    """Return the arguments of an expression, with -0.0 as 0.0 where it compares them."""
    return [*map(spark_internals.without_negative_zero, below)] if kind(expression) in _COMPARING else below


def _ordered(node: Any, values: list[Any]) -> Any:
    """Return an aggregate or a window over rows that are sorted by its groups, then by values."""
    is_window = node.nodeName() != "Aggregate"
    groups = items(node.partitionSpec() if is_window else node.groupingExpressions())
    columns = [spark_internals.column(value) for value in values]
    order = [*map(spark_internals.ascending, groups), *(items(node.orderSpec()) if is_window else ())]
    order += [spark_internals.ascending(column.toAttribute()) for column in columns]
    below = spark_internals.with_columns(columns, node.child())
    changed = with_children(node, [spark_internals.sorted_groups(groups, order, below)])
    return spark_internals.project(node.output(), changed) if is_window else changed


def _calls_of(node: Any) -> Iterator[Any]:
    """Yield the calls of aggregate functions of an aggregate or a window; other nodes have none."""
    name = node.nodeName()
    if name in ("Aggregate", "Window"):
        yield from _calls(items(node.aggregateExpressions() if name == "Aggregate" else node.windowExpressions()))


def _calls(expressions: list[Any]) -> Iterator[Any]:
    for expression in expressions:
        if kind(expression) == "AggregateExpression":
            yield expression
        else:
            yield from _calls(items(expression.children()))


def _compares_floats(call: Any) -> bool:
    """Whether the value of an aggregate function depends on the order of -0.0 and 0.0."""
    return kind(call.aggregateFunction()) in _COMPARING and any(map(_FLOAT.search, _types(call)))


def _arguments(call: Any) -> list[Any]:
    return [a for a in items(call.aggregateFunction().children()) if not a.foldable()]


def _types(call: Any) -> Iterator[str]:
    """Yield the types of the arguments of an aggregate function."""
    return (argument.dataType().catalogString() for argument in _arguments(call))

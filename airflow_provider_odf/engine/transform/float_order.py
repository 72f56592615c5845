"""Add up floating-point numbers in a defined order, whatever the number of cores and partitions.

Such a sum depends on the order of its additions in its last digits, and Spark's order follows from how the rows came to
the tasks. So the rows below an aggregate or a window with sums are brought together by its groups, and sorted by the
groups and the arguments of the sums. Rows that are equal in these are the same to the sums. As the rows of a group come
one after another to one task, each sum is made in one go.

Functions that compare (min, sort_array(collect_list(…))) need no order, once -0.0 is 0.0 as in GROUP BY.

The optimized plan is changed, where correlated subqueries are joins and each aggregate has its final groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.transform.plan_tree import Node, parts
from airflow_provider_odf.errors import InvalidQuery

SETTINGS = {
    # Beyond 128 groups it would merge partial sums. Its replacement needs the rows sorted by groups, as they are.
    "spark.sql.execution.useObjectHashAggregateExec": "false",
    # The first would merge subqueries into a form that has no place in a query, the second drop sorts.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.MergeSubplans,"
    "org.apache.spark.sql.catalyst.optimizer.EliminateSorts",
}
"""Settings for the rows of `in_order`."""

_EXACT = frozenset(
    [
        "Count",
        "CountIf",
        "BoolAnd",
        "BoolOr",
        "BitAndAgg",
        "BitOrAgg",
        "BitXorAgg",
        "HyperLogLogPlusPlus",
        "First",
        "Last",
        "AnyValue",
        "MaxBy",
        "MinBy",
        "PivotFirst",
    ]
)
"""Aggregate functions whose value is the same for every order of the rows."""

_COMPARING = frozenset(["Min", "Max", "CollectList", "CollectSet", "ListAgg", "Mode", "Percentile", "PercentileDisc"])
"""Aggregate functions for which only the order of -0.0 and 0.0 counts."""

_FLOAT = re.compile(r"\b(float|double)\b")
_LIST_BESIDE_SUMS = (
    "listagg(DISTINCT …) cannot be beside a sum or an average of floating-point numbers: write "
    "array_join(sort_array(collect_set(…)), ',')"
)


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
            if any(map(_lists_distinct, _calls_of(plan))):
                raise InvalidQuery(_LIST_BESIDE_SUMS)
            plan = spark_internals.without_distinct(plan)
        children = spark_internals.items(plan.children())
        below = [self.plan(child) for child in children]
        if any(new is not old for new, old in zip(below, children, strict=True)):
            plan = spark_internals.with_children(plan, below)
        calls = [*_calls_of(plan)]
        # Each step to an expression is a call to the JVM, so only nodes with something to change are walked.
        if spark_internals.has_subqueries(plan) or any(map(_compares_floats, calls)):
            plan = spark_internals.with_expressions(plan, self._expression)
            calls = [*_calls_of(plan)]
        values = [argument for call in calls if self._adds(call) for argument in _arguments(call)]
        has_sums = any(map(self._adds, calls))
        return _ordered(plan, values) if has_sums else plan

    def _expression(self, expression: Any) -> Any:
        """Return an expression with the plans of its subqueries in order, and -0.0 as 0.0 where values are compared."""
        below = [self._expression(child) for child in spark_internals.items(expression.children())]
        if spark_internals.kind(expression) in _COMPARING:
            below = [spark_internals.without_negative_zero(child) for child in below]
        changed = spark_internals.with_children(expression, below) if below else expression
        if spark_internals.is_subquery(changed):
            return changed.withNewPlan(self.plan(changed.plan()))
        return changed

    def _adds(self, call: Any) -> bool:
        """Whether the value of an aggregate function depends on the order of the rows."""
        function = call.aggregateFunction()
        name = spark_internals.kind(function)
        if name in _EXACT or name in _COMPARING:
            return False
        types = [*_types(call)]
        if name == "Average" and any(t in ("int", "bigint") for t in types):
            return True
        return any(map(_FLOAT.search, types)) or (self.hides_overflow and name in ("Sum", "Average"))


def _ordered(node: Any, values: list[Any]) -> Any:
    """Return an aggregate or a window over rows that are sorted by its groups, then by values."""
    if node.nodeName() == "Aggregate":
        groups = spark_internals.items(node.groupingExpressions())
        return _with_order(node, groups, [*map(spark_internals.ascending, groups)], values)
    groups = spark_internals.items(node.partitionSpec())
    order = [*map(spark_internals.ascending, groups), *spark_internals.items(node.orderSpec())]
    return spark_internals.project(node.output(), _with_order(node, groups, order, values))


def _with_order(node: Any, groups: list[Any], order: list[Any], values: list[Any]) -> Any:
    """Return an aggregate or a window over rows that are sorted by expressions, then by values."""
    columns = [spark_internals.column(value) for value in values]
    below = spark_internals.with_columns(columns, node.child())
    order = [*order, *(spark_internals.ascending(column.toAttribute()) for column in columns)]
    return spark_internals.with_children(node, [spark_internals.sorted_groups(groups, order, below)])


def _calls_of(node: Any) -> Iterator[Any]:
    """Yield the calls of aggregate functions of an aggregate or a window; other nodes have none."""
    name = node.nodeName()
    if name in ("Aggregate", "Window"):
        yield from _calls(
            spark_internals.items(node.aggregateExpressions() if name == "Aggregate" else node.windowExpressions())
        )


def _lists_distinct(call: Any) -> bool:
    """Whether an aggregate is listagg(DISTINCT …) with an order. Spark's rule for DISTINCT fails with it."""
    return bool(call.isDistinct()) and spark_internals.kind(call.aggregateFunction()) == "ListAgg"


def _compares_floats(call: Any) -> bool:
    """Whether the value of an aggregate function depends on the order of -0.0 and 0.0."""
    return spark_internals.kind(call.aggregateFunction()) in _COMPARING and any(map(_FLOAT.search, _types(call)))


def _calls(expressions: list[Any]) -> Iterator[Any]:
    """Yield the calls of aggregate functions within expressions."""
    for expression in expressions:
        if spark_internals.kind(expression) == "AggregateExpression":
            yield expression
        else:
            yield from _calls(spark_internals.items(expression.children()))


def _arguments(call: Any) -> list[Any]:
    return [a for a in spark_internals.items(call.aggregateFunction().children()) if not a.foldable()]


def _types(call: Any) -> Iterator[str]:
    """Yield the types of the arguments of an aggregate function."""
    return (argument.dataType().catalogString() for argument in _arguments(call))

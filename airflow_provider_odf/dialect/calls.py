"""Translate function calls with DISTINCT, FILTER, OVER and frames of windows."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import ties
from airflow_provider_odf.dialect.clauses import order
from airflow_provider_odf.dialect.engine import NodeRule, Translator, refuse_others
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, cast

_BOUNDS = ("UNBOUNDED", "CURRENT ROW")
"""Ends of a frame without a number."""


def scalar_or_aggregate(t: Translator, node: exp.Expr) -> Value:
    """Translate the call of a scalar or aggregate function."""
    if node.name.lower() not in t.engine.aggregates:
        return t.call(node, t.engine.scalars, node.expressions)
    distinct = next((item for item in node.expressions if isinstance(item, exp.Distinct)), None)
    if distinct is None:
        return t.call(node, t.engine.aggregates, node.expressions)
    refuse_others(distinct, {"expressions"})
    result = t.call(node, t.engine.aggregates, distinct.expressions)
    function = _function(node, result, "DISTINCT")
    if any(isinstance(argument, exp.Star) for argument in function.expressions):
        raise Refusal(node, f"{node.name} with DISTINCT is not supported")
    function.set("expressions", [exp.Distinct(expressions=function.expressions)])
    return result


def filter_rows(t: Translator, node: exp.Expr) -> Value:
    """Translate an aggregate with FILTER (WHERE …)."""
    inner = t.expression(node.this)
    function = _function(node, inner, "FILTER")
    where = exp.Where(this=condition(t, node.expression.this))
    return _replace(inner, function, exp.Filter(this=function, expression=where))


def over(t: Translator, node: exp.Expr) -> Value:
    """Translate a function OVER (PARTITION BY … ORDER BY … frame)."""
    if node.args.get("alias") or node.args.get("first"):
        raise Refusal(node, "named windows are not supported", "write the window out: OVER (…)")
    inner = node.this
    is_window = isinstance(inner, exp.Anonymous) and inner.name.lower() in t.engine.windows
    value = t.call(inner, t.engine.windows, inner.expressions) if is_window else t.expression(inner)
    function = _function(node, value, "OVER")
    partition = [t.expression(item).sql for item in node.args.get("partition_by") or ()]
    window = exp.Window(
        this=function,
        partition_by=partition,
        order=order(t, node.args["order"]) if node.args.get("order") else None,
        spec=_frame(node.args["spec"]) if node.args.get("spec") else None,
        over="OVER",
    )
    ties.break_ties(t, node, window, partition)
    return _replace(value, function, window)


def _frame(spec: exp.Expr) -> exp.WindowSpec:
    """Return ROWS or RANGE of a window. Numbers are translated with ROWS only: engines differ in ranges of values."""
    refuse_others(spec, {"kind", "start", "start_side", "end", "end_side"})
    kind = str(spec.args.get("kind", "")).upper()
    if kind not in ("ROWS", "RANGE"):
        raise Refusal(spec, f"{kind} frames are not supported")
    for bound in (spec.args.get("start"), spec.args.get("end")):
        is_number = kind == "ROWS" and isinstance(bound, exp.Literal) and bound.is_int
        if bound is not None and not is_number and str(bound).upper() not in _BOUNDS:
            raise Refusal(spec, "a frame supports only ROWS with whole numbers, UNBOUNDED and CURRENT ROW")
    return exp.WindowSpec(**spec.args)


def _function(node: exp.Expr, value: Value, clause: str) -> exp.Expr:
    """Return the call in a translated aggregate or window function, which may be within a CAST.

    :raises Refusal: the translation is another expression."""
    function = value.sql.this if isinstance(value.sql, exp.Cast) else value.sql
    if not isinstance(function, (exp.Anonymous, exp.Filter)):
        raise Refusal(node, f"{clause} is not supported with this function")
    return function


def _replace(value: Value, function: exp.Expr, by: exp.Expr) -> Value:
    return Value(by if value.sql is function else cast(by, value.type), value.type)


NODES: dict[type[exp.Expr], NodeRule] = {
    exp.Anonymous: scalar_or_aggregate, exp.Filter: filter_rows, exp.Window: over
}  # fmt: skip

"""Calls of scalar, aggregate and window functions: DISTINCT, FILTER, OVER and frames, around the tables' rules."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translation
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.query import order
from airflow_provider_odf.dialect.typed import Typed

_BOUNDS = {"UNBOUNDED", "CURRENT ROW"}


def anonymous(t: Translation, node: exp.Expr) -> Typed:
    """A call of a scalar or aggregate function."""
    assert isinstance(node, exp.Anonymous)  # noqa: S101 - by the table of rules
    if node.name.lower() in t.engine.aggregates:
        return _aggregate(t, node)
    return t.call(node, t.engine.scalars, node.expressions)


def _aggregate(t: Translation, node: exp.Anonymous) -> Typed:
    arguments = node.expressions
    distinct = arguments[0] if arguments and isinstance(arguments[0], exp.Distinct) else None
    if distinct is None:
        return t.call(node, t.engine.aggregates, arguments)
    if distinct.args.get("on") or len(arguments) > 1:
        raise Refused(distinct, "DISTINCT is translated with plain arguments only")
    result = t.call(node, t.engine.aggregates, distinct.expressions)
    inner = result.sql
    if not isinstance(inner, exp.Anonymous) or any(isinstance(a, exp.Star) for a in inner.expressions):
        raise Refused(node, f"{node.name} with DISTINCT is not translated")
    inner.set("expressions", [exp.Distinct(expressions=inner.expressions)])
    return result


def filtered(t: Translation, node: exp.Expr) -> Typed:
    """An aggregate over some of the rows: FILTER (WHERE …)."""
    inner = t.expression(node.this)
    if not isinstance(inner.sql, exp.Anonymous):
        raise Refused(node, "FILTER is not translated with this function")
    where = exp.Where(this=condition(t, node.expression.this).sql)
    return Typed(exp.Filter(this=inner.sql, expression=where), inner.type)


def windowed(t: Translation, node: exp.Expr) -> Typed:
    """A function OVER (PARTITION BY … ORDER BY … frame)."""
    if node.args.get("alias") or node.args.get("first"):
        raise Refused(node, "named windows are not translated", "write the window out: OVER (…)")
    inner = node.this
    name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
    value = t.call(inner, t.engine.windows, inner.expressions) if name in t.engine.windows else t.expression(inner)
    call = value.sql.this if isinstance(value.sql, exp.Cast) else value.sql
    if not isinstance(call, (exp.Anonymous, exp.Filter)):
        raise Refused(node, f"{name} is not translated with OVER")
    window = exp.Window(
        this=call,
        partition_by=[t.expression(item).sql for item in node.args.get("partition_by") or ()],
        order=order(t, node.args["order"]) if node.args.get("order") else None,
        spec=_frame(node.args["spec"]) if node.args.get("spec") else None,
        over="OVER",
    )
    if call is value.sql:
        return Typed(window, value.type)
    value.sql.set("this", window)
    return value


def _frame(spec: exp.Expr) -> exp.WindowSpec:
    kind = str(spec.args.get("kind", "")).upper()
    for bound in (spec.args.get("start"), spec.args.get("end")):
        is_rows = kind == "ROWS" and isinstance(bound, exp.Literal) and bound.is_int
        if bound is not None and not is_rows and str(bound).upper() not in _BOUNDS:
            raise Refused(spec, "a frame is translated with ROWS and whole numbers, UNBOUNDED and CURRENT ROW")
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        raise Refused(spec, f"{kind} frames are not translated")
    return exp.WindowSpec(**{key: value for key, value in spec.args.items() if key != "exclude"})

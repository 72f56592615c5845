"""Function calls with DISTINCT, FILTER, OVER and frames, and the aggregates and windows that all engines share."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from airflow_provider_odf.dialect.clauses import order
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, call, cast
from airflow_provider_odf.dialect.types import BIGINT

_BOUNDS = {"UNBOUNDED", "CURRENT ROW"}


def anonymous(t: Translation, node: exp.Expr) -> Typed:
    """Translate a call of a scalar or aggregate function."""
    if node.name.lower() in t.engine.aggregates:
        return _aggregate(t, node)
    return t.call(node, t.engine.scalars, node.expressions)


def _aggregate(t: Translation, node: exp.Expr) -> Typed:
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


def filter_rows(t: Translation, node: exp.Expr) -> Typed:
    """Translate an aggregate with FILTER (WHERE …)."""
    inner = t.expression(node.this)
    if not isinstance(inner.sql, exp.Anonymous):
        raise Refused(node, "FILTER is not translated with this function")
    where = exp.Where(this=condition(t, node.expression.this).sql)
    return Typed(exp.Filter(this=inner.sql, expression=where), inner.type)


def over(t: Translation, node: exp.Expr) -> Typed:
    """Translate a function OVER (PARTITION BY … ORDER BY … frame)."""
    if node.args.get("alias") or node.args.get("first"):
        raise Refused(node, "named windows are not translated", "write the window out: OVER (…)")
    inner = node.this
    name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
    value = t.call(inner, t.engine.windows, inner.expressions) if name in t.engine.windows else t.expression(inner)
    function = value.sql.this if isinstance(value.sql, exp.Cast) else value.sql
    if not isinstance(function, (exp.Anonymous, exp.Filter)):
        raise Refused(node, f"{name} is not translated with OVER")
    window = exp.Window(
        this=function,
        partition_by=[t.expression(item).sql for item in node.args.get("partition_by") or ()],
        order=order(t, node.args["order"]) if node.args.get("order") else None,
        spec=_frame(node.args["spec"]) if node.args.get("spec") else None,
        over="OVER",
    )
    if function is value.sql:
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


# --- rules for the tables of functions -------------------------------------------------------------------------------


def count(c: Call) -> Typed:
    if not c.arguments or any(isinstance(a.sql, exp.Star) for a in c.arguments):
        return Typed(call("count", exp.Star()), BIGINT)
    return Typed(call("count", *[a.sql for a in c.arguments]), BIGINT)


def extreme(name: str, types: Collection[str]) -> FunctionRule:
    """Return the rule of MIN or MAX for types that the engines order like Spark."""

    def rule(c: Call) -> Typed:
        value = c.only()
        if value.type.name not in types:
            raise c.refusal(f"is not translated for {value.type}")
        return Typed(call(name, value.sql), value.type)

    return rule


def ranking(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(0)
        return Typed(cast(call(name), BIGINT), BIGINT)

    return rule


def neighbour(name: str) -> FunctionRule:
    """Return the rule of LAG or LEAD with an optional distance. A default is refused: Flink uses it for nulls, too."""

    def rule(c: Call) -> Typed:
        c.expect(1, 2)
        distance = c.size(1) if len(c.arguments) > 1 else 1
        return Typed(call(name, c.argument(0).sql, distance), c.argument(0).type)

    return rule


NODES: dict[type[exp.Expr], NodeRule] = {exp.Anonymous: anonymous, exp.Filter: filter_rows, exp.Window: over}
WINDOWS: dict[str, FunctionRule] = {
    "dense_rank": ranking("dense_rank"),
    "lag": neighbour("lag"),
    "lead": neighbour("lead"),
    "rank": ranking("rank"),
    "row_number": ranking("row_number"),
}

"""Translate GROUP BY, ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translator, refuse_others
from airflow_provider_odf.dialect.place import Refusal

_ORDINAL_DIGITS = 4


def order(t: Translator, node: exp.Order) -> exp.Order:
    """Return ORDER BY with explicit NULLS FIRST or LAST, since the defaults of engines differ."""
    return exp.Order(expressions=[_order_item(t, item) for item in node.expressions])


def _order_item(t: Translator, item: exp.Expr) -> exp.Ordered:
    refuse_others(item, {"this", "desc", "nulls_first"})
    return exp.Ordered(
        this=place_or_expression(t, item.this),
        desc=bool(item.args.get("desc")),
        nulls_first=bool(item.args.get("nulls_first")),
    )


def place_or_expression(t: Translator, node: exp.Expr) -> exp.Expr:
    """Return an item of GROUP BY or ORDER BY, which may be the place of a column."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return t.expression(node).sql
    if not (node.name.isdigit() and len(node.name) <= _ORDINAL_DIGITS):
        raise Refusal(node, "a number in ORDER BY or GROUP BY must be a column position, starting at 1")
    return node.copy()


def add_order(t: Translator, node: exp.Expr, query: exp.Query) -> None:
    """Add ORDER BY, LIMIT and OFFSET of a node to a query."""
    if node.args.get("order"):
        query.set("order", order(t, node.args["order"]))
    for key in ("limit", "offset"):
        clause = node.args.get(key)
        if clause is not None:
            value = clause.expression
            if type(clause) not in (exp.Limit, exp.Offset) or not (isinstance(value, exp.Literal) and value.is_int):
                raise Refusal(clause, f"{key.upper()} needs an integer")
            query.set(key, type(clause)(expression=value.copy()))

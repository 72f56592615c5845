"""Translate GROUP BY, ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translation
from airflow_provider_odf.dialect.place import Refused

_ORDINAL_DIGITS = 4


def refuse_others(node: exp.Expr, allowed: Collection[str]) -> None:
    """:raises Refused: the node has a part that is not allowed."""
    for key, value in node.args.items():
        if key not in allowed and value not in (None, False, [], ""):
            name = key.strip("_").replace("_", " ").upper()
            raise Refused(_first_node(value) or node, f"{name} is not translated here")


def _first_node(value: Any) -> exp.Expr | None:
    first = value[0] if isinstance(value, list) else value
    return first if isinstance(first, exp.Expression) else None


def group(t: Translation, node: exp.Group) -> exp.Group:
    refuse_others(node, {"expressions"})
    return exp.Group(expressions=[_ordinal_or_expression(t, item) for item in node.expressions])


def order(t: Translation, node: exp.Order) -> exp.Order:
    """Return ORDER BY with explicit NULLS FIRST or LAST, since the defaults of engines differ."""
    return exp.Order(expressions=[_order_item(t, item) for item in node.expressions])


def _order_item(t: Translation, item: exp.Expr) -> exp.Ordered:
    refuse_others(item, {"this", "desc", "nulls_first"})
    return exp.Ordered(
        this=_ordinal_or_expression(t, item.this),
        desc=bool(item.args.get("desc")),
        nulls_first=bool(item.args.get("nulls_first")),
    )


def _ordinal_or_expression(t: Translation, node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Literal) or node.is_string:
        return t.expression(node).sql
    if not (node.name.isdigit() and len(node.name) <= _ORDINAL_DIGITS):
        raise Refused(node, "a number here is the place of a column, from 1 on")
    return node.copy()


def add_order(t: Translation, node: exp.Expr, query: exp.Query) -> None:
    """Add ORDER BY, LIMIT and OFFSET of a node to a query."""
    if node.args.get("order"):
        query.set("order", order(t, node.args["order"]))
    for key in ("limit", "offset"):
        clause = node.args.get(key)
        if clause is not None:
            value = clause.expression
            if type(clause) not in (exp.Limit, exp.Offset) or not (isinstance(value, exp.Literal) and value.is_int):
                raise Refused(clause, f"{key.upper()} needs a whole number")
            query.set(key, type(clause)(expression=value.copy()))

"""Translate queries inside expressions: EXISTS, IN (SELECT …) and a query as a value."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.engine import NodeRule, Translator
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value
from airflow_provider_odf.dialect.types import BOOLEAN, Type


def in_query(t: Translator, node: exp.Expr, value: Value) -> Value:
    """Translate value IN (SELECT …), if both sides have the same type."""
    query, type_ = _only_column(t, node, node.args["query"])
    if not value.type.is_known or value.type != type_:
        advice = types.advice([value.type, type_], "cast one of them")
        raise Refusal(node, f"IN compares {value.type} with {type_}", advice)
    return Value(exp.In(this=value.sql, query=exp.Subquery(this=query)), BOOLEAN)


def exists(t: Translator, node: exp.Expr) -> Value:
    query, _ = t.subquery(node.this.unnest(), t.scope)
    return Value(exp.Exists(this=query), BOOLEAN)


def scalar_subquery(t: Translator, node: exp.Expr) -> Value:
    query, type_ = _only_column(t, node, node)
    return Value(exp.Subquery(this=query), type_)


def _only_column(t: Translator, node: exp.Expr, subquery: exp.Expr) -> tuple[exp.Query, Type]:
    """Return a translated query and the type of its only column."""
    query, columns = t.subquery(subquery.unnest(), t.scope)
    if len(columns.items) != 1 or columns.others is not None:
        raise Refusal(node, "a query used as a value, or in IN, must have exactly one named column")
    return query, columns.items[0][1]


NODES: dict[type[exp.Expr], NodeRule] = {exp.Exists: exists, exp.Subquery: scalar_subquery}

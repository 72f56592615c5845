"""Flink's arrays: single elements and their number."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, number
from airflow_provider_odf.dialect.types import INT


def element(t: Translation, node: exp.Expr) -> Typed:
    """array[n], counted from 1; null beyond its end."""
    value, index = t.expression(node.this), node.expressions[0] if len(node.expressions) == 1 else None
    position = t.expression(index).integer if index is not None else None
    if value.type.name != "ARRAY" or value.type.element is None or not position or position < 1:
        raise Refused(node, "[ ] is translated for arrays of known type with a literal from 1 on", SCHEMA_ADVICE)
    return Typed(call("try_element_at", value.sql, number(position)), value.type.element)


def cardinality(c: Call) -> Typed:
    c.expect(1)
    if c.argument(0).type.name != "ARRAY":
        raise c.refusal(f"takes an array, not {c.argument(0).type}")
    return Typed(call("array_size", c.argument(0).sql), INT)


SCALARS: dict[str, FunctionRule] = {"cardinality": cardinality}
NODES: dict[type[exp.Expr], NodeRule] = {exp.Bracket: element}

"""SUBSTRING and TRIM, which all engines here write as standard SQL does."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, Translation
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, as_int, at_least, call, number
from airflow_provider_odf.dialect.types import INT, STRING


def text_of(t: Translation, node: exp.Expr) -> Typed:
    """The node as a string."""
    return Call(t, node, "a function of text", (t.expression(node),)).string(0)


def substring(text: Typed, start: Typed, length: Typed | None, node: exp.Expr) -> Typed:
    """Positions before the first count as part of the length, which Spark's substring sees otherwise."""
    if not start.type.is_integer or not (length is None or length.type.is_integer):
        raise Refused(node, "substring takes whole numbers of known type")
    first, begin = start.integer, as_int(start)
    if first is not None and first >= 1:
        return Typed(call("substring", text.sql, begin, *([] if length is None else [_not_negative(length)])), STRING)
    inside = at_least(begin, 1)
    if length is None:
        return Typed(call("substring", text.sql, inside), STRING)
    end = exp.Add(this=begin.copy(), expression=as_int(length))
    count = at_least(exp.Paren(this=exp.Sub(this=end, expression=inside.copy())), 0)
    return Typed(call("substring", text.sql, inside, count), STRING)


def _not_negative(length: Typed) -> exp.Expr:
    return number(max(length.integer, 0)) if length.integer is not None else at_least(as_int(length), 0)


def substring_node(t: Translation, node: exp.Expr) -> Typed:
    """SUBSTRING(text FROM start FOR length)."""
    start = t.expression(node.args["start"]) if node.args.get("start") else Typed(number(1), INT)
    length = t.expression(node.args["length"]) if node.args.get("length") else None
    return substring(text_of(t, node.this), start, length, node)


def trim_node(t: Translation, node: exp.Expr) -> Typed:
    """TRIM([BOTH | LEADING | TRAILING] [characters FROM] text)."""
    text = text_of(t, node.this)
    characters = text_of(t, node.expression).sql if node.args.get("expression") else exp.Literal.string(" ")
    position = str(node.args.get("position") or "BOTH").upper()
    if node.args.get("collation"):
        raise Refused(node, "TRIM is translated without COLLATE")
    return Typed(exp.Trim(this=text.sql, expression=characters, position=position), STRING)

"""Functions of text that engines here write and mean alike."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import regex
from airflow_provider_odf.dialect.engine import Call, FunctionRule, Translation
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


def trimmed(position: str) -> FunctionRule:
    """btrim, ltrim, rtrim with an optional second argument: the characters to cut off."""

    def rule(c: Call) -> Typed:
        c.expect(1, 2)
        characters = c.string(1).sql if len(c.arguments) == 2 else exp.Literal.string(" ")
        return Typed(exp.Trim(this=c.string(0).sql, expression=characters, position=position), STRING)

    return rule


def position_node(t: Translation, node: exp.Expr) -> Typed:
    return Typed(call("instr", text_of(t, node.this).sql, text_of(t, node.args["substr"]).sql), INT)


def replace(c: Call) -> Typed:
    """Of a literal text that is not empty; of an empty one engines make different things."""
    c.expect(3)
    if not c.text(1):
        raise c.refusal("the text to replace must not be empty")
    return Typed(call("replace", c.string(0).sql, c.text(1), c.string(2).sql), STRING)


def java_pattern(c: Call, index: int, flags: str = "") -> str:
    """An argument that is a literal pattern, as Java writes it."""
    try:
        return regex.java_pattern(c.text(index), flags)
    except ValueError as error:
        raise c.refusal(str(error)) from None

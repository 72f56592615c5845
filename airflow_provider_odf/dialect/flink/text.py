"""Flink's functions of text. Its regular expressions are Java's, as Spark's are."""

from __future__ import annotations

import re

from sqlglot import exp

from airflow_provider_odf.dialect.comparisons import operand
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation, chain
from airflow_provider_odf.dialect.functions import (
    TEXT,
    cardinality,
    element,
    same,
    size,
    string,
    substring,
    substring_form,
    text_of,
    trim,
    trim_form,
    whole,
)
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, call, is_like, switch
from airflow_provider_odf.dialect.types import BOOLEAN, INT, NULL, STRING

_PATTERN_PART = re.compile(
    r"\\(?:[dDwWsSbB]|[nrt]|[^0-9A-Za-z\s])"
    r"|\[\^?\]?(?:\\(?:[dDwWsSnrt]|[^0-9A-Za-z\s])|[^\[\]\\&~-]|(?<=[^\[^-])-(?=[^\[\]-])|-(?=\]))*\]"
    r"|\(\?:|\((?!\?)|\)"
    r"|(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?{])"
    r"|[.^$|]|[^\\$\[\](){}*+?.^|]"
)
"""Escapes, sets, groups, repetitions and characters that every engine reads alike."""


def pattern(c: Call) -> str:
    """Return the second argument, which must be a literal regular expression of parts that engines read alike."""
    text = c.text(1)
    if rest := _PATTERN_PART.sub("", text):
        raise c.refusal(f"{rest[:10]!r} in the pattern has no exact form")
    try:
        re.compile(text)
    except re.error as error:
        raise c.refusal(f"the pattern is not valid: {error}") from None
    # Engines replace a match of no length at different places.
    if re.search(re.sub(r"\\[bB]|\^|\$", "", text), "") is not None:
        raise c.refusal("the pattern can match nothing")
    return text


def regexp_replace(c: Call) -> Typed:
    """The replacement is plain text in Flink, without references to groups."""
    c.expect(3)
    replacement = c.text(2).replace("\\", "\\\\").replace("$", "\\$")
    return Typed(call("regexp_replace", c.string(0), pattern(c), replacement), STRING)


def regexp_extract(c: Call) -> Typed:
    """Null where nothing matches, which is an empty text in Spark."""
    c.expect(2, 3)
    group, text = c.size(2) if len(c.arguments) == 3 else 0, pattern(c)
    if group > re.compile(text).groups:
        raise c.refusal(f"the pattern has no group {group}")
    if group and any(sign in text for sign in ("|", ")?", ")*", "){")):
        raise c.refusal("a group that may be missing is not translated")
    match = call("regexp_extract", c.string(0).copy(), text, group)
    return Typed(switch([(is_like(c.string(0), text), match)], exp.Null()), STRING)


def regexp(c: Call) -> Typed:
    c.expect(2)
    return Typed(is_like(c.string(0), pattern(c)), BOOLEAN)


def end(name: str) -> FunctionRule:
    """LEFT and RIGHT; a negative length gives an empty text."""

    def rule(c: Call) -> Typed:
        c.expect(2)
        length = c.argument(1).integer
        if length is None:
            raise c.refusal("the length must be a literal")
        return Typed(call(name, c.string(0), max(length, 0)), STRING)

    return rule


def pad(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(3)
        if not c.text(2):
            raise c.refusal("the text to pad with must not be empty")
        return Typed(call(name, c.string(0), size(c, 1), c.text(2)), STRING)

    return rule


def concat(name: str) -> FunctionRule:
    """CONCAT is null where an argument is, CONCAT_WS ignores nulls: as in Spark."""
    return lambda c: Typed(call(name, *[c.string(i) for i in range(len(c.arguments))]), STRING)


def concatenate(t: Translation, node: exp.Expr) -> Typed:
    """text || text."""
    first, operators = chain(node, exp.DPipe)
    sides = [operand(t, side) for side in (first, *(operator.expression for operator in operators))]
    if not all(side.type in (STRING, NULL) for side in sides):
        raise Refused(node, "|| takes strings of known type", "cast both sides to STRING")
    return Typed(call("concat", *[side.sql for side in sides]), STRING)


def position(t: Translation, node: exp.Expr) -> Typed:
    """POSITION(part IN text)."""
    return Typed(call("instr", text_of(t, node.this), text_of(t, node.args["substr"])), INT)


def sha(bits: int) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        return Typed(call("sha2", c.string(0), bits), STRING)

    return rule


SCALARS: dict[str, FunctionRule] = {
    **TEXT,
    "btrim": trim("BOTH"),
    "cardinality": cardinality,
    "concat": concat("concat"),
    "concat_ws": concat("concat_ws"),
    "endswith": same("endswith", string, string, result=BOOLEAN),
    "instr": same("instr", string, string, result=INT),
    "left": end("left"),
    "lpad": pad("lpad"),
    "ltrim": trim("LEADING"),
    "md5": same("md5", string),
    "regexp": regexp,
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
    "repeat": same("repeat", string, whole),
    "reverse": same("reverse", string),
    "right": end("right"),
    "rpad": pad("rpad"),
    "rtrim": trim("TRAILING"),
    "sha1": same("sha1", string),
    "sha256": sha(256),
    "sha512": sha(512),
    "startswith": same("startswith", string, string, result=BOOLEAN),
    "substr": substring,
    "substring": substring,
    "translate": same("translate", string, string, string),
}
NODES: dict[type[exp.Expr], NodeRule] = {
    exp.Bracket: element,
    exp.DPipe: concatenate,
    exp.StrPosition: position,
    exp.Substring: substring_form,
    exp.Trim: trim_form,
}

"""Flink's functions of text. Its patterns are Java's, as Spark's are."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import regex
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation, chain
from airflow_provider_odf.dialect.expressions import operand
from airflow_provider_odf.dialect.parameters import plain, size, string, whole
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.text_functions import java_pattern, position_node, replace, trim_node, trimmed
from airflow_provider_odf.dialect.typed import Typed, call, number, switch
from airflow_provider_odf.dialect.types import BOOLEAN, INT, NULL, STRING


def substring(c: Call) -> Typed:
    """Of literal positions that are not negative; others mean different things."""
    c.expect(2, 3)
    bounds = [size(c, i) for i in range(1, len(c.arguments))]
    return Typed(call("substring", c.string(0).sql, *bounds), STRING)


def substring_node(t: Translation, node: exp.Expr) -> Typed:
    start, length = node.args.get("start"), node.args.get("length")
    parts = [node.this, start, *([length] if length is not None else [])]
    if start is None:
        raise Refused(node, "SUBSTRING needs a start")
    return substring(Call(t, node, "SUBSTRING", t.expressions(parts)))


def edge(name: str) -> FunctionRule:
    """LEFT and RIGHT; a negative length gives an empty text."""

    def rule(c: Call) -> Typed:
        c.expect(2)
        length = c.argument(1).integer
        if length is None:
            raise c.refusal("the length must be a literal")
        return Typed(call(name, c.string(0).sql, number(max(length, 0))), STRING)

    return rule


def padded(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(3)
        if not c.text(2):
            raise c.refusal("the text to pad with must not be empty")
        return Typed(call(name, c.string(0).sql, size(c, 1), c.text(2)), STRING)

    return rule


def concat(name: str) -> FunctionRule:
    """CONCAT is null where an argument is, CONCAT_WS passes over them: as in Spark."""
    return lambda c: Typed(call(name, *[c.string(i).sql for i in range(len(c.arguments))]), STRING)


def joined(t: Translation, node: exp.Expr) -> Typed:
    first, operators = chain(node, exp.DPipe)
    sides = [operand(t, side) for side in (first, *(operator.expression for operator in operators))]
    if not all(side.type in (STRING, NULL) for side in sides):
        raise Refused(node, "|| takes strings of known type", "cast both sides to STRING")
    return Typed(call("concat", *[side.sql for side in sides]), STRING)


def locate(c: Call) -> Typed:
    c.expect(2)
    return Typed(call("instr", c.string(1).sql, c.string(0).sql), INT)


def sha(bits: int) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        return Typed(call("sha2", c.string(0).sql, bits), STRING)

    return rule


def _pattern(c: Call) -> str:
    """The pattern as it is; one of which only a translation could be exact is refused."""
    pattern = c.text(1)
    java_pattern(c, 1)
    if regex.matches_nothing(pattern):
        raise c.refusal("the pattern can match nothing")
    return pattern


def regexp_replace(c: Call) -> Typed:
    """The replacement is plain text in Flink, without references to groups."""
    c.expect(3)
    replacement = c.text(2).replace("\\", "\\\\").replace("$", "\\$")
    return Typed(call("regexp_replace", c.string(0).sql, _pattern(c), replacement), STRING)


def regexp_extract(c: Call) -> Typed:
    """Null where nothing matches, which is an empty text in Spark."""
    c.expect(2, 3)
    group = c.argument(2).integer if len(c.arguments) == 3 else 0
    pattern = _pattern(c)
    if group is None or not 0 <= group <= regex.count_groups(pattern):
        raise c.refusal("needs the literal number of a group of the pattern")
    if group and any(sign in pattern for sign in ("|", ")?", ")*", "){")):
        raise c.refusal("a group that may be missing is not translated")
    found = call("regexp_like", c.string(0).sql, pattern)
    return Typed(switch([(found, call("regexp_extract", c.string(0).sql.copy(), pattern, group))], exp.Null()), STRING)


def regexp(c: Call) -> Typed:
    c.expect(2)
    return Typed(call("regexp_like", c.string(0).sql, _pattern(c)), BOOLEAN)


SCALARS: dict[str, FunctionRule] = {
    "btrim": trimmed("BOTH"),
    "char_length": plain("char_length", string, result=INT),
    "character_length": plain("char_length", string, result=INT),
    "concat": concat("concat"),
    "concat_ws": concat("concat_ws"),
    "endswith": plain("endswith", string, string, result=BOOLEAN),
    "instr": plain("instr", string, string, result=INT),
    "left": edge("left"),
    "locate": locate,
    "lower": plain("lower", string, result=STRING),
    "lpad": padded("lpad"),
    "ltrim": trimmed("LEADING"),
    "md5": plain("md5", string, result=STRING),
    "regexp": regexp,
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
    "repeat": plain("repeat", string, whole, result=STRING),
    "replace": replace,
    "reverse": plain("reverse", string, result=STRING),
    "right": edge("right"),
    "rpad": padded("rpad"),
    "rtrim": trimmed("TRAILING"),
    "sha1": plain("sha1", string, result=STRING),
    "sha224": sha(224),
    "sha256": sha(256),
    "sha384": sha(384),
    "sha512": sha(512),
    "startswith": plain("startswith", string, string, result=BOOLEAN),
    "substr": substring,
    "translate": plain("translate", string, string, string, result=STRING),
    "upper": plain("upper", string, result=STRING),
}
NODES: dict[type[exp.Expr], NodeRule] = {
    exp.DPipe: joined,
    exp.StrPosition: position_node,
    exp.Substring: substring_node,
    exp.Trim: trim_node,
}

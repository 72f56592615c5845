"""DataFusion's functions of text."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import regex
from airflow_provider_odf.dialect.datafusion.casts import convert
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.expressions import operand
from airflow_provider_odf.dialect.parameters import plain, size, string, whole
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.text_functions import (
    java_pattern,
    position_node,
    substring,
    substring_node,
    text_of,
    trim_node,
    trimmed,
)
from airflow_provider_odf.dialect.typed import Typed, as_int, at_least, call, number, switch
from airflow_provider_odf.dialect.types import BIGINT, BINARY, BOOLEAN, INT, NULL, STRING, array


def as_string(c: Call, index: int) -> exp.Expr:
    """Any value as the text that DataFusion makes of it."""
    value = c.argument(index)
    return value.sql if value.type in (STRING, NULL) else convert(c.node, value, STRING).sql


def concat(c: Call) -> Typed:
    """Nulls are skipped, as concat_ws does; Spark's concat would give null."""
    return Typed(call("concat_ws", "", *[as_string(c, i) for i in range(len(c.arguments))]), STRING)


def concat_ws(c: Call) -> Typed:
    separator = c.string(0).sql
    return Typed(call("concat_ws", separator, *[as_string(c, i) for i in range(1, len(c.arguments))]), STRING)


def left(c: Call) -> Typed:
    """A negative length counts from the other end."""
    c.expect(2)
    length = c.argument(1).integer
    if length is None:
        raise c.refusal("the length must be a literal")
    return Typed(call(c.name.lower(), c.string(0).sql, _from_end(c, length)), STRING)


def _from_end(c: Call, length: int) -> exp.Expr:
    if length >= 0:
        return number(length)
    rest = exp.Sub(this=call("char_length", c.string(0).sql.copy()), expression=number(-length))
    return at_least(exp.Paren(this=rest), 0)


def substr(c: Call) -> Typed:
    c.expect(2, 3)
    length = c.argument(2) if len(c.arguments) == 3 else None
    return substring(c.string(0), c.argument(1), length, c.node)


def to_hex(c: Call) -> Typed:
    c.expect(1)
    if not c.argument(0).type.is_integer:
        raise c.refusal(f"takes a whole number, not {c.argument(0).type}")
    return Typed(call("lower", call("hex", c.argument(0).sql)), STRING)


def sha(bits: int) -> FunctionRule:
    return lambda c: Typed(call("unhex", call("sha2", c.string(0).sql, bits)), BINARY)


def encode(c: Call) -> Typed:
    c.expect(2)
    if c.argument(0).type != BINARY or c.text(1).lower() != "hex":
        raise c.refusal("is translated for binary values as 'hex' only")
    return Typed(call("lower", call("hex", c.argument(0).sql)), STRING)


def replace(c: Call) -> Typed:
    c.expect(3)
    if c.argument(1).text == "":
        return Typed(c.string(0).sql, STRING)
    return Typed(call("replace", c.string(0).sql, c.string(1).sql, c.string(2).sql), STRING)


def split_part(c: Call) -> Typed:
    c.expect(3)
    if not c.text(1) or not c.argument(2).integer:
        raise c.refusal("needs a literal separator and a literal position other than 0")
    return Typed(call("split_part", c.string(0).sql, c.text(1), as_int(c.argument(2))), STRING)


def character(c: Call) -> Typed:
    code = c.argument(0).integer
    if code is None or not 0 < code < 128:
        raise c.refusal("takes a literal from 1 to 127 here")
    return Typed(exp.Literal.string(chr(code)), STRING)


def regexp_like(c: Call) -> Typed:
    c.expect(2, 3)
    pattern = java_pattern(c, 1, c.text(2) if len(c.arguments) == 3 else "")
    return Typed(call("regexp_like", c.string(0).sql, pattern), BOOLEAN)


def regexp_count(c: Call) -> Typed:
    c.expect(2)
    if regex.matches_nothing(c.text(1)):
        raise c.refusal("the pattern can match nothing; engines count that differently")
    return Typed(
        exp.Cast(this=call("regexp_count", c.string(0).sql, java_pattern(c, 1)), to=exp.DataType.build("BIGINT")),
        BIGINT,
    )


def regexp_replace(c: Call) -> Typed:
    """The first match only, unless the flag g is given; Spark's function always replaces all."""
    c.expect(3, 4)
    flags = c.text(3) if len(c.arguments) == 4 else ""
    pattern = java_pattern(c, 1, flags.replace("g", ""))
    if "g" not in flags:
        return _first_replaced(c, pattern)
    if regex.matches_nothing(c.text(1)):
        raise c.refusal("the pattern can match nothing; engines replace that at different places")
    return Typed(call("regexp_replace", c.string(0).sql, pattern, _replacement(c, 0)), STRING)


def _first_replaced(c: Call, pattern: str) -> Typed:
    """One match of the whole text, in three parts: before, the first match as group 2, after."""
    groups = regex.count_groups(c.text(1))
    whole_text = f"\\A((?s:.*?))({pattern})((?s:.*))\\z"
    replacement = f"$1{_replacement(c, 2)}${groups + 3}"
    return Typed(call("regexp_replace", c.string(0).sql, whole_text, replacement), STRING)


def _replacement(c: Call, shift: int) -> str:
    try:
        return regex.java_replacement(c.text(2), shift)
    except ValueError as error:
        raise c.refusal(str(error)) from None


def joined(t: Translation, node: exp.Expr) -> Typed:
    """``||``: text with anything that has an exact text; null if a side is null."""
    sides = [operand(t, node.this), operand(t, node.expression)]
    if not any(side.type == STRING for side in sides):
        raise Refused(node, "|| needs a string of known type on one side", "cast one side to VARCHAR")
    texts = [convert(node, side, STRING).sql for side in sides]
    return Typed(call("concat", *texts), STRING)


def matched(t: Translation, node: exp.Expr) -> Typed:
    """The operators ~ and ~*."""
    flags = "i" if isinstance(node, exp.RegexpILike) else ""
    pattern = t.expression(node.expression)
    if pattern.text is None:
        raise Refused(node, "the pattern must be a string literal")
    try:
        java = regex.java_pattern(pattern.text, flags)
    except ValueError as error:
        raise Refused(node, str(error)) from None
    return Typed(call("regexp_like", text_of(t, node.this).sql, java), BOOLEAN)


def string_to_array(c: Call) -> Typed:
    c.expect(2)
    separator = c.text(1)
    if not separator or "\\E" in separator:
        raise c.refusal("needs a literal separator")
    text = c.string(0).sql
    parts = call("split", text, f"\\Q{separator}\\E", -1)
    empty = exp.Cast(this=call("array"), to=exp.DataType.build("ARRAY<STRING>", dialect="spark"))
    return Typed(switch([(exp.EQ(this=text.copy(), expression=exp.Literal.string("")), empty)], parts), array(STRING))


SCALARS: dict[str, FunctionRule] = {
    "ascii": plain("ascii", string, result=INT),
    "bit_length": plain("bit_length", string, result=INT),
    "btrim": trimmed("BOTH"),
    "char_length": plain("char_length", string, result=INT),
    "character_length": plain("char_length", string, result=INT),
    "chr": character,
    "concat": concat,
    "concat_ws": concat_ws,
    "contains": plain("contains", string, string, result=BOOLEAN),
    "encode": encode,
    "ends_with": plain("endswith", string, string, result=BOOLEAN),
    "find_in_set": plain("find_in_set", string, string, result=INT),
    "instr": plain("instr", string, string, result=INT),
    "left": left,
    "length": plain("char_length", string, result=INT),
    "levenshtein": plain("levenshtein", string, string, result=INT),
    "lower": plain("lower", string, result=STRING),
    "lpad": plain("lpad", string, size, string, result=STRING, optional=1),
    "ltrim": trimmed("LEADING"),
    "md5": plain("md5", string, result=STRING),
    "octet_length": plain("octet_length", string, result=INT),
    "regexp_count": regexp_count,
    "regexp_like": regexp_like,
    "regexp_replace": regexp_replace,
    "repeat": plain("repeat", string, whole, result=STRING),
    "replace": replace,
    "reverse": plain("reverse", string, result=STRING),
    "right": left,
    "rpad": plain("rpad", string, size, string, result=STRING, optional=1),
    "rtrim": trimmed("TRAILING"),
    "sha224": sha(224),
    "sha256": sha(256),
    "sha384": sha(384),
    "sha512": sha(512),
    "split_part": split_part,
    "starts_with": plain("startswith", string, string, result=BOOLEAN),
    "string_to_array": string_to_array,
    "strpos": plain("instr", string, string, result=INT),
    "substr": substr,
    "substr_index": plain("substring_index", string, string, whole, result=STRING),
    "substring_index": plain("substring_index", string, string, whole, result=STRING),
    "to_hex": to_hex,
    "translate": plain("translate", string, string, string, result=STRING),
    "trim": trimmed("BOTH"),
    "upper": plain("upper", string, result=STRING),
}

NODES: dict[type[exp.Expr], NodeRule] = {
    exp.DPipe: joined,
    exp.RegexpILike: matched,
    exp.RegexpLike: matched,
    exp.StrPosition: position_node,
    exp.Substring: substring_node,
    exp.Trim: trim_node,
}

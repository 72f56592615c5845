"""Rules of functions that the engines share."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect.comparisons import comparable
from airflow_provider_odf.dialect.engine import Call, FunctionRule, Translation
from airflow_provider_odf.dialect.expressions import require_exact_sign, unify
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, as_int, call, convert, number
from airflow_provider_odf.dialect.types import INT, STRING, Type

# --- of any type -----------------------------------------------------------------------------------------------------


def of_common_type(name: str) -> FunctionRule:
    """Return the rule of a function of any number of values of one type, such as coalesce and greatest."""

    def rule(c: Call) -> Typed:
        if not c.arguments:
            raise c.refusal("needs arguments")
        forms, type_ = unify(c.translation, c.node, c.arguments)
        return Typed(call(name, *forms) if len(forms) > 1 else forms[0], type_)

    return rule


def nullif(c: Call) -> Typed:
    """Translate NULLIF, which has the type of its first argument."""
    c.expect(2)
    first, second = c.arguments
    if c.translation.engine.common(first.type, second.type) != first.type:
        raise c.refusal(f"is not translated for {first.type} and {second.type}", "cast the second")
    left, right = comparable(c.translation, c.node, first, second)
    # Cast also where Spark would not widen the first.
    value = convert(first, left.type) if left.sql is first.sql else left.sql
    return Typed(call("nullif", value, right.sql), left.type)


def absolute(c: Call) -> Typed:
    value = c.only()
    require_exact_sign(c.node, value.type)
    return Typed(call("abs", value.sql), value.type)


# --- of text ---------------------------------------------------------------------------------------------------------

Parameter = Callable[[Call, int], exp.Expr]


def string(c: Call, index: int) -> exp.Expr:
    return c.string(index)


def whole(c: Call, index: int) -> exp.Expr:
    """Return an argument that must be a whole number, as INT."""
    value = c.argument(index)
    if not value.type.is_integer:
        raise c.refusal(f"argument {index + 1} must be a whole number, not {value.type}", "cast it to INT")
    return as_int(value)


def size(c: Call, index: int) -> exp.Expr:
    return number(c.size(index))


def same(name: str, *parameters: Parameter, result: Type = STRING, optional: int = 0) -> FunctionRule:
    """Return the rule of a function that is ``name`` in Spark. The last ``optional`` arguments may be missing."""

    def rule(c: Call) -> Typed:
        c.expect(len(parameters) - optional, len(parameters))
        arguments = [parameter(c, i) for i, parameter in enumerate(parameters[: len(c.arguments)])]
        return Typed(call(name, *arguments), result)

    return rule


def text_of(t: Translation, node: exp.Expr) -> exp.Expr:
    """Return the form of a node that must be a string."""
    return Call(t, node, "a function of text", (t.expression(node),)).string(0)


def substring(c: Call) -> Typed:
    """Translate SUBSTRING with literal positions from 0 or 1 on; for others the engines differ."""
    return same("substring", string, size, size, optional=1)(c)


def substring_form(t: Translation, node: exp.Expr) -> Typed:
    """Translate SUBSTRING(text FROM start FOR length)."""
    start, length = node.args.get("start"), node.args.get("length")
    if start is None:
        raise Refused(node, "SUBSTRING needs a start")
    parts = [node.this, start, *([length] if length is not None else [])]
    return t.engine.scalars["substring"](Call(t, node, "SUBSTRING", t.expressions(parts)))


def trim_form(t: Translation, node: exp.Expr) -> Typed:
    """Translate TRIM([BOTH | LEADING | TRAILING] [characters FROM] text)."""
    characters = text_of(t, node.expression) if node.args.get("expression") else exp.Literal.string(" ")
    position = str(node.args.get("position") or "BOTH").upper()
    if node.args.get("collation"):
        raise Refused(node, "TRIM is translated without COLLATE")
    return Typed(exp.Trim(this=text_of(t, node.this), expression=characters, position=position), STRING)


def trim(position: str) -> FunctionRule:
    """Return the rule of btrim, ltrim or rtrim with an optional second argument, the characters to remove."""

    def rule(c: Call) -> Typed:
        c.expect(1, 2)
        characters = c.string(1) if len(c.arguments) == 2 else exp.Literal.string(" ")
        return Typed(exp.Trim(this=c.string(0), expression=characters, position=position), STRING)

    return rule


def replace(c: Call) -> Typed:
    """Translate REPLACE of a literal text that is not empty; for an empty one the engines differ."""
    c.expect(3)
    if not c.text(1):
        raise c.refusal("the text to replace must not be empty")
    return Typed(call("replace", c.string(0), c.text(1), c.string(2)), STRING)


TEXT: dict[str, FunctionRule] = {
    "char_length": same("char_length", string, result=INT),
    "character_length": same("char_length", string, result=INT),
    "lower": same("lower", string),
    "replace": replace,
    "upper": same("upper", string),
}
"""Text functions with the same name and semantics in all engines."""


# --- of arrays -------------------------------------------------------------------------------------------------------


def element(t: Translation, node: exp.Expr) -> Typed:
    """Translate array[n], counted from 1; null after its end."""
    value, index = t.expression(node.this), node.expressions[0] if len(node.expressions) == 1 else None
    place = t.expression(index).integer if index is not None else None
    if value.type.element is None or not place or place < 1:
        raise Refused(node, "[ ] is translated for arrays of known type with a literal from 1 on", SCHEMA_ADVICE)
    return Typed(call("try_element_at", value.sql, number(place)), value.type.element)


def cardinality(c: Call) -> Typed:
    value = c.only()
    if value.type.element is None:
        raise c.refusal(f"takes an array, not {value.type}")
    return Typed(call("array_size", value.sql), INT)

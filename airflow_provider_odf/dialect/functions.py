"""Rows for the tables of functions: a Spark template, the kinds of the arguments and the type of the result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.arithmetic import has_exact_sign
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translator, refuse_others
from airflow_provider_odf.dialect.expressions import align, comparable, unify
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, call, cast, convert, sql, strictly
from airflow_provider_odf.dialect.types import BIGINT, INT, STRING, UNKNOWN, Type

LAST = 2**31 - 1
"""A length that reaches the end of every string."""


@dataclass(frozen=True)
class Parameter:
    """A kind of argument: a test, words for messages, and the form of the argument for Spark.

    An argument of unknown type must have the type ``type`` in the data."""

    accepts: Callable[[Value], bool]
    words: str
    advice: str = ""
    form: Callable[[Value], exp.Expr | str | int] = lambda value: value.sql
    type: Type = UNKNOWN

    def of(self, c: Call, index: int) -> exp.Expr | str | int:
        """:raises Refusal: the argument is of another kind."""
        value = strictly(c.arguments[index], self.type, f"argument {index + 1} of {c.name}")
        if self.accepts(value):
            return self.form(value)
        literal = value.integer if value.text is None else f"'{value.text[:40]}'"
        message = f"argument {index + 1} must be {self.words}, not {value.type if literal is None else literal}"
        raise c.refusal(message, types.advice([value.type], self.advice))


def size(minimum: int, maximum: int = LAST) -> Parameter:
    words = f"an integer literal {f'of at least {minimum}' if maximum == LAST else f'from {minimum} to {maximum}'}"
    return Parameter(lambda v: v.integer is not None and minimum <= v.integer <= maximum, words)


def of_types(names: Collection[str], words: str) -> Parameter:
    return Parameter(lambda value: value.type.name in names, words, "cast it")


ANY = Parameter(lambda value: True, "")
TEXT = Parameter(lambda value: value.type == STRING, "a string", "cast it to VARCHAR", type=STRING)
LITERAL = Parameter(lambda value: bool(value.text), "a literal string that is not empty")
WHOLE = Parameter(
    lambda value: value.type.is_integer,
    "an integer",
    "cast it to INT",
    lambda value: value.integer if value.integer is not None else cast(value.sql, INT),
)
"""An INT for Spark, also where other engines take a BIGINT."""
SIZE = size(0)
SIGNED = Parameter(lambda value: has_exact_sign(value.type), "a number of at most 34 digits", "cast it")
ARRAY = Parameter(lambda value: value.type.element is not None, "an array")
TIMESTAMP = of_types(("TIMESTAMP",), "a TIMESTAMP")
TIME = of_types(("DATE", "TIMESTAMP"), "a DATE or TIMESTAMP")


def row(
    template: str, *parameters: Parameter, result: Type | None = STRING, defaults: Sequence[str | int] = ()
) -> FunctionRule:
    """Return the rule of a function.

    :param template: the name of a Spark function with the same arguments, or an expression over a, b, c…
    :param result: the type of the result; None is that of the first argument.
    :param defaults: the values of the last parameters if the call does not have them.
    """
    if "(" not in template:
        template = f"{template}({', '.join('abcdefgh'[: len(parameters)])})"
    least = len(parameters) - len(defaults)

    def rule(c: Call) -> Value:
        arguments = c.expect(least, len(parameters))
        values = [parameter.of(c, index) for index, parameter in enumerate(parameters[: len(arguments)])]
        values += defaults[len(arguments) - least :]
        return Value(sql(template, *values), arguments[0].type if result is None else result)

    return rule


def by_type(templates: Mapping[str, str], result: Callable[[Type], Type] = lambda type_: type_) -> FunctionRule:
    """Return the rule of a function of one number, with a template for each type or family of types.

    ``{}`` in a template is the type of the result, which ``result`` returns for the type of the argument."""

    def rule(c: Call) -> Value:
        (value,) = c.expect(1)
        template = templates.get(value.type.name) or templates.get(value.type.family)
        if template is None:
            advice = types.advice([value.type], "cast it")
            raise c.refusal(f"supports only {', '.join(templates)}, not {value.type}", advice)
        type_ = result(value.type)
        return Value(sql(template.format(type_.ddl), value.sql), type_)

    return rule


def of_common_type(name: str) -> FunctionRule:
    """Return the rule of a function of any number of values of one type, such as coalesce."""

    def rule(c: Call) -> Value:
        if not c.arguments:
            raise c.refusal("needs arguments")
        forms, type_ = unify(c.translator, c.node, c.arguments)
        return Value(call(name, *forms) if len(forms) > 1 else forms[0], type_)

    return rule


def nullif(c: Call) -> Value:
    """Translate NULLIF, which has the type of its first argument."""
    first, second = c.expect(2)
    if c.translator.engine.common(first.type, second.type) != first.type:
        advice = types.advice([first.type, second.type], "cast the second argument")
        raise c.refusal(f"does not support {first.type} and {second.type}", advice)
    left, right, type_ = comparable(c.translator, c.node, first, second)
    # Cast also where Spark would not widen the first.
    return Value(call("nullif", convert(left, type_), align(right, type_)), type_)


def count(c: Call) -> Value:
    arguments = [value.sql for value in c.arguments]
    is_of_rows = not arguments or any(isinstance(argument, exp.Star) for argument in arguments)
    return Value(call("count", *([exp.Star()] if is_of_rows else arguments)), BIGINT)


SCALARS: dict[str, FunctionRule] = {
    "abs": row("abs", SIGNED, result=None),
    "btrim": row("TRIM(BOTH b FROM a)", TEXT, TEXT, defaults=(" ",)),
    "char_length": row("char_length", TEXT, result=INT),
    "character_length": row("char_length", TEXT, result=INT),
    "coalesce": of_common_type("coalesce"),
    "lower": row("lower", TEXT),
    "ltrim": row("TRIM(LEADING b FROM a)", TEXT, TEXT, defaults=(" ",)),
    "nullif": nullif,
    "replace": row("replace", TEXT, LITERAL, TEXT),
    "rtrim": row("TRIM(TRAILING b FROM a)", TEXT, TEXT, defaults=(" ",)),
    "upper": row("upper", TEXT),
}
"""Functions with the same semantics in all engines."""
WINDOWS: dict[str, FunctionRule] = {
    **{name: row(f"CAST({name}() AS BIGINT)", result=BIGINT) for name in ("dense_rank", "rank", "row_number")},
    # A default is refused: Flink uses it for nulls, too.
    **{name: row(name, ANY, SIZE, result=None, defaults=(1,)) for name in ("lag", "lead")},
}


def form(name: str, *keys: str) -> NodeRule:
    """Return the rule of special syntax such as SUBSTRING(text FROM 1): a call with these parts as arguments."""

    def rule(t: Translator, node: exp.Expr) -> Value:
        refuse_others(node, keys)
        parts = [node.args[key] for key in keys if node.args.get(key) is not None]
        if any(node.args.get(key) is None for key in keys[: len(parts)]):
            raise Refusal(node, f"{name.upper()} needs its {keys[1].upper()}")
        return t.call(node, t.engine.scalars, parts, name)

    return rule


def trim(t: Translator, node: exp.Expr) -> Value:
    """Translate TRIM([BOTH | LEADING | TRAILING] [characters FROM] text)."""
    refuse_others(node, {"this", "expression", "position"})
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")).upper(), "btrim")
    parts = [node.this, *([node.expression] if node.args.get("expression") else [])]
    return t.call(node, t.engine.scalars, parts, name)


NODES: dict[type[exp.Expr], NodeRule] = {exp.Substring: form("substring", "this", "start", "length"), exp.Trim: trim}

"""What Flink and RisingWave share here: queries that look at one record at a time.

These engines run queries over an endless stream and keep state between runs (windows, joins, aggregates, versions of
temporal tables). A query without state gives the same rows on Spark; others are refused.
No function is listed whose details are not known to agree.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import text_functions
from airflow_provider_odf.dialect.arithmetic import arithmetic
from airflow_provider_odf.dialect.calls import anonymous
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.expressions import SHARED
from airflow_provider_odf.dialect.parameters import CONDITIONS, plain, same_type, string
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.state import stateful
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call
from airflow_provider_odf.dialect.typed import cast as cast_to
from airflow_provider_odf.dialect.types import BIGINT, INT, NULL, STRING, Type, of_data_type, timestamp

_FAMILIES = {"TINYINT": "INTEGER", "SMALLINT": "INTEGER", "INT": "INTEGER", "BIGINT": "INTEGER"}
_CASTS = {
    ("INTEGER", "INTEGER"), ("INTEGER", "DOUBLE"), ("INTEGER", "STRING"), ("INTEGER", "DECIMAL"),
    ("STRING", "INTEGER"), ("STRING", "DOUBLE"), ("FLOAT", "DOUBLE"), ("TIMESTAMP", "TIMESTAMP"),
}  # fmt: skip
_LARGEST_INT = 2**31 - 1


def calculation(t: Translation, node: exp.Expr) -> Typed:
    """Whole numbers among themselves (not divided), and anything with a DOUBLE."""
    left, right = t.expression(node.this), t.expression(node.expression)
    types = (left.type, right.type)
    is_whole = all(type_.is_integer for type_ in types) and not isinstance(node, (exp.Div, exp.Mod))
    is_double = Type("DOUBLE") in types and all(
        type_.is_integer or type_.name in ("DOUBLE", "DECIMAL") for type_ in types
    )
    if not (is_whole or is_double):
        raise Refused(node, f"engines calculate {types[0]} with {types[1]} in different ways", "cast both to DOUBLE")
    return arithmetic(t, node)


def literal(t: Translation, node: exp.Expr) -> Typed:
    """Whole numbers are INT or BIGINT by their size, others DECIMAL unless they have an exponent."""
    if node.args.get("is_string") or "e" in node.name.lower():
        return SHARED[exp.Literal](t, node)
    if node.name.isdigit():
        is_int = int(node.name) <= _LARGEST_INT
        return Typed(exp.Literal.number(int(node.name)), INT) if is_int else SHARED[exp.Literal](t, node)
    whole, _, fraction = node.name.partition(".")
    digits = len(whole.lstrip("0")) + len(fraction)
    return Typed(exp.Literal.number(node.name), Type("DECIMAL", max(digits, 1), len(fraction)))


def cast(t: Translation, node: exp.Expr) -> Typed:
    value, type_ = t.expression(node.this), of_data_type(node.args["to"], timestamp("ms"))
    pair = tuple(_FAMILIES.get(name, name) for name in (value.type.name, type_.name))
    if value.type.ddl == type_.ddl:
        return value
    if value.type != NULL and pair not in _CASTS:
        advice = SCHEMA_ADVICE if not value.type.is_known else "use engine: spark or datafusion for this query"
        raise Refused(node, f"CAST of {value.type} to {type_} is not translated", advice)
    return Typed(cast_to(value.sql, type_), type_)


def over(t: Translation, node: exp.Expr) -> Typed:
    raise stateful(node, "OVER keeps")


def aggregate(c: Call) -> Typed:
    raise stateful(c.node, f"{c.name} keeps")


def window(c: Call) -> Typed:
    raise stateful(c.node, f"{c.name}: time windows keep")


def absolute(c: Call) -> Typed:
    return same_type("abs", lambda type_: type_.is_integer or type_.name == "DOUBLE", "whole numbers and DOUBLE")(c)


def replace(c: Call) -> Typed:
    c.expect(3)
    if not c.text(1):
        raise c.refusal("the text to replace must not be empty")
    return Typed(call("replace", c.string(0).sql, c.text(1), c.string(2).sql), STRING)


SCALARS: dict[str, FunctionRule] = {
    **{name: CONDITIONS[name] for name in ("coalesce", "nullif")},
    **dict.fromkeys(
        ("tumble", "tumble_start", "tumble_end", "hop", "hop_start", "hop_end", "session", "cumulate"), window
    ),
    "abs": absolute,
    "char_length": plain("char_length", string, result=INT),
    "character_length": plain("char_length", string, result=INT),
    "lower": plain("lower", string, result=STRING),
    "replace": replace,
    "upper": plain("upper", string, result=STRING),
}
_STATEFUL = (
    "array_agg avg collect count dense_rank first_value lag last_value lead listagg max min rank row_number "
    "stddev_pop stddev_samp string_agg sum var_pop var_samp"
)
AGGREGATES: dict[str, FunctionRule] = dict.fromkeys(_STATEFUL.split(), aggregate)
NODES: dict[type[exp.Expr], NodeRule] = {
    **SHARED,
    exp.Add: calculation,
    exp.Sub: calculation,
    exp.Mul: calculation,
    exp.Div: calculation,
    exp.Anonymous: anonymous,
    exp.Cast: cast,
    exp.Literal: literal,
    exp.Star: lambda t, node: Typed(exp.Star(), BIGINT),
    exp.Substring: text_functions.substring_node,
    exp.Trim: text_functions.trim_node,
    exp.Window: over,
}

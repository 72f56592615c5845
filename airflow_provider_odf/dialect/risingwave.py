"""``engine: risingwave``: RisingWave's SQL (PostgreSQL's grammar and meanings) over a batch.

Only what PostgreSQL documents to be as in Spark is listed; the tests marked ``postgres`` compare with PostgreSQL.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.risingwave import RisingWave as Stock
from sqlglot.parsers.risingwave import RisingWaveParser

from airflow_provider_odf.dialect import aggregates, arithmetic, numerals, text_functions
from airflow_provider_odf.dialect.calls import anonymous, filtered, windowed
from airflow_provider_odf.dialect.engine import Call, Engine, FunctionRule, Translation, spelled
from airflow_provider_odf.dialect.expressions import SHARED
from airflow_provider_odf.dialect.parameters import CONDITIONS, first_nullif, plain, same_type, string
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call
from airflow_provider_odf.dialect.typed import cast as cast_to
from airflow_provider_odf.dialect.types import (
    BIGINT,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Type,
    as_decimal,
    of_data_type,
    timestamp,
)

_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM")
_FAMILIES = {"TINYINT": "INTEGER", "SMALLINT": "INTEGER", "INT": "INTEGER", "BIGINT": "INTEGER"}
_CASTS = {
    ("INTEGER", "INTEGER"), ("INTEGER", "DOUBLE"), ("INTEGER", "STRING"), ("INTEGER", "DECIMAL"),
    ("STRING", "INTEGER"), ("STRING", "DOUBLE"), ("FLOAT", "DOUBLE"), ("TIMESTAMP", "TIMESTAMP"),
}  # fmt: skip
_COMPARED = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP", "STRING")


class RisingWave(Stock):
    """The grammar; meanings are in ``ENGINE``."""

    class Parser(RisingWaveParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: RisingWaveParser.FUNCTION_PARSERS[name] for name in _SYNTAX}


def query(statement: exp.Expr) -> exp.Expr:
    """The query of a statement with the names folded: CREATE MATERIALIZED VIEW is how RisingWave writes a step."""
    if isinstance(statement, exp.Create):
        if statement.kind != "VIEW" or statement.expression is None:
            raise Refused(statement, "only CREATE MATERIALIZED VIEW … AS query is translated")
        statement = statement.expression
    for name in statement.find_all(exp.Identifier):
        if not name.args.get("quoted"):
            name.set("this", name.this.lower())
    return statement


def literal(t: Translation, node: exp.Expr) -> Typed:
    """As standard SQL has it, but that a number with an exponent is a NUMERIC too."""
    if not node.args.get("is_string") and "e" in node.name.lower():
        advice = "cast a text: cast('1e3' as double precision)"
        raise Refused(node, f"{spelled(node)} is a NUMERIC in RisingWave, which is not translated", advice)
    return numerals.literal(t, node)


def calculated(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Whole numbers among themselves (not divided), and anything with a DOUBLE."""
    types = (left.type, right.type)
    is_whole = all(type_.is_integer for type_ in types) and not isinstance(node, exp.Div)
    is_double = DOUBLE in types and all(type_.is_integer or type_.name in ("DOUBLE", "DECIMAL") for type_ in types)
    if not (is_whole or is_double):
        raise Refused(node, f"engines calculate {types[0]} with {types[1]} in different ways", "cast both to DOUBLE")
    return arithmetic.calculated(node, left, right)


def _target(node: exp.Expr, value: Typed) -> Type:
    """The type of a CAST. A NUMERIC without digits has no limit: of a whole number it is a DECIMAL that holds it."""
    target: exp.DataType = node.args["to"]
    if target.this == exp.DType.DECIMAL and not target.expressions and value.type.is_integer:
        return as_decimal(value.type)
    type_ = of_data_type(target, timestamp("ms"))
    is_cut = target.this in (exp.DType.CHAR, exp.DType.NCHAR) or (target.expressions and type_.name != "DECIMAL")
    if is_cut or not type_.is_known:
        advice = "leave the length or precision out" if is_cut else ""
        raise Refused(node, f"a CAST to {spelled(target)} is not translated", advice)
    return type_


def cast(t: Translation, node: exp.Expr) -> Typed:
    value = t.expression(node.this)
    type_ = _target(node, value)
    pair = tuple(_FAMILIES.get(name, name) for name in (value.type.name, type_.name))
    if value.type.ddl == type_.ddl:
        return value
    if value.type != NULL and pair not in _CASTS:
        advice = SCHEMA_ADVICE if not value.type.is_known else "use engine: spark or datafusion for this query"
        raise Refused(node, f"CAST of {value.type} to {type_} is not translated", advice)
    return Typed(cast_to(value.sql, type_), type_)


def absolute(c: Call) -> Typed:
    return same_type("abs", lambda type_: type_.is_integer or type_ == DOUBLE, "whole numbers and DOUBLE")(c)


def sum_(c: Call) -> Typed:
    """Of INT a BIGINT; of BIGINT it would be a NUMERIC without limit."""
    c.expect(1)
    if c.argument(0).type not in (INT, DOUBLE):
        raise c.refusal(f"is translated for INT and DOUBLE, not {c.argument(0).type}", "cast it")
    return Typed(call("sum", c.argument(0).sql), BIGINT if c.argument(0).type == INT else DOUBLE)


def extreme(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        if c.argument(0).type.name not in _COMPARED:
            raise c.refusal(f"is not translated for {c.argument(0).type}")
        return Typed(call(name, c.argument(0).sql), c.argument(0).type)

    return rule


ENGINE = Engine(
    name="risingwave",
    dialect=RisingWave,
    nodes={
        **SHARED,
        **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), arithmetic.chained(calculated)),
        exp.Anonymous: anonymous,
        exp.Cast: cast,
        exp.Filter: filtered,
        exp.Literal: literal,
        exp.Star: lambda t, node: Typed(exp.Star(), BIGINT),
        exp.Substring: text_functions.substring_node,
        exp.Trim: text_functions.trim_node,
        exp.Window: windowed,
    },
    scalars={
        "coalesce": CONDITIONS["coalesce"],
        "abs": absolute,
        "char_length": plain("char_length", string, result=INT),
        "character_length": plain("char_length", string, result=INT),
        "lower": plain("lower", string, result=STRING),
        "nullif": first_nullif,
        "replace": text_functions.replace,
        "upper": plain("upper", string, result=STRING),
    },
    aggregates={"count": aggregates.count, "max": extreme("max"), "min": extreme("min"), "sum": sum_},
    windows={name: aggregates.WINDOWS[name] for name in ("dense_rank", "lag", "lead", "rank", "row_number")},
    reasons=dict.fromkeys(("tumble", "hop"), "time windows come with transforms: use one in a derivative dataset"),
    query=query,
)

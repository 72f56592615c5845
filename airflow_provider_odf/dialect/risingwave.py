"""``engine: risingwave``: RisingWave's SQL (grammar and semantics of PostgreSQL) over a batch.

The tables only list features that PostgreSQL documents to work as in Spark. The tests marked ``postgres`` compare them.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.risingwave import RisingWave as Stock
from sqlglot.parsers.risingwave import RisingWaveParser

from airflow_provider_odf.dialect import arithmetic, calls, expressions, literals
from airflow_provider_odf.dialect.engine import Call, Engine, Translation, spell
from airflow_provider_odf.dialect.functions import (
    TEXT,
    absolute,
    nullif,
    of_common_type,
    substring,
    substring_form,
    trim_form,
)
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call
from airflow_provider_odf.dialect.typed import cast as cast_to
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, INT, NULL, Type, as_decimal, of_data_type, timestamp

_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM")
_CASTS = {
    ("INTEGER", "INTEGER"), ("INTEGER", "DOUBLE"), ("INTEGER", "STRING"), ("INTEGER", "DECIMAL"),
    ("STRING", "INTEGER"), ("STRING", "DOUBLE"), ("FLOAT", "DOUBLE"), ("TIMESTAMP", "TIMESTAMP"),
}  # fmt: skip
_ORDERED = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP", "STRING")
_DOUBLE_DIGITS = 15
"""Digits of a DECIMAL that a DOUBLE holds exactly."""


class RisingWave(Stock):
    """The grammar; ``ENGINE`` has the semantics."""

    class Parser(RisingWaveParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: RisingWaveParser.FUNCTION_PARSERS[name] for name in _SYNTAX}


def query(statement: exp.Expr) -> exp.Expr:
    """Return the query of a statement, which may be CREATE MATERIALIZED VIEW, with unquoted names in lower case."""
    if isinstance(statement, exp.Create):
        if statement.kind != "VIEW" or statement.expression is None:
            raise Refused(statement, "only CREATE MATERIALIZED VIEW … AS query is translated")
        statement = statement.expression
    for name in statement.find_all(exp.Identifier):
        if not name.args.get("quoted"):
            name.set("this", name.this.lower())
    return statement


def literal(t: Translation, node: exp.Expr) -> Typed:
    """Translate a literal. A number with an exponent is refused: it is a NUMERIC without limit."""
    if not node.args.get("is_string") and "e" in node.name.lower():
        advice = "cast a text: cast('1e3' as double precision)"
        raise Refused(node, f"{spell(node)} is a NUMERIC in RisingWave, which is not translated", advice)
    return literals.literal(t, node)


def calculate(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Translate arithmetic of whole numbers, except division, and of any number with a DOUBLE."""
    types = (left.type, right.type)
    is_whole = all(type_.is_integer for type_ in types) and not isinstance(node, exp.Div)
    is_double = DOUBLE in types and all(
        type_.is_integer or type_ == DOUBLE or (type_.is_decimal and type_.precision <= _DOUBLE_DIGITS)
        for type_ in types
    )
    if not (is_whole or is_double):
        raise Refused(node, f"engines calculate {types[0]} with {types[1]} in different ways", "cast both to DOUBLE")
    return arithmetic.calculate(node, left, right)


def cast(t: Translation, node: exp.Expr) -> Typed:
    value = t.expression(node.this)
    type_ = _target(node, value)
    families = tuple("INTEGER" if type_.is_integer else type_.name for type_ in (value.type, type_))
    if value.type.ddl == type_.ddl:
        return value
    if value.type != NULL and families not in _CASTS:
        advice = SCHEMA_ADVICE if not value.type.is_known else "use engine: spark or datafusion for this query"
        raise Refused(node, f"CAST of {value.type} to {type_} is not translated", advice)
    return Typed(cast_to(value.sql, type_), type_)


def _target(node: exp.Expr, value: Typed) -> Type:
    """Return the type of a CAST. NUMERIC without digits has no limit; for a whole number a DECIMAL holds it."""
    target: exp.DataType = node.args["to"]
    if target.this == exp.DType.DECIMAL and not target.expressions and value.type.is_integer:
        return as_decimal(value.type)
    type_ = of_data_type(target, timestamp())
    is_cut = target.this in (exp.DType.CHAR, exp.DType.NCHAR) or (target.expressions and not type_.is_decimal)
    if is_cut or not type_.is_known:
        advice = "leave the length or precision out" if is_cut else ""
        raise Refused(node, f"a CAST to {spell(target)} is not translated", advice)
    return type_


def total(c: Call) -> Typed:
    """Translate SUM. Of INT it is a BIGINT; of BIGINT it would be a NUMERIC without limit."""
    value = c.only()
    if value.type not in (INT, DOUBLE):
        raise c.refusal(f"is translated for INT and DOUBLE, not {value.type}", "cast it")
    return Typed(call("sum", value.sql), BIGINT if value.type == INT else DOUBLE)


def substring_from_one(c: Call) -> Typed:
    """Translate SUBSTRING from position 1 on. Earlier positions count as part of the length, but not in Spark."""
    c.size(1, least=1)
    return substring(c)


ENGINE = Engine(
    name="risingwave",
    dialect=RisingWave,
    nodes={
        **expressions.NODES,
        **calls.NODES,
        **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), arithmetic.operator_rule(calculate)),
        exp.Cast: cast,
        exp.Literal: literal,
        exp.Substring: substring_form,
        exp.Trim: trim_form,
    },
    scalars={
        **TEXT,
        "abs": absolute,
        "coalesce": of_common_type("coalesce"),
        "nullif": nullif,
        "substring": substring_from_one,
    },
    aggregates={
        "count": calls.count,
        "max": calls.extreme("max", _ORDERED),
        "min": calls.extreme("min", _ORDERED),
        "sum": total,
    },
    windows=calls.WINDOWS,
    query=query,
)

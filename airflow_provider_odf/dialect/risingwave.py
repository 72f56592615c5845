"""``engine: risingwave``: RisingWave's SQL (grammar and semantics of PostgreSQL) over a batch.

The tables only list features that PostgreSQL documents to work as in Spark. The tests marked ``postgres`` compare them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.risingwave import RisingWave as Stock
from sqlglot.parsers.risingwave import RisingWaveParser

from airflow_provider_odf.dialect import arithmetic, expressions, functions, ordering, types, windows
from airflow_provider_odf.dialect.engine import Engine, Translator, spell
from airflow_provider_odf.dialect.functions import LAST, SIZE, TEXT, by_type, of_types, row, size
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value
from airflow_provider_odf.dialect.spark import cast as cast_to
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, INT, NULL, Type, as_decimal, of_data_type, timestamp

_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM")
_CASTS = {
    ("INTEGER", "INTEGER"), ("INTEGER", "DOUBLE"), ("INTEGER", "STRING"), ("INTEGER", "DECIMAL"),
    ("STRING", "INTEGER"), ("STRING", "DOUBLE"), ("FLOAT", "DOUBLE"), ("TIMESTAMP", "TIMESTAMP"),
}  # fmt: skip
_ORDERED = of_types(
    ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP", "STRING"), "an integer, string, date or time"
)


class RisingWave(Stock):
    """The grammar; ``ENGINE`` has the semantics."""

    class Parser(RisingWaveParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: RisingWaveParser.FUNCTION_PARSERS[name] for name in _SYNTAX}

        def _parse_query_modifiers(self, this: Any) -> Any:
            query = super()._parse_query_modifiers(this)
            if isinstance(query, exp.Query) and self._match_text_seq("EMIT", "ON", "WINDOW", "CLOSE"):
                query.meta[windows.EMIT_ON_CLOSE] = True
            return query


def query(statement: exp.Expr) -> exp.Expr:
    """Return the query of a statement, which may be CREATE MATERIALIZED VIEW, with unquoted names in lower case."""
    if isinstance(statement, exp.Create):
        if statement.kind != "VIEW" or statement.expression is None:
            raise Refusal(statement, "CREATE is supported only as CREATE MATERIALIZED VIEW … AS query")
        statement = statement.expression
    for name in statement.find_all(exp.Identifier):
        if not name.args.get("quoted"):
            name.set("this", name.this.lower())
    return statement


def literal(t: Translator, node: exp.Expr) -> Value:
    """Translate a literal. A number with an exponent is refused: it is a NUMERIC without limit."""
    if not node.args.get("is_string") and "e" in node.name.lower():
        advice = "cast a string: cast('1e3' as double precision)"
        raise Refusal(node, f"{spell(node)} is a NUMERIC in RisingWave, which is not supported", advice)
    return expressions.literal(t, node)


def calculate(node: exp.Expr, left: Value, right: Value) -> Value:
    """Translate arithmetic of whole numbers, except division, of any number with a DOUBLE, and times with intervals."""
    sides = (left.type, right.type)
    if types.INTERVAL in sides:
        # A DATE becomes a TIMESTAMP beside an interval.
        times = (Value(cast_to(v.sql, timestamp()), timestamp()) if v.type == types.DATE else v for v in (left, right))
        return arithmetic.calculate(node, *times)
    is_whole = all(type_.is_integer for type_ in sides) and not isinstance(node, exp.Div)
    is_double = DOUBLE in sides and types.FLOAT not in sides and all(map(types.is_exact_double, sides))
    if not (is_whole or is_double):
        advice = types.advice(sides, "cast both to DOUBLE")
        raise Refusal(node, f"engines calculate {sides[0]} with {sides[1]} differently", advice)
    return arithmetic.calculate(node, left, right)


def cast(t: Translator, node: exp.Expr) -> Value:
    value = t.expression(node.this)
    type_ = _target(node, value)
    if value.type.ddl == type_.ddl:
        return value
    if value.type != NULL and (value.type.family, type_.family) not in _CASTS:
        advice = types.advice([value.type], "use engine: spark or datafusion for this query")
        raise Refusal(node, f"CAST of {value.type} to {type_} is not supported", advice)
    return Value(cast_to(value.sql, type_), type_)


def _target(node: exp.Expr, value: Value) -> Type:
    """Return the type of a CAST. NUMERIC without digits has no limit; for a whole number a DECIMAL holds it."""
    target: exp.DataType = node.args["to"]
    if target.this == exp.DType.DECIMAL and not target.expressions and value.type.is_integer:
        return as_decimal(value.type)
    type_ = of_data_type(target, timestamp())
    is_cut = target.this in (exp.DType.CHAR, exp.DType.NCHAR) or (target.expressions and not type_.is_decimal)
    if is_cut or not type_.is_known:
        advice = "leave the length or precision out" if is_cut else ""
        raise Refusal(node, f"a CAST to {spell(target)} is not supported", advice)
    return type_


ENGINE = Engine(
    name="risingwave",
    dialect=RisingWave,
    nodes={
        **expressions.NODES,
        **functions.NODES,
        **ordering.NODES,
        **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), arithmetic.operator_rule(calculate)),
        exp.Cast: cast,
        exp.Literal: literal,
        exp.Neg: arithmetic.negation,
    },
    scalars={
        **functions.SCALARS,
        # Positions before 1 count as part of the length, but not in Spark.
        "substring": row("substring", TEXT, size(1), SIZE, defaults=(LAST,)),
    },
    aggregates={
        "count": functions.count,
        "max": row("max", _ORDERED, result=None),
        "min": row("min", _ORDERED, result=None),
        # Of BIGINT it would be a NUMERIC without limit.
        "sum": by_type({"INT": "sum(a)", "DOUBLE": "sum(a)"}, lambda type_: BIGINT if type_ == INT else DOUBLE),
    },
    windows=functions.WINDOWS,
    query=query,
)

TRANSFORM = replace(ENGINE, time_windows=("tumble", "hop"))

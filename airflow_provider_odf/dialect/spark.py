"""Spark expressions with their types, and templates that build them.

Where one type is expected of a value of unknown type, Spark checks the type in the data before it reads rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.types import DOUBLE, NULL, STRING, UNKNOWN, Type

_ARGUMENTS = "abcdefgh"
"""Names of arguments in templates."""
_NEEDS_PARENTHESES = (exp.Binary, exp.Unary, exp.Predicate)


@dataclass(frozen=True)
class Value:
    """A Spark expression and its type in the source engine."""

    sql: exp.Expr
    type: Type

    @property
    def text(self) -> str | None:
        """The value of a string literal, else None."""
        return self.sql.name if isinstance(self.sql, exp.Literal) and self.sql.is_string else None

    @property
    def integer(self) -> int | None:
        """The value of a (signed) integer literal, else None."""
        node, sign = (self.sql.this, -1) if isinstance(self.sql, exp.Neg) else (self.sql, 1)
        digits = node.name.removesuffix("L") if isinstance(node, exp.Literal) and not node.is_string else ""
        return sign * int(digits) if digits.isdigit() and len(digits) < 19 else None


class Output(Spark):
    """Spark's grammar with WITH left in its query: at the start, where sqlglot moves it, it could hide a table."""

    class Generator(SparkGenerator):
        EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar = set()


class _Templates(Spark):
    """Spark's grammar, without sqlglot's own forms of functions."""

    class Parser(SparkParser):
        STRICT_CAST = True
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRIM")}


@lru_cache(maxsize=1024)
def _template(text: str) -> exp.Expr:
    return exp.maybe_parse(text, dialect=_Templates)


def sql(template: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return the Spark expression of a template, in which a, b, c and so on stand for the arguments.

    Arguments of type str and int become literals. An operator gets parentheses where an operator uses it.

    >>> sql("upper(a) || b", exp.column("x"), "y").sql("spark")
    "UPPER(x) || 'y'"
    """
    tree = _template(template).copy()
    values = {name: _expression(value) for name, value in zip(_ARGUMENTS, arguments, strict=False)}
    if isinstance(tree, exp.Column):
        return values[tree.name]
    inserted = set()
    for column in list(tree.find_all(exp.Column)):
        value = values[column.name]
        is_operand = isinstance(column.parent, _NEEDS_PARENTHESES) and not isinstance(column.parent, exp.Paren)
        value = value.copy() if column.name in inserted else value
        column.replace(in_parentheses(value) if is_operand else value)
        inserted.add(column.name)
    return tree


def call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return a call of a Spark function."""
    return exp.Anonymous(this=name, expressions=[_expression(argument) for argument in arguments])


def _expression(value: exp.Expr | str | int) -> exp.Expr:
    if isinstance(value, str):
        return exp.Literal.string(value)
    return exp.Literal.number(value) if isinstance(value, int) else value


def in_parentheses(node: exp.Expr) -> exp.Expr:
    """Return an operand, in parentheses if it is an operator itself."""
    is_operator = isinstance(node, _NEEDS_PARENTHESES) and not isinstance(node, exp.Paren)
    return exp.Paren(this=node) if is_operator else node


def operation(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a binary operator between two expressions, in parentheses."""
    return exp.Paren(this=kind(this=left, expression=right))


@lru_cache(maxsize=1024)
def _data_type(ddl: str) -> exp.DataType:
    return exp.DataType.build(ddl, dialect="spark")


def cast(expression: exp.Expr, type_: Type) -> exp.Expr:
    return exp.Cast(this=expression, to=_data_type(type_.ddl).copy())


def try_cast(expression: exp.Expr, type_: Type) -> exp.Expr:
    """Return TRY_CAST, which is null if the value does not have the type."""
    return exp.TryCast(this=expression, to=_data_type(type_.ddl).copy(), safe=True)


def convert(value: Value, type_: Type) -> exp.Expr:
    """Return the value as ``type_``, for types that Spark and the source engine convert in the same way."""
    return value.sql if value.type.ddl == type_.ddl or type_ == UNKNOWN else cast(value.sql, type_)


_ADVICE = types.advice([UNKNOWN], "")
_NUMBER = "CASE WHEN typeof(a) IN ('int', 'bigint', 'double') THEN a ELSE raise_error(b) END"


def strictly(value: Value, type_: Type, what: str) -> Value:
    """Return a value of unknown type as ``type_``; the query fails if the data have another type.

    A value of known type is returned unchanged."""
    if value.type.is_known or not type_.is_known:
        return value
    # Through STRING, because Spark checks the types of all branches, even of unused ones.
    branch = "CAST(a AS STRING)" if type_ == STRING else f"CAST(CAST(a AS STRING) AS {type_.ddl})"
    check = f"CASE WHEN typeof(a) IN (b) THEN {branch} ELSE CAST(raise_error(c) AS {type_.ddl}) END"
    message = f"{what} must be {type_.ddl}, but the data has another type: {_ADVICE}"
    return Value(sql(check, value.sql, type_.ddl.lower(), message), type_)


def beside(node: exp.Expr, value: Value, other: Value) -> Value:
    """Return a side of a comparison in the type of the other side, or as any number beside a number.

    :raises Refusal: the types of both are unknown."""
    if value.type.is_known or other.type == NULL:
        return value
    if not other.type.is_known:
        raise Refusal(node, "the types of both sides are unknown", _ADVICE)
    if not (other.type.is_integer or other.type == DOUBLE):
        return strictly(value, other.type, "a column")
    message = f"a column must be a number, but the data has another type: {_ADVICE}"
    return Value(sql(_NUMBER, value.sql, message), UNKNOWN)

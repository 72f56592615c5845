"""Spark expressions with their types, and functions that build them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from airflow_provider_odf.dialect.types import INT, STRING, UNKNOWN, Type

SCHEMA_ADVICE = "declare read.schema, or use engine: spark"


@dataclass(frozen=True)
class Typed:
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
        return sign * int(digits) if digits.isdigit() else None


def call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return a call of a Spark function; str and int arguments are literals."""
    return exp.Anonymous(this=name, expressions=[_expression(a) for a in arguments])


def _expression(value: exp.Expr | str | int) -> exp.Expr:
    if isinstance(value, str):
        return exp.Literal.string(value)
    return number(value) if isinstance(value, int) else value


def number(value: int | str) -> exp.Expr:
    return exp.Literal.number(value)


@lru_cache(maxsize=1024)
def _data_type(ddl: str) -> exp.DataType:
    return exp.DataType.build(ddl, dialect="spark")


def cast(expression: exp.Expr, type_: Type, *, is_tried: bool = False) -> exp.Expr:
    """Return CAST(… AS type), or TRY_CAST, which returns null if the value does not have the type."""
    to = _data_type(type_.ddl).copy()
    return exp.TryCast(this=expression, to=to, safe=True) if is_tried else exp.Cast(this=expression, to=to)


def paren(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a binary operator between two expressions, in parentheses."""
    return exp.Paren(this=kind(this=left, expression=right))


def in_parentheses(node: exp.Expr) -> exp.Expr:
    """Return an operand, in parentheses if it is an operator itself."""
    is_operator = isinstance(node, (exp.Binary, exp.Unary)) and not isinstance(node, exp.Paren)
    return exp.Paren(this=node) if is_operator else node


def as_int(value: Typed) -> exp.Expr:
    """Return the value as an INT, for Spark functions whose parameter is a BIGINT in other engines."""
    literal = value.integer
    return number(literal) if literal is not None else cast(value.sql, INT)


def convert(value: Typed, type_: Type) -> exp.Expr:
    """Return the value as ``type_``, for types that Spark and the source engine convert in the same way."""
    is_same = value.type.ddl == type_.ddl or type_ == UNKNOWN
    return value.sql if is_same else cast(value.sql, type_)


def switch(branches: Sequence[tuple[exp.Expr, exp.Expr]], default: exp.Expr) -> exp.Expr:
    """Return CASE WHEN … THEN … ELSE default END."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=default)


def is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=in_parentheses(value.copy()), expression=exp.Null())


def is_like(value: exp.Expr, pattern: str) -> exp.Expr:
    return call("regexp_like", value.copy(), pattern)


def fail(message: str, type_: Type, value: exp.Expr | None = None) -> exp.Expr:
    """Return an expression that fails the query with a message, which ends with the text of ``value``."""
    failure = call("raise_error", message if value is None else call("concat", f"{message}: ", value.copy()))
    return cast(failure, type_) if type_ != UNKNOWN else failure


def has_type(expression: exp.Expr, *names: str) -> exp.Expr:
    """Return a condition whether an expression has one of Spark's types. Spark evaluates it before it reads rows."""
    return exp.In(this=call("typeof", expression.copy()), expressions=[exp.Literal.string(n.lower()) for n in names])


def strictly(value: Typed, type_: Type, what: str) -> exp.Expr:
    """Return a value of unknown type as ``type_``; the query fails if Spark reads another type."""
    message = f"{what} must be {type_.ddl}, but the data have another type: {SCHEMA_ADVICE}"
    # Through STRING, because Spark checks the types of all branches, even of unused ones.
    text = cast(value.sql, STRING)
    branch = text if type_ == STRING else cast(text, type_)
    return switch([(has_type(value.sql, type_.ddl), branch)], fail(message, type_))

"""Spark expressions with their types, and the small pieces they are built of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from airflow_provider_odf.dialect.types import DOUBLE, STRING, UNKNOWN, Type

SCHEMA_ADVICE = "declare read.schema, or use engine: spark"


@dataclass(frozen=True)
class Typed:
    """A Spark expression and the type that the source engine gives it."""

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

    @property
    def double(self) -> float | None:
        """The value of a (signed) literal DOUBLE, else None."""
        node, sign = self.sql.unnest(), 1
        if isinstance(node, exp.Neg):
            node, sign = node.this.unnest(), -1
        is_double = isinstance(node, exp.Literal) and not node.is_string and node.name.endswith("D")
        return sign * float(node.name.removesuffix("D")) if is_double and self.type == DOUBLE else None


def call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """A call of a Spark function; str and int arguments are literals."""
    return exp.Anonymous(this=name, expressions=[_expression(a) for a in arguments])


def _expression(value: exp.Expr | str | int) -> exp.Expr:
    if isinstance(value, str):
        return exp.Literal.string(value)
    return exp.Literal.number(value) if isinstance(value, int) else value


def cast(expression: exp.Expr, type_: Type) -> exp.Expr:
    return exp.Cast(this=expression, to=exp.DataType.build(type_.ddl, dialect="spark"))


def number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def as_int(value: Typed) -> exp.Expr:
    """The value as an INT, which Spark's functions take where other engines take a BIGINT."""
    literal = value.integer
    return number(literal) if literal is not None else cast(value.sql, Type("INT"))


def at_least(value: exp.Expr, least: int) -> exp.Expr:
    """The value, raised to ``least`` where it is less; null stays null, which Spark's greatest would pass over."""
    is_less = exp.LT(this=value.copy(), expression=number(least))
    return switch([(is_less, number(least))], value)


def converted(value: Typed, type_: Type) -> exp.Expr:
    """The value in ``type_``, for types that Spark and the source engine convert alike."""
    is_same = value.type.ddl == type_.ddl or type_ == UNKNOWN
    return value.sql if is_same else cast(value.sql, type_)


def switch(branches: Sequence[tuple[exp.Expr, exp.Expr]], default: exp.Expr) -> exp.Expr:
    """CASE WHEN … THEN … ELSE default END."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=default)


def fail(message: str, type_: Type = UNKNOWN) -> exp.Expr:
    """An expression of a type that stops the query with a message when it is evaluated."""
    failure = call("raise_error", message)
    return cast(failure, type_) if type_ != UNKNOWN else failure


def has_type(expression: exp.Expr, *names: str) -> exp.Expr:
    """Whether an expression has one of Spark's types; Spark knows the answer before it reads a row."""
    return exp.In(this=call("typeof", expression.copy()), expressions=[exp.Literal.string(n.lower()) for n in names])


def strictly(value: Typed, type_: Type, what: str) -> exp.Expr:
    """A value of unknown type as ``type_``; the query stops when Spark finds it to be of another type."""
    message = f"{what} is taken for {type_.ddl} here but the data have another type: {SCHEMA_ADVICE}"
    # By way of STRING, because Spark must find every branch well typed, also those never taken.
    taken = cast(value.sql, STRING)
    branch = taken if type_ == STRING else cast(taken, type_)
    return switch([(has_type(value.sql, type_.ddl), branch)], fail(message, type_))

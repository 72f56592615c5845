"""Translate comparisons, BETWEEN and IN for types that the engines compare in the same way."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import NodeRule, Translation
from airflow_provider_odf.dialect.literals import time_literal
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, convert, fail, has_type, strictly, switch
from airflow_provider_odf.dialect.types import BOOLEAN, DATE, DOUBLE, NULL, UNKNOWN, Type

_PREDICATES = (exp.Predicate, exp.RegexpLike, exp.RegexpILike, exp.Not)


def operand(t: Translation, node: exp.Expr) -> Typed:
    """Return a side of an operator. Precedence of comparisons, LIKE, IN and NOT differs between engines."""
    if isinstance(node, _PREDICATES):
        raise Refused(node, "engines may read this in different ways", "put it in parentheses")
    return t.expression(node)


def comparison(t: Translation, node: exp.Expr) -> Typed:
    left, right = comparable(t, node, operand(t, node.this), operand(t, node.expression))
    return Typed(type(node)(this=left.sql, expression=right.sql), BOOLEAN)


def comparable(t: Translation, node: exp.Expr, left: Typed, right: Typed) -> tuple[Typed, Typed]:
    """Return both sides in the type in which the source engine and Spark compare them.

    :raises Refused: the engines differ."""
    left, right = _as_time(node, left, right.type), _as_time(node, right, left.type)
    if left.type.is_known and right.type.is_known:
        shared = t.engine.compared(left.type, right.type)
        if shared is None:
            raise Refused(node, f"{left.type} and {right.type} are compared in different ways", "cast one of them")
        return Typed(align(left, shared), shared), Typed(align(right, shared), shared)
    return _require_type(node, left, right), _require_type(node, right, left)


def align(value: Typed, type_: Type) -> exp.Expr:
    """Return a value as a member of a common type, cast if Spark would choose another common type."""
    is_implicit = value.type == NULL or type_.is_integer or type_.is_decimal
    return value.sql if is_implicit else convert(value, type_)


def _as_time(node: exp.Expr, value: Typed, other: Type) -> Typed:
    """Return a string literal as a date or time if the other side is one."""
    is_beside_time = value.text is not None and (other == DATE or other.is_timestamp)
    return time_literal(node, value.text or "", other) if is_beside_time else value


def _require_type(node: exp.Expr, value: Typed, other: Typed) -> Typed:
    """Return a side of unknown type; Spark fails the query if it does not have the type of the other side."""
    if value.type.is_known or other.type == NULL:
        return value
    if not other.type.is_known:
        raise Refused(node, "the types of both sides are unknown", SCHEMA_ADVICE)
    if not (other.type.is_integer or other.type == DOUBLE):
        return Typed(strictly(value, other.type, "a column"), other.type)
    is_number = has_type(value.sql, "int", "bigint", "double")
    message = f"a column must be a number, but the data have another type: {SCHEMA_ADVICE}"
    return Typed(switch([(is_number, value.sql)], fail(message, UNKNOWN)), UNKNOWN)


def between(t: Translation, node: exp.Expr) -> Typed:
    value = operand(t, node.this)
    bounds = [t.expression(node.args["low"]), t.expression(node.args["high"])]
    (left, low), (other, high) = [comparable(t, node, value, bound) for bound in bounds]
    if left.sql != other.sql or node.args.get("symmetric"):
        raise Refused(node, "BETWEEN is translated only with bounds of one type", "write it as two comparisons")
    return Typed(exp.Between(this=left.sql, low=low.sql, high=high.sql), BOOLEAN)


def in_(t: Translation, node: exp.Expr) -> Typed:
    value = operand(t, node.this)
    query = node.args.get("query")
    if query is not None:
        return _in_query(t, node, value, query)
    if node.args.get("unnest") or node.args.get("field") or not node.expressions:
        raise Refused(node, "IN is translated with a list of values or a query")
    members = t.expressions(node.expressions)
    if other := next((m.type for m in members if not t.engine.is_member(value.type, m.type)), None):
        raise Refused(node, f"IN of {value.type} with {other} differs from =", f"cast the values to {value.type}")
    pairs = [comparable(t, node, value, member) for member in members]
    if len({side.sql.sql() for side, _ in pairs}) > 1 or not _fit_together(t, [side.type for side, _ in pairs]):
        raise Refused(node, "IN is translated only with values of one type", "cast them to one type")
    return Typed(exp.In(this=pairs[0][0].sql, expressions=[member.sql for _, member in pairs]), BOOLEAN)


def _fit_together(t: Translation, types: list[Type]) -> bool:
    """Return whether one DECIMAL holds all values of the types: otherwise Spark would cut off decimal places."""
    shared: Type | None = types[0]
    for type_ in types[1:] if types[0].is_decimal else []:
        shared = shared and t.engine.compared(shared, type_)
    return shared is not None


def _in_query(t: Translation, node: exp.Expr, value: Typed, subquery: exp.Expr) -> Typed:
    query, type_ = only_column(t, node, subquery)
    if not value.type.is_known or value.type != type_:
        raise Refused(node, f"IN compares {value.type} with {type_}", f"cast one; {SCHEMA_ADVICE}")
    return Typed(exp.In(this=value.sql, query=exp.Subquery(this=query)), BOOLEAN)


def only_column(t: Translation, node: exp.Expr, subquery: exp.Expr) -> tuple[exp.Query, Type]:
    """Return a query inside an expression and the type of its only column."""
    query, columns = t.subquery(subquery.unnest(), t.scope)
    if len(columns.known) != 1 or columns.others is not None:
        raise Refused(node, "a query used as a value, or in IN, must have exactly one named column")
    return query, columns.known[0][1]


_OPERATORS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
NODES: dict[type[exp.Expr], NodeRule] = {
    **dict.fromkeys(_OPERATORS, comparison),
    exp.Between: between,
    exp.In: in_,
}

"""Rules for the parts of SQL that mean the same in every engine here: columns, literals, logic, CASE, comparisons.

"The same" is up to types: what one engine compares as text and another as numbers is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlglot import exp

from airflow_provider_odf.dialect.engine import NodeRule, Translation, chain
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.time_text import date_literal, timestamp_literal
from airflow_provider_odf.dialect.typed import (
    SCHEMA_ADVICE,
    Typed,
    cast,
    converted,
    fail,
    has_type,
    strictly,
    switch,
)
from airflow_provider_odf.dialect.types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, NULL, STRING, UNKNOWN, Type

_LARGEST_INTEGER, _INTEGER_DIGITS = 2**63 - 1, 19
NEGATED_DIGITS = 34
"""Digits of a DECIMAL up to which Spark's unary minus and abs are exact."""
_PREDICATES = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Between,
    exp.In,
    exp.Is,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.RegexpILike,
    exp.Not,
)


def column(t: Translation, node: exp.Expr) -> Typed:
    parts = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
    if len(parts) == 1:
        type_ = t.scope.type_of(parts[0])
    else:
        table = t.scope.table(parts[0])
        type_ = _field(table.type_of(parts[1]) if table else t.scope.type_of(parts[0]), parts[2 if table else 1 :])
    if type_ is None:
        known = ", ".join(t.scope.names[:20])
        raise Refused(node, f"column {'.'.join(parts)} does not exist", f"columns: {known}" if known else "")
    return Typed(node.copy(), type_)


def _field(type_: Type | None, path: list[str]) -> Type | None:
    for name in path:
        if type_ is None or not type_.is_known:
            return type_
        type_ = next((t for known, t in type_.fields if known.lower() == name.lower()), None)
    return type_


def literal(t: Translation, node: exp.Expr) -> Typed:
    if node.args.get("is_string"):
        return Typed(exp.Literal.string(node.name), STRING)
    if not node.name.isdigit():
        if math.isinf(float(node.name)):
            raise Refused(node, f"{_shortened(node.name)} is more than a DOUBLE holds")
        return Typed(exp.Literal.number(f"{node.name}D"), DOUBLE)
    if len(node.name.lstrip("0")) > _INTEGER_DIGITS or int(node.name) > _LARGEST_INTEGER:
        raise Refused(node, f"{_shortened(node.name)} is more than a BIGINT holds")
    return Typed(exp.Literal.number(f"{int(node.name)}L"), BIGINT)


def _shortened(number: str) -> str:
    return number if len(number) <= 40 else f"{number[:37]}..."


def boolean(t: Translation, node: exp.Expr) -> Typed:
    return Typed(node.copy(), BOOLEAN)


def null(t: Translation, node: exp.Expr) -> Typed:
    return Typed(exp.Null(), NULL)


def paren(t: Translation, node: exp.Expr) -> Typed:
    inner = t.expression(node.this)
    return Typed(exp.Paren(this=inner.sql), inner.type)


def condition(t: Translation, node: exp.Expr) -> Typed:
    """An expression that must be a boolean, as WHERE, ON, WHEN and the logical operators take it."""
    value = t.expression(node)
    if not value.type.is_known:
        return Typed(strictly(value, BOOLEAN, "a condition"), BOOLEAN)
    if value.type not in (BOOLEAN, NULL):
        raise Refused(node, f"a condition must be a BOOLEAN, not {value.type}")
    return value if value.type == BOOLEAN else Typed(cast(value.sql, BOOLEAN), BOOLEAN)


def connected(t: Translation, node: exp.Expr) -> Typed:
    """AND and OR."""
    first, operators = chain(node, exp.Connector)
    result = condition(t, first).sql
    for operator in operators:
        result = type(operator)(this=result, expression=condition(t, operator.expression).sql)
    return Typed(result, BOOLEAN)


def not_(t: Translation, node: exp.Expr) -> Typed:
    return Typed(exp.Not(this=condition(t, node.this).sql), BOOLEAN)


def is_(t: Translation, node: exp.Expr) -> Typed:
    """IS [NOT] NULL, TRUE, FALSE."""
    kind = node.expression
    inner = t.expression(node.this) if isinstance(kind, exp.Null) else condition(t, node.this)
    if not isinstance(kind, (exp.Null, exp.Boolean)):
        raise Refused(node, "only IS [NOT] NULL, TRUE, FALSE are translated")
    return Typed(exp.Is(this=_grouped(inner.sql), expression=kind.copy(), negate=node.args.get("negate")), BOOLEAN)


def _grouped(node: exp.Expr) -> exp.Expr:
    return (
        exp.Paren(this=node) if isinstance(node, (exp.Binary, exp.Unary)) and not isinstance(node, exp.Paren) else node
    )


def operand(t: Translation, node: exp.Expr) -> Typed:
    """A side of an operator. Engines bind comparisons, LIKE, IN and NOT differently beside each other."""
    if isinstance(node, _PREDICATES):
        raise Refused(node, "engines may read this in different ways", "put it in parentheses")
    return t.expression(node)


def comparison(t: Translation, node: exp.Expr) -> Typed:
    left, right = comparable(t, node, operand(t, node.this), operand(t, node.expression))
    return Typed(type(node)(this=left.sql, expression=right.sql), BOOLEAN)


def comparable(t: Translation, node: exp.Expr, left: Typed, right: Typed) -> tuple[Typed, Typed]:
    """Both sides in the type in which the source engine and Spark compare them.

    :raises Refused: if the engines differ."""
    left, right = _timed(node, left, right.type), _timed(node, right, left.type)
    left, right = t.engine.beside(left, right.type), t.engine.beside(right, left.type)
    if left.type.is_known and right.type.is_known:
        shared = t.engine.compared(left.type, right.type)
        if shared is None:
            raise Refused(node, f"{left.type} and {right.type} are compared in different ways", "cast one of them")
        return Typed(aligned(left, shared), shared), Typed(aligned(right, shared), shared)
    return _checked(node, left, right), _checked(node, right, left)


def _timed(node: exp.Expr, value: Typed, other: Type) -> Typed:
    """A string literal beside a date or time is one itself."""
    if value.text is None or other.name not in ("DATE", "TIMESTAMP"):
        return value
    return date_literal(node, value.text) if other.name == "DATE" else timestamp_literal(node, value.text)


def _checked(node: exp.Expr, value: Typed, other: Typed) -> Typed:
    """A side of unknown type, made to be of the other side's type or stopped by Spark."""
    if value.type.is_known:
        return value
    if not other.type.is_known:
        raise Refused(node, "the types of both sides are not known", SCHEMA_ADVICE)
    if other.type.is_integer or other.type == DOUBLE:
        return Typed(number_of_unknown_type(value), UNKNOWN)
    if other.type == NULL:
        return value
    return Typed(strictly(value, other.type, "a column"), other.type)


def number_of_unknown_type(value: Typed) -> exp.Expr:
    """A value in its own type, which must turn out to be one of the numbers that readers infer."""
    message = f"a column is taken for a number here but the data have another type: {SCHEMA_ADVICE}"
    return switch([(has_type(value.sql, "int", "bigint", "double"), value.sql)], fail(message))


def between(t: Translation, node: exp.Expr) -> Typed:
    value = operand(t, node.this)
    bounds = [t.expression(node.args["low"]), t.expression(node.args["high"])]
    pairs = [comparable(t, node, value, bound) for bound in bounds]
    if pairs[0][0].sql != pairs[1][0].sql or node.args.get("symmetric"):
        raise Refused(node, "BETWEEN is translated only with bounds of one type", "write it as two comparisons")
    return Typed(exp.Between(this=pairs[0][0].sql, low=pairs[0][1].sql, high=pairs[1][1].sql), BOOLEAN)


def in_(t: Translation, node: exp.Expr) -> Typed:
    value = operand(t, node.this)
    query = node.args.get("query")
    if query is not None:
        return _in_query(t, node, value, query)
    if node.args.get("unnest") or node.args.get("field") or not node.expressions:
        raise Refused(node, "IN is translated with a list of values or a query")
    members = t.expressions(node.expressions)
    if other := next((m.type for m in members if not t.engine.is_member(value.type, m.type)), None):
        raise Refused(node, f"IN of {value.type} with {other} is not what = is", f"cast the values to {value.type}")
    pairs = [comparable(t, node, value, member) for member in members]
    if len({side.sql.sql() for side, _ in pairs}) > 1 or not _fit_together(t, [side.type for side, _ in pairs]):
        raise Refused(node, "IN is translated only with values of one type", "cast them to one type")
    return Typed(exp.In(this=pairs[0][0].sql, expressions=[member.sql for _, member in pairs]), BOOLEAN)


def _fit_together(t: Translation, types: list[Type]) -> bool:
    """Whether one DECIMAL holds all values of these: Spark would cut off the places for which it has no digits."""
    shared: Type | None = types[0]
    for type_ in types[1:] if shared and shared.name == "DECIMAL" else []:
        shared = shared and t.engine.compared(shared, type_)
    return shared is not None


def _in_query(t: Translation, node: exp.Expr, value: Typed, subquery: exp.Expr) -> Typed:
    query, columns = t.subquery(subquery.unnest(), t.scope)
    if len(columns.known) != 1 or columns.others is not None:
        raise Refused(node, "the query in IN must have exactly one named column")
    if not value.type.is_known or value.type != columns.known[0][1]:
        raise Refused(node, f"IN compares {value.type} with {columns.known[0][1]}", f"cast one; {SCHEMA_ADVICE}")
    return Typed(exp.In(this=value.sql, query=exp.Subquery(this=query)), BOOLEAN)


def exists(t: Translation, node: exp.Expr) -> Typed:
    query, _ = t.subquery(node.this.unnest(), t.scope)
    return Typed(exp.Exists(this=query), BOOLEAN)


def scalar_subquery(t: Translation, node: exp.Expr) -> Typed:
    query, columns = t.subquery(node.unnest(), t.scope)
    if len(columns.known) != 1 or columns.others is not None:
        raise Refused(node, "a query used as a value must have exactly one named column")
    return Typed(exp.Subquery(this=query), columns.known[0][1])


def like(t: Translation, node: exp.Expr) -> Typed:
    left, right = (_string(t, side) for side in (node.this, node.expression))
    if right.text is None or right.text.replace("\\%", "").replace("\\_", "").count("\\"):
        raise Refused(node, "LIKE needs a literal pattern, with backslashes only before % and _")
    return Typed(type(node)(this=left.sql, expression=right.sql, negate=node.args.get("negate")), BOOLEAN)


def _string(t: Translation, node: exp.Expr) -> Typed:
    value = operand(t, node)
    if not value.type.is_known:
        return Typed(strictly(value, STRING, "a column"), STRING)
    if value.type not in (STRING, NULL):
        raise Refused(node, f"a string is needed here, not {value.type}", "cast it to VARCHAR")
    return value


def case(t: Translation, node: exp.Expr) -> Typed:
    subject = t.expression(node.this) if node.this else None
    branches, default = node.args["ifs"], node.args.get("default")
    results = [branch.args["true"] for branch in branches] + ([default] if default else [])
    values, type_ = unified(t, node, t.expressions(results))
    conditions = [_when(t, node, subject, branch.this) for branch in branches]
    ifs = [exp.If(this=c, true=v) for c, v in zip(conditions, values, strict=False)]
    return Typed(exp.Case(ifs=ifs, default=values[-1] if default else None), type_)


def _when(t: Translation, node: exp.Expr, subject: Typed | None, condition_node: exp.Expr) -> exp.Expr:
    if subject is None:
        return condition(t, condition_node).sql
    left, right = comparable(t, node, subject, t.expression(condition_node))
    return exp.EQ(this=left.sql.copy(), expression=right.sql)


def unified(t: Translation, node: exp.Expr, values: Sequence[Typed]) -> tuple[list[exp.Expr], Type]:
    """The values as they stand in one CASE, COALESCE or array, and the type of that.

    :raises Refused: if the engines would not agree on it."""
    values = t.engine.among(values)
    type_ = common_type(t, node, values)
    return [one_of(value, type_) for value in values], type_


def common_type(t: Translation, node: exp.Expr, values: Sequence[Typed]) -> Type:
    """The type of a CASE, COALESCE and the like over these values.

    :raises Refused: if the engines would not agree on it."""
    type_ = NULL
    known = [v.type for v in values if v.type.is_known]
    for other in known:
        shared = t.engine.common(type_, other)
        if shared is None:
            raise Refused(node, f"{type_} and {other} have no type in common", "cast them to one type")
        type_ = shared
    if len(known) == len(values) or type_ == STRING:
        return type_
    if type_ == NULL and sum(not v.type.is_known for v in values) == 1:
        return UNKNOWN
    raise Refused(node, "the types of the values are not known", SCHEMA_ADVICE)


def one_of(value: Typed, type_: Type) -> exp.Expr:
    """A value as a branch of an expression of a type."""
    if not value.type.is_known and type_.is_known:
        return strictly(value, type_, "a column")
    return aligned(value, type_)


def aligned(value: Typed, type_: Type) -> exp.Expr:
    """A value beside others of a common type: written out where Spark would choose another common type."""
    is_implicit = value.type == NULL or type_.is_integer or type_.name == "DECIMAL"
    return value.sql if is_implicit else converted(value, type_)


def negation(t: Translation, node: exp.Expr) -> Typed:
    value = t.expression(node.this)
    if not (value.type.is_integer or value.type == DOUBLE or value.type.name in ("FLOAT", "DECIMAL")):
        raise Refused(node, f"- needs a number of known type, not {value.type}", SCHEMA_ADVICE)
    return Typed(negated(node, value), value.type)


def negated(node: exp.Expr, value: Typed) -> exp.Expr:
    """The value with the other sign. Spark's own minus, and its abs, round a DECIMAL to 34 digits.

    :raises Refused: for a DECIMAL of 38 digits, whose difference from 0 would need 39."""
    type_ = value.type
    if type_.name != "DECIMAL" or type_.precision <= NEGATED_DIGITS:
        return exp.Neg(this=_grouped(value.sql))
    if type_.precision >= MAX_PRECISION:
        advice = f"cast to DECIMAL({MAX_PRECISION - 1},{type_.scale}) first"
        raise Refused(node, f"the sign of {type_} cannot be changed exactly", advice)
    return cast(exp.Sub(this=cast(exp.Literal.number(0), type_), expression=_grouped(value.sql)), type_)


SHARED: Mapping[type[exp.Expr], NodeRule] = {
    exp.Column: column,
    exp.Literal: literal,
    exp.Boolean: boolean,
    exp.Null: null,
    exp.Paren: paren,
    exp.And: connected,
    exp.Or: connected,
    exp.Not: not_,
    exp.Is: is_,
    exp.EQ: comparison,
    exp.NEQ: comparison,
    exp.LT: comparison,
    exp.LTE: comparison,
    exp.GT: comparison,
    exp.GTE: comparison,
    exp.NullSafeEQ: comparison,
    exp.NullSafeNEQ: comparison,
    exp.Between: between,
    exp.In: in_,
    exp.Exists: exists,
    exp.Subquery: scalar_subquery,
    exp.Like: like,
    exp.ILike: like,
    exp.Case: case,
    exp.Neg: negation,
}

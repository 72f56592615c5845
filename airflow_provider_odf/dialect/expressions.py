"""Translate expressions that all engines share: columns, logic, LIKE, CASE, queries as values, the sign.

An expression is refused if the engines treat its types differently, for example compare them as text or as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_provider_odf.dialect import comparisons, literals
from airflow_provider_odf.dialect.comparisons import align, comparable, only_column, operand
from airflow_provider_odf.dialect.engine import NodeRule, Translation, chain
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, cast, in_parentheses, strictly
from airflow_provider_odf.dialect.types import BOOLEAN, NULL, STRING, UNKNOWN, Type

_EXACT_DIGITS = 34
"""Digits to which Spark's unary minus and abs round a DECIMAL."""


def column(t: Translation, node: exp.Expr) -> Typed:
    parts = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
    table = t.scope.table(parts[0]) if len(parts) > 1 else None
    # A name with dots is table.column.field… or column.field….
    type_ = table.type_of(parts[1]) if table else t.scope.type_of(parts[0])
    for name in parts[2 if table else 1 :]:
        if type_ is not None and type_.is_known:
            type_ = next((field for known, field in type_.fields if known.lower() == name.lower()), None)
    if type_ is None:
        known = ", ".join(t.scope.names[:20])
        raise Refused(node, f"column {'.'.join(parts)} does not exist", f"columns: {known}" if known else "")
    return Typed(node.copy(), type_)


def paren(t: Translation, node: exp.Expr) -> Typed:
    inner = t.expression(node.this)
    return Typed(exp.Paren(this=inner.sql), inner.type)


# --- logic -----------------------------------------------------------------------------------------------------------


def condition(t: Translation, node: exp.Expr) -> Typed:
    """Return an expression that must be a boolean, as in WHERE, ON, WHEN, AND, OR and NOT."""
    value = t.expression(node)
    if not value.type.is_known:
        return Typed(strictly(value, BOOLEAN, "a condition"), BOOLEAN)
    if value.type not in (BOOLEAN, NULL):
        raise Refused(node, f"a condition must be a BOOLEAN, not {value.type}")
    return value if value.type == BOOLEAN else Typed(cast(value.sql, BOOLEAN), BOOLEAN)


def connective(t: Translation, node: exp.Expr) -> Typed:
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
    return Typed(
        exp.Is(this=in_parentheses(inner.sql), expression=kind.copy(), negate=node.args.get("negate")), BOOLEAN
    )


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
        raise Refused(node, f"a string is expected, not {value.type}", "cast it to VARCHAR")
    return value


# --- queries as values -----------------------------------------------------------------------------------------------


def exists(t: Translation, node: exp.Expr) -> Typed:
    query, _ = t.subquery(node.this.unnest(), t.scope)
    return Typed(exp.Exists(this=query), BOOLEAN)


def scalar_subquery(t: Translation, node: exp.Expr) -> Typed:
    query, type_ = only_column(t, node, node)
    return Typed(exp.Subquery(this=query), type_)


# --- CASE ------------------------------------------------------------------------------------------------------------


def case(t: Translation, node: exp.Expr) -> Typed:
    subject = t.expression(node.this) if node.this else None
    branches, default = node.args["ifs"], node.args.get("default")
    results = [branch.args["true"] for branch in branches] + ([default] if default else [])
    values, type_ = unify(t, node, t.expressions(results))
    conditions = [_when(t, node, subject, branch.this) for branch in branches]
    ifs = [exp.If(this=c, true=v) for c, v in zip(conditions, values, strict=False)]
    return Typed(exp.Case(ifs=ifs, default=values[-1] if default else None), type_)


def _when(t: Translation, node: exp.Expr, subject: Typed | None, condition_node: exp.Expr) -> exp.Expr:
    if subject is None:
        return condition(t, condition_node).sql
    left, right = comparable(t, node, subject, t.expression(condition_node))
    return exp.EQ(this=left.sql.copy(), expression=right.sql)


def unify(t: Translation, node: exp.Expr, values: Sequence[Typed]) -> tuple[list[exp.Expr], Type]:
    """Return the values converted for one CASE or COALESCE, and its type.

    :raises Refused: the engines use different types."""
    type_ = _common_type(t, node, values)
    is_strict = type_.is_known
    return [
        strictly(value, type_, "a column") if is_strict and not value.type.is_known else align(value, type_)
        for value in values
    ], type_


def _common_type(t: Translation, node: exp.Expr, values: Sequence[Typed]) -> Type:
    type_ = NULL
    known = [value.type for value in values if value.type.is_known]
    for other in known:
        shared = t.engine.common(type_, other)
        if shared is None:
            raise Refused(node, f"{type_} and {other} have no common type", "cast them to one type")
        type_ = shared
    unknown = len(values) - len(known)
    if not unknown or type_ == STRING:
        return type_
    if type_ == NULL and unknown == 1:
        return UNKNOWN
    raise Refused(node, "the types of the values are not known", SCHEMA_ADVICE)


# --- the sign --------------------------------------------------------------------------------------------------------


def negation(t: Translation, node: exp.Expr) -> Typed:
    value = t.expression(node.this)
    require_exact_sign(node, value.type)
    return Typed(exp.Neg(this=in_parentheses(value.sql)), value.type)


def require_exact_sign(node: exp.Expr, type_: Type) -> None:
    """:raises Refused: - and abs of the type are not exact on Spark."""
    if not type_.is_numeric:
        raise Refused(node, f"- and abs need a number of known type, not {type_}", SCHEMA_ADVICE)
    if type_.is_decimal and type_.precision > _EXACT_DIGITS:
        advice = f"cast to DECIMAL({_EXACT_DIGITS},{type_.scale}) first"
        raise Refused(node, f"the sign of {type_} cannot be changed exactly", advice)


NODES: dict[type[exp.Expr], NodeRule] = {
    **comparisons.NODES,
    **literals.NODES,
    exp.Column: column,
    exp.Paren: paren,
    exp.And: connective,
    exp.Or: connective,
    exp.Not: not_,
    exp.Is: is_,
    exp.Exists: exists,
    exp.Subquery: scalar_subquery,
    exp.Like: like,
    exp.ILike: like,
    exp.Case: case,
    exp.Neg: negation,
}

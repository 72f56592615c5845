"""Translate expressions that all engines share: literals, columns, logic, comparisons, CASE, subqueries.

An expression is refused if the engines treat its types differently, for example compare them as text or as numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.engine import NodeRule, Translator, chain
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, beside, call, cast, in_parentheses, sql, strictly
from airflow_provider_odf.dialect.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    UNKNOWN,
    Type,
    decimal,
    timestamp,
)

_LARGEST_INT, _LARGEST_BIGINT = 2**31 - 1, 2**63 - 1
DATE_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP_PATTERN = (
    rf"{DATE_PATTERN}([ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,9}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?"
)
INTERVAL_UNITS = {"year": 0, "month": 1, "week": 2, "day": 3, "hour": 4, "minute": 5, "second": 6}
"""Units of intervals, with their positions in the arguments of Spark's make_interval."""
_INTERVAL_PART = re.compile(r"([+-]?\d+)\s*([A-Za-z]+)\s*")


def literal(t: Translator, node: exp.Expr) -> Value:
    """Translate a literal. Whole numbers are INT or BIGINT by size, others DECIMAL, or DOUBLE with an exponent."""
    if node.args.get("is_string"):
        return Value(exp.Literal.string(node.name), STRING)
    if node.name.isdigit():
        return _whole(node)
    if "e" in node.name.lower():
        if math.isinf(float(node.name)):
            raise Refusal(node, f"{_shorten(node.name)} is out of range for DOUBLE")
        return Value(exp.Literal.number(f"{node.name}D"), DOUBLE)
    whole, _, fraction = node.name.partition(".")
    if len(whole) + len(fraction) > types.MAX_PRECISION:
        message = f"the number has more than {types.MAX_PRECISION} digits"
        raise Refusal(node, message, "write fewer, or with an exponent")
    type_, number = decimal(len(whole) + len(fraction), len(fraction)), exp.Literal.number(node.name)
    # Spark does not count the zero before the point.
    return Value(cast(number, type_) if whole.startswith("0") else number, type_)


def _whole(node: exp.Expr) -> Value:
    digits = node.name.lstrip("0") or "0"
    if len(digits) > len(str(_LARGEST_BIGINT)) or int(digits) > _LARGEST_BIGINT:
        raise Refusal(node, f"{_shorten(node.name)} is out of range for BIGINT")
    is_int = int(digits) <= _LARGEST_INT
    return Value(exp.Literal.number(digits if is_int else f"{digits}L"), INT if is_int else BIGINT)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def time_literal(node: exp.Expr, text: str, type_: Type) -> Value:
    """Return a text as a DATE or TIMESTAMP; without a zone it is UTC.

    :raises Refusal: engines may parse the text in different ways."""
    is_date = type_ == DATE
    if not re.fullmatch(DATE_PATTERN if is_date else _TIMESTAMP_PATTERN, text):
        form = "YYYY-MM-DD" if is_date else "YYYY-MM-DD hh:mm:ss, with Z or +hh:mm for a zone"
        raise Refusal(node, f"'{text}' is not a {'date' if is_date else 'time'}", f"write it as {form}")
    return Value(cast(exp.Literal.string(text), type_), DATE if is_date else timestamp())


def interval_parts(node: exp.Expr) -> list[int]:
    """Return the arguments of make_interval for a literal interval.

    :raises Refusal: the interval has fractions or unknown units."""
    unit, value = node.args.get("unit"), node.this
    if not isinstance(node, exp.Interval) or not isinstance(value, exp.Literal):
        raise Refusal(node, "an interval must be a literal, such as INTERVAL '1 day'")
    if unit is not None and not isinstance(unit, exp.Var):
        raise Refusal(node, "intervals of the form A TO B are not supported", "write INTERVAL '1 day 2 hours'")
    text = f"{value.name} {unit.name if unit is not None else ''}".strip()
    parts = [0] * len(INTERVAL_UNITS)
    for count, name in _INTERVAL_PART.findall(text):
        place = INTERVAL_UNITS.get(name.lower().removesuffix("s"))
        if place is None:
            raise Refusal(node, f"the unit {name} of the interval is not supported")
        parts[place] += int(count)
    if _INTERVAL_PART.sub("", text) or not text:
        advice = "write integers with units, such as '1 day 2 hours'"
        raise Refusal(node, f"INTERVAL '{text}' is not supported", advice)
    if max(map(abs, parts)) > _LARGEST_INT:
        raise Refusal(node, "the interval is too long", f"at most {_LARGEST_INT} of each unit")
    return parts


def in_query(t: Translator, node: exp.Expr, value: Value) -> Value:
    """Translate value IN (SELECT …), if both sides have the same type."""
    query, type_ = _only_column(t, node, node.args["query"])
    if not value.type.is_known or value.type != type_:
        advice = types.advice([value.type, type_], "cast one of them")
        raise Refusal(node, f"IN compares {value.type} with {type_}", advice)
    return Value(exp.In(this=value.sql, query=exp.Subquery(this=query)), BOOLEAN)


def scalar_subquery(t: Translator, node: exp.Expr) -> Value:
    query, type_ = _only_column(t, node, node)
    return Value(exp.Subquery(this=query), type_)


def _only_column(t: Translator, node: exp.Expr, subquery: exp.Expr) -> tuple[exp.Query, Type]:
    query, columns = t.subquery(subquery.unnest(), t.scope)
    if len(columns.items) != 1 or columns.others is not None:
        raise Refusal(node, "a query used as a value, or in IN, must have exactly one named column")
    return query, columns.items[0][1]


_PREDICATES = (exp.Predicate, exp.RegexpLike, exp.RegexpILike, exp.Not)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def column(t: Translator, node: exp.Expr) -> Value:
    parts = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
    table = t.scope.table(parts[0]) if len(parts) > 1 else None
    # A name with dots is table.column.field… or column.field….
    type_ = table.type_of(parts[1]) if table else t.scope.type_of(parts[0])
    for name in parts[2 if table else 1 :]:
        if type_ is not None and type_.is_known:
            type_ = next((field for other, field in type_.fields if other.lower() == name.lower()), None)
    if type_ is None:
        names = ", ".join(t.scope.names[:20])
        raise Refusal(node, f"column {'.'.join(parts)} does not exist", f"columns: {names}" if names else "")
    return Value(node.copy(), type_)


def operand(t: Translator, node: exp.Expr) -> Value:
    """Return a side of an operator. Precedence of comparisons, LIKE, IN and NOT differs between engines."""
    if isinstance(node, _PREDICATES):
        advice = "put the inner operation in parentheses"
        raise Refusal(node, "operator precedence differs between engines here", advice)
    return t.expression(node)


def condition(t: Translator, node: exp.Expr) -> exp.Expr:
    """Return an expression that must be a boolean, as in WHERE, ON, WHEN, AND, OR and NOT."""
    value = strictly(t.expression(node), BOOLEAN, "a condition")
    if value.type not in (BOOLEAN, NULL):
        raise Refusal(node, f"a condition must be a BOOLEAN, not {value.type}")
    return value.sql if value.type == BOOLEAN else cast(value.sql, BOOLEAN)


def connective(t: Translator, node: exp.Expr) -> Value:
    """Translate AND and OR."""
    first, operators = chain(node, exp.Connector)
    result = condition(t, first)
    for operator in operators:
        result = type(operator)(this=result, expression=condition(t, operator.expression))
    return Value(result, BOOLEAN)


def is_(t: Translator, node: exp.Expr) -> Value:
    """Translate IS [NOT] NULL, TRUE, FALSE."""
    kind = node.expression
    if not isinstance(kind, (exp.Null, exp.Boolean)):
        raise Refusal(node, "IS supports only [NOT] NULL, TRUE and FALSE")
    inner = t.expression(node.this).sql if isinstance(kind, exp.Null) else condition(t, node.this)
    result = exp.Is(this=in_parentheses(inner), expression=kind.copy(), negate=node.args.get("negate"))
    return Value(result, BOOLEAN)


def like(t: Translator, node: exp.Expr) -> Value:
    left, right = (strictly(operand(t, side), STRING, "a column") for side in (node.this, node.expression))
    for side in (left, right):
        if side.type not in (STRING, NULL):
            raise Refusal(node, f"LIKE takes strings, not {side.type}", "cast it to VARCHAR")
    if right.text is None or right.text.replace("\\%", "").replace("\\_", "").count("\\"):
        raise Refusal(node, "LIKE needs a literal pattern, with backslashes only before % and _")
    return Value(type(node)(this=left.sql, expression=right.sql, negate=node.args.get("negate")), BOOLEAN)


def comparison(t: Translator, node: exp.Expr) -> Value:
    left, right, type_ = comparable(t, node, operand(t, node.this), operand(t, node.expression))
    return Value(type(node)(this=align(left, type_), expression=align(right, type_)), BOOLEAN)


def comparable(t: Translator, node: exp.Expr, left: Value, right: Value) -> tuple[Value, Value, Type]:
    """Return two values, with literals as times beside times, and the type in which both engines compare them.

    :raises Refusal: the engines differ."""
    if left.text is not None and right.type.is_time:
        left = time_literal(node, left.text, right.type)
    elif right.text is not None and left.type.is_time:
        right = time_literal(node, right.text, left.type)
    left, right = beside(node, left, right), beside(node, right, left)
    type_ = t.engine.compared(left.type, right.type)
    if type_ is None:
        message = f"engines compare {left.type} with {right.type} differently"
        raise Refusal(node, message, "cast one of them")
    return left, right, type_


def align(value: Value, type_: Type) -> exp.Expr:
    """Return a value as a member of a common type, cast if Spark would choose another common type."""
    is_same = value.type == NULL or value.type.ddl == type_.ddl or type_.is_integer or type_.is_decimal
    return value.sql if is_same or not type_.is_known else cast(value.sql, type_)


def between(t: Translator, node: exp.Expr) -> Value:
    if node.args.get("symmetric"):
        raise Refusal(node, "BETWEEN SYMMETRIC is not supported", "write it as two comparisons")
    bounds = [t.expression(node.args["low"]), t.expression(node.args["high"])]
    value, (low, high) = _of_one_type(t, node, operand(t, node.this), bounds, "write it as two comparisons")
    return Value(exp.Between(this=value, low=low, high=high), BOOLEAN)


def in_(t: Translator, node: exp.Expr) -> Value:
    value = operand(t, node.this)
    if node.args.get("query") is not None:
        return in_query(t, node, value)
    if not node.expressions:
        raise Refusal(node, "IN supports only a list of values or a query")
    members = t.expressions(node.expressions)
    if other := next((m.type for m in members if not t.engine.is_member(value.type, m.type)), None):
        message = f"engines compare {value.type} with {other} differently in IN than with ="
        raise Refusal(node, message, f"cast the values to {value.type}")
    left, right = _of_one_type(t, node, value, members, "cast the values to one type")
    return Value(exp.In(this=left, expressions=right), BOOLEAN)


def _of_one_type(
    t: Translator, node: exp.Expr, value: Value, others: Sequence[Value], advice: str
) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return a value and those that it is compared with, if it has the same type in all of these comparisons."""
    pairs = [comparable(t, node, value, other) for other in others]
    conversions = {
        (left.type, left.sql is value.sql, type_ if align(left, type_) is not left.sql else None)
        for left, _, type_ in pairs
    }
    # One DECIMAL must hold all values, otherwise Spark would cut off decimal places.
    shared: Type | None = pairs[0][2]
    for *_, type_ in pairs[1:]:
        shared = shared and t.engine.compared(shared, type_)
    if len(conversions) > 1 or shared is None:
        raise Refusal(node, "all values of BETWEEN and IN must have the same type", advice)
    return align(pairs[0][0], pairs[0][2]), [align(right, type_) for _, right, type_ in pairs]


def case(t: Translator, node: exp.Expr) -> Value:
    subject = t.expression(node.this) if node.this else None
    branches, default = node.args["ifs"], node.args.get("default")
    results = [branch.args["true"] for branch in branches] + ([default] if default else [])
    values, type_ = unify(t, node, t.expressions(results))
    conditions = [_when(t, node, subject, branch.this) for branch in branches]
    ifs = [exp.If(this=when, true=value) for when, value in zip(conditions, values, strict=False)]
    return Value(exp.Case(ifs=ifs, default=values[-1] if default else None), type_)


def _when(t: Translator, node: exp.Expr, subject: Value | None, when: exp.Expr) -> exp.Expr:
    if subject is None:
        return condition(t, when)
    left, right, type_ = comparable(t, node, subject, t.expression(when))
    return exp.EQ(this=align(left, type_).copy(), expression=align(right, type_))


def unify(t: Translator, node: exp.Expr, values: Sequence[Value]) -> tuple[list[exp.Expr], Type]:
    """Return the values converted for one CASE or COALESCE, and its type.

    :raises Refusal: the engines use different types."""
    type_ = _common_type(t, node, values)
    return [align(strictly(value, type_, "a column"), type_) for value in values], type_


def _common_type(t: Translator, node: exp.Expr, values: Sequence[Value]) -> Type:
    type_, others = NULL, [value.type for value in values if value.type.is_known]
    for other in others:
        shared = t.engine.common(type_, other)
        if shared is None:
            raise Refusal(node, f"{type_} and {other} have no common type", "cast them to one type")
        type_ = shared
    if len(others) == len(values) or type_ == STRING:
        return type_
    if type_ == NULL and len(others) == len(values) - 1:
        return UNKNOWN
    raise Refusal(node, "the types of the values are unknown", types.advice([UNKNOWN], ""))


def element(t: Translator, node: exp.Expr) -> Value:
    """Translate array[n], counted from 1; null after its end."""
    array, index = t.expression(node.this), t.expressions(node.expressions)
    place = index[0].integer if len(index) == 1 else None
    if array.type.element is None or not place or place < 1:
        message = "[ ] needs an array and a literal position of at least 1"
        raise Refusal(node, message, types.advice([array.type], ""))
    return Value(sql("try_element_at(a, b)", array.sql, place), array.type.element)


NODES: dict[type[exp.Expr], NodeRule] = {
    exp.Boolean: lambda t, node: Value(node.copy(), BOOLEAN),
    exp.Interval: lambda t, node: Value(call("make_interval", *interval_parts(node)), types.INTERVAL),
    exp.Literal: literal,
    exp.Null: lambda t, node: Value(exp.Null(), NULL),
    exp.Star: lambda t, node: Value(exp.Star(), BIGINT),
    **dict.fromkeys(_COMPARISONS, comparison),
    exp.Exists: lambda t, node: Value(exp.Exists(this=t.subquery(node.this.unnest(), t.scope)[0]), BOOLEAN),
    exp.Subquery: scalar_subquery,
    exp.Between: between,
    exp.In: in_,
    exp.Column: column,
    exp.Paren: lambda t, node: Value(exp.Paren(this=(inner := t.expression(node.this)).sql), inner.type),
    exp.And: connective,
    exp.Or: connective,
    exp.Not: lambda t, node: Value(exp.Not(this=condition(t, node.this)), BOOLEAN),
    exp.Is: is_,
    exp.Like: like,
    exp.ILike: like,
    exp.Case: case,
}

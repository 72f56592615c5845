"""Interval joins of Flink: joins whose conditions limit the distance of two event times from both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from airflow_provider_odf.dialect.types import Columns, Scope, Type
from airflow_provider_odf.dialect.watermark import microseconds

_MILLISECOND = 1000
"""The unit of event times: the distance by which < differs from <=."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of an interval join.

    A row of the left side with the event time ``time`` is decided ``wait`` microseconds later. Rows of the result are
    complete ``delay`` microseconds after their event times."""

    time: exp.Column
    type: Type
    wait: int
    delay: int


@dataclass(frozen=True)
class _Time:
    """An event time plus microseconds."""

    column: exp.Column
    type: Type
    is_right: bool
    plus: int


def bounds(conditions: Sequence[exp.Expr], left: Scope, name: str, right: Columns) -> Bounds | None:
    """Return the bounds of a join with the table ``name``, or None if it is an ordinary join."""
    lowest: dict[tuple[str, str], int] = {}
    highest: dict[tuple[str, str], int] = {}
    for operator, a, b in (c for condition in conditions for c in _comparisons(condition)):
        first, second = _time(a, left, name, right), _time(b, left, name, right)
        if first is None or second is None or first.is_right == second.is_right:
            continue
        if not first.is_right:
            first, second, operator = second, first, _MIRRORED[operator]
        # right + a < left + b: the right time is less than b - a after the left one.
        key, distance = (second.column.sql(), first.column.sql()), second.plus - first.plus
        if operator in (exp.LT, exp.LTE, exp.EQ):
            upper = distance - _MILLISECOND * (operator is exp.LT)
            highest[key] = min(upper, highest.get(key, upper))
        if operator in (exp.GT, exp.GTE, exp.EQ):
            lower = distance + _MILLISECOND * (operator is exp.GT)
            lowest[key] = max(lower, lowest.get(key, lower))
        if key in lowest and key in highest:
            before = max(first.type.delay or 0, second.type.delay or 0)
            late = max(highest[key], -lowest[key], 0)
            return Bounds(second.column, second.type, before + highest[key], before + late)
    return None


_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.GTE: exp.LTE, exp.GT: exp.LT
}  # fmt: skip


def _comparisons(node: exp.Expr) -> Iterator[tuple[type[exp.Expr], exp.Expr, exp.Expr]]:
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        yield exp.GTE, node.this, node.args["low"]
        yield exp.LTE, node.this, node.args["high"]
    elif type(node) in _MIRRORED:
        yield type(node), node.this, node.expression


def _time(node: exp.Expr, left: Scope, name: str, right: Columns) -> _Time | None:
    """Return an event time of one side, with an interval added or not, or None for other expressions."""
    node, plus = node.unnest(), 0
    if isinstance(node, exp.Add) and isinstance(node.this, exp.Interval):
        node = exp.Add(this=node.expression, expression=node.this)
    if isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval):
        plus = microseconds(node.expression) * (1 if isinstance(node, exp.Add) else -1)
        node = node.this.unnest()
    if not isinstance(node, exp.Column) or len(node.parts) > 2:
        return None
    is_right = node.table.lower() == name.lower() if node.table else left.type_of(node.name) is None
    columns = right if is_right else left.table(node.table) if node.table else left
    type_ = columns.type_of(node.name) if columns else None
    return None if type_ is None or type_.delay is None else _Time(node, type_, is_right, plus)

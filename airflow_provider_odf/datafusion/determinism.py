"""Refuse queries of transforms whose value is not determined by the rows of their inputs, and find the columns used.

An order has no ties if its columns include unique ones, or all columns of the rows. What is unique is followed from the
tables up the plan. Where that is not certain, an order counts as one with ties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_provider_odf.datafusion.query_text import QueryProblem, Word, words
from airflow_provider_odf.run_functions import RUN_FUNCTIONS

if TYPE_CHECKING:
    import pyarrow as pa
    from datafusion.plan import LogicalPlan

    from airflow_provider_odf.protocol import SqlQueryStep

Keys: TypeAlias = Mapping[str, Sequence[Sequence[str]]]
"""Unique columns of tables."""

_BY_ORDER = ("array_agg", "string_agg", "first_value", "last_value", "nth_value")
"""Aggregates whose value depends on the order of the rows."""
_NUMBERED = (*_BY_ORDER, "row_number", "lag", "lead", "ntile")
"""Window functions whose value depends on the order of equal rows."""
_RANKS = ("rank", "dense_rank", "percent_rank", "cume_dist")
_SHOWING_ROWS = ("Limit", "Projection", "SubqueryAlias")

_TIES = "has ties: rows with equal values in it can have any order"
_UNTIL = "until no two rows are equal in it"
_NEEDS_ORDER = re.compile(rf"^ *(?:Limit|WindowAggr|DistinctOn)\b|\b(?:{'|'.join(_BY_ORDER)})\(", re.MULTILINE)
_ORDER_BY = re.compile(r" ORDER BY \[(.*)\]")
_DIRECTION = re.compile(r" (?:ASC|DESC) NULLS (?:FIRST|LAST)$")


@dataclass(frozen=True)
class _Fault:
    """An order with ties. ``words`` of the query may have caused it."""

    words: tuple[str, ...]
    message: str
    advice: str


@dataclass(frozen=True)
class _Rows:
    """What is known of the rows of a node: its columns, None if unknown, and sets of columns that are unique."""

    columns: tuple[str, ...] | None = None
    unique: frozenset[frozenset[str]] = frozenset()

    def is_ordered_by(self, columns: frozenset[str]) -> bool:
        """Whether rows that are equal in these columns are equal in all."""
        is_whole = self.columns is not None and columns.issuperset(self.columns)
        return is_whole or any(key <= columns for key in self.unique)


def _faults(plan: Any, keys: Keys) -> Iterator[_Fault]:
    """Yield the orders with ties of a logical plan, which must not be optimized. ``keys`` are those of its tables."""
    nodes = list(_nodes(plan))
    for node in nodes:
        if (rule := _FAULTS.get(_kind(node))) is not None:
            yield from rule(node, keys)
    # Subqueries in expressions are in the text of the plan only.
    if len(_NEEDS_ORDER.findall(plan.display_indent())) > sum(len(_NEEDS_ORDER.findall(n.display())) for n in nodes):
        yield _Fault(
            ("LIMIT", "OFFSET", "OVER", *_BY_ORDER),
            "a subquery in an expression cannot have LIMIT, windows or aggregates that depend on the order of rows",
            "write the subquery as a query of its own, with an alias",
        )


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in plan.inputs():
        yield from _nodes(child)


def _kind(plan: Any) -> str:
    return type(plan.to_variant()).__name__


# --- orders -------------------------------------------------------------------------------------------------------


def _limit(plan: Any, keys: Keys) -> Iterator[_Fault]:
    (below,) = plan.inputs()
    while _kind(below) in _SHOWING_ROWS:
        (below,) = below.inputs()
    words = ("LIMIT", "OFFSET", "FETCH")
    if _kind(below) != "Sort":
        yield _Fault(words, "{word} without ORDER BY takes any rows", "add ORDER BY with a unique order")
    elif not _rows(below, keys).is_ordered_by(_columns(item.expr() for item in below.to_variant().sort_exprs())):
        yield _Fault(words, f"the ORDER BY before {{word}} {_TIES}", f"add columns to ORDER BY {_UNTIL}")


def _windows(plan: Any, keys: Keys) -> Iterator[_Fault]:
    node, rows = plan.to_variant(), _rows(plan.inputs()[0], keys)
    for item in node.get_window_expr():
        name = node.window_func_name(item)
        ordered = [order.expr() for order in node.get_sort_exprs(item)]
        by = _columns([*node.get_partition_exprs(item), *ordered])
        if _counts_ties(name, node.get_frame(item)) and not rows.is_ordered_by(by):
            yield _Fault((name,), f"the order of {name} {_TIES}", f"add columns to its ORDER BY {_UNTIL}")


def _counts_ties(name: str, frame: Any) -> bool:
    """Whether the value of a window function depends on the order of equal rows."""
    if name in _RANKS:
        return False
    is_whole = frame.get_lower_bound().is_unbounded() and frame.get_upper_bound().is_unbounded()
    return name in _NUMBERED or (frame.get_frame_units() == "ROWS" and not is_whole)


def _aggregates(plan: Any, keys: Keys) -> Iterator[_Fault]:
    node, rows = plan.to_variant(), _rows(plan.inputs()[0], keys)
    groups = _columns(node.group_by_exprs())
    for item in node.aggregate_exprs():
        name = node.agg_func_name(item)
        named = _ORDER_BY.search(item.canonical_name())  # of an aggregate, there is only the text
        order = groups.union(_DIRECTION.sub("", part) for part in (named[1].split(", ") if named else ()))
        values = {value.canonical_name() for value in node.aggregation_arguments(item)[:1]}
        if name in _BY_ORDER and not values <= order and not rows.is_ordered_by(order):
            message = f"{name} depends on the order of the rows, which is not defined"
            yield _Fault((name,), message, f"order them: {name}(… ORDER BY …)")


def _distinct(plan: Any, _keys: Keys) -> Iterator[_Fault]:
    if plan.display().startswith("DistinctOn"):
        advice = "use row_number() with a unique order, and filter it"
        yield _Fault(("DISTINCT",), "DISTINCT ON takes any of several rows", advice)


def _columns(expressions: Iterable[Any]) -> frozenset[str]:
    return frozenset(name for item in expressions if (name := _column(item)) is not None)


def _column(expression: Any) -> str | None:
    """Return the name of a column, also under an alias; None for other expressions."""
    while expression.variant_name() == "Alias":
        expression = expression.to_variant().expr()
    return str(expression.to_variant().qualified_name()) if expression.variant_name() == "Column" else None


_FAULTS: Mapping[str, Callable[[Any, Keys], Iterator[_Fault]]] = {
    "Limit": _limit,
    "WindowExpr": _windows,
    "Aggregate": _aggregates,
    "Distinct": _distinct,
}
"""Kind of a node -> its orders with ties."""


# --- unique columns -----------------------------------------------------------------------------------------------


def _rows(plan: Any, keys: Keys) -> _Rows:
    node, below = plan.to_variant(), [_rows(child, keys) for child in plan.inputs()]
    kind = type(node).__name__
    if kind in ("Filter", "Sort", "Limit"):
        return below[0]
    if kind == "Distinct" and not plan.display().startswith("DistinctOn"):
        columns = below[0].columns
        return _Rows(columns, below[0].unique | ({frozenset(columns)} if columns is not None else set()))
    if kind not in _UNIQUE:
        return _Rows()
    shown = tuple(node.schema().field_names())
    unique = (key for key in _UNIQUE[kind](node, below, shown, keys) if key <= set(shown))
    return _Rows(shown, frozenset(unique))


def _of_table(node: Any, _below: Sequence[_Rows], shown: Sequence[str], keys: Keys) -> Iterator[frozenset[str]]:
    *_, table = node.fqn()
    by_name = {name.removeprefix(f"{node.table_name()}."): name for name in shown}
    for key in keys.get(table, ()):
        if all(name in by_name for name in key):
            yield frozenset(by_name[name] for name in key)


def _renamed(_node: Any, below: Sequence[_Rows], shown: Sequence[str], _keys: Keys) -> Iterator[frozenset[str]]:
    new = dict(zip(below[0].columns or (), shown, strict=False))
    yield from (frozenset(new[name] for name in key) for key in below[0].unique)


def _projected(node: Any, below: Sequence[_Rows], shown: Sequence[str], _keys: Keys) -> Iterator[frozenset[str]]:
    new = {name: to for item, to in zip(node.projections(), shown, strict=True) if (name := _column(item)) is not None}
    yield from (frozenset(new[name] for name in key) for key in below[0].unique if new.keys() >= key)


def _grouped(node: Any, _below: Sequence[_Rows], shown: Sequence[str], _keys: Keys) -> Iterator[frozenset[str]]:
    groups = node.group_by_exprs()
    if all(item.variant_name() != "GroupingSet" for item in groups):
        yield frozenset(shown[: len(groups)])


def _joined(_node: Any, below: Sequence[_Rows], shown: Sequence[str], _keys: Keys) -> Iterator[frozenset[str]]:
    left, right = below
    if right.columns is not None and not set(right.columns) & set(shown):
        yield from left.unique  # A semi join shows each row of one side at most once.
    elif left.columns is not None and not set(left.columns) & set(shown):
        yield from right.unique
    else:
        yield from (a | b for a in left.unique for b in right.unique)


_UNIQUE: Mapping[str, Callable[[Any, Sequence[_Rows], Sequence[str], Keys], Iterator[frozenset[str]]]] = {
    "TableScan": _of_table,
    "SubqueryAlias": _renamed,
    "Projection": _projected,
    "Aggregate": _grouped,
    "WindowExpr": lambda node, below, shown, keys: iter(below[0].unique),
    "Join": _joined,
}
"""Kind of a node -> sets of columns that are unique in its rows."""


OF_THE_RUN = re.compile(rf"\b({'|'.join(RUN_FUNCTIONS)})\(")
"""Functions in a plan whose value differs between runs of a query."""

_SCAN = re.compile(r"TableScan: (.*?) projection=\[(.*?)\]")


def check(steps: Sequence[SqlQueryStep], plan: LogicalPlan, keys: Keys) -> None:
    """Check queries with their logical plan, which must not be optimized. ``keys`` are unique columns of tables.

    :raises QueryProblem: a query calls a function of the clock or of chance, or depends on the order of equal rows.
    """
    called = {match[1] for match in OF_THE_RUN.finditer(plan.display_indent())}
    for number, step in enumerate(steps, 1):
        for word, following in pairwise((*words(step.query), Word("sign", "", 0, 0))):
            is_call = following.text == "(" or word.text.lower().startswith("current_")
            if is_call and word.kind == "name" and word.text.lower() in called:
                message = f"{word.text} has another value in each run"
                advice = "use columns instead, such as the event time"
                raise QueryProblem.at(step.query, word.start, message, advice, number=number)
    for fault in _faults(plan, keys):
        raise _problem(steps, fault)


def _problem(steps: Sequence[SqlQueryStep], fault: _Fault) -> QueryProblem:
    names = [name.upper() for name in fault.words]
    for number, step in enumerate(steps, 1):
        for word in words(step.query):
            if word.is_word(*names):
                message = fault.message.format(word=word.text.upper())
                return QueryProblem.at(step.query, word.start, message, fault.advice, number=number)
    return QueryProblem(fault.message.format(word=fault.words[0]), fault.advice, number=len(steps))


def used_columns(plan: str, tables: Mapping[str, pa.Schema]) -> dict[str, frozenset[str]]:
    """Return the columns of each table that an optimized plan reads."""
    used: dict[str, set[str]] = {name: set() for name in tables}
    for match in _SCAN.finditer(plan):
        if match[1] in used:
            used[match[1]].update(match[2].split(", "))
    return {name: frozenset(used[name] & {*tables[name].names}) for name in tables}

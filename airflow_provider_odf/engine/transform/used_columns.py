"""The columns of inputs that the result of a query depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from airflow_provider_odf.engine.plan_nodes import above_views, class_name
from airflow_provider_odf.engine.transform.plan_tree import MARK, Node, attribute, references, subplans


def used_columns(root: Node) -> dict[int, set[str]]:
    """Return the names of the used columns of each input, in lower case, by number of the input.

    A ``*`` in an inner query uses nothing by itself. Inputs in subqueries count with all columns that these name.
    """
    used: dict[int, set[str]] = {}
    for node in root.nodes():
        for plan in _subqueries(node):
            for number, names in _named(plan):
                used.setdefault(number, set()).update(names)
    _visit(root, {a.id for a in root.output}, used)
    return used


def inputs_of_subqueries(root: Node) -> set[int]:
    """Return the numbers of the inputs that subqueries in expressions read."""
    return {number for node in root.nodes() for plan in _subqueries(node) for number in _inputs(plan)}


def _visit(node: Node, needed: set[int], used: dict[int, set[str]]) -> None:
    if node.input is not None:
        used.setdefault(node.input, set()).update(a.name.lower() for a in node.output if a.id in needed)
        return
    for child, columns in zip(node.children, _RULES.get(node.kind, _everything)(node, needed), strict=True):
        _visit(child, columns, used)


def _items(field: str) -> Callable[[Node, set[int]], list[set[int]]]:
    """Return the rule of a node that computes its columns from the items of a field."""

    def rule(node: Node, needed: set[int]) -> list[set[int]]:
        items = node.expressions(field)
        shown = [item for item in items if (found := attribute(item)) is None or found.id in needed]
        others = [e for name in ("groupingExpressions",) for e in node.expressions(name)]
        return [_read(shown) | _read(others)]

    return rule


def _through(node: Node, needed: set[int]) -> list[set[int]]:
    """Return the needed columns for nodes that pass their rows on and read some columns of them."""
    own = {expression for field in node.fields.values() for expression in _ids(field)}
    return [needed | own for _ in node.children]


def _ids(value: Any) -> Iterable[int]:
    if isinstance(value, dict):
        if value.get("class", "").endswith(".AttributeReference"):
            yield value["exprId"]["id"]
        for key, inner in value.items():
            if key not in ("below", "metadata"):
                yield from _ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner)


def _union(node: Node, needed: set[int]) -> list[set[int]]:
    positions = [n for n, a in enumerate(node.output) if a.id in needed]
    return [{child.output[n].id for n in positions} for child in node.children]


def _everything(node: Node, _needed: set[int]) -> list[set[int]]:
    return [{a.id for a in child.output} for child in node.children]


def _read(expressions: Iterable[Any]) -> set[int]:
    return {id_ for expression in expressions for id_ in references(expression)}


_RULES: Mapping[str, Callable[[Node, set[int]], list[set[int]]]] = {
    "Project": _items("projectList"),
    "Aggregate": _items("aggregateExpressions"),
    "Union": _union,
    **dict.fromkeys(("Filter", "Sort", "Join", "Window", "Generate", "GlobalLimit", "LocalLimit", "Offset"), _through),
}
"""Kind of a plan node -> the columns of each child that its needed columns depend on. Others depend on all."""


def _subqueries(node: Node) -> Iterable[list[Any]]:
    """Yield the plans of subqueries in the expressions of a node, as JSON, without what EXISTS selects."""
    for part in subplans(node.fields):
        plan = part.get("plan")
        if isinstance(plan, list):
            selects = class_name(part) == "Exists" and class_name(plan[0]) == "Project"
            yield plan[1:] if selects else plan


def _inputs(plan: Any) -> Iterable[int]:
    for part in subplans(plan):
        if class_name(part) == "Alias" and part["name"].startswith(MARK):
            yield int(part["name"].removeprefix(MARK))


def _named(plan: list[Any]) -> Iterable[tuple[int, set[str]]]:
    """Yield the inputs of a subquery with the names of all columns that are read above them."""
    above = [part for node in above_views(plan) for part in subplans({**node, "below": None})]
    names = {part["name"].lower() for part in above if class_name(part) == "AttributeReference"}
    for number in set(_inputs(plan)):
        yield number, names

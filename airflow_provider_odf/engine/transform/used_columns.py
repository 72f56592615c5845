"""The columns of inputs that the result of a query depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from airflow_provider_odf.engine.transform.plan_tree import Node, Subquery, attribute, references


def used_columns(root: Node) -> dict[int, set[str]]:
    """Return the names of the used columns of each input, in lower case, by number of the input.

    A ``*`` in an inner query uses nothing by itself.
    """
    used: dict[int, set[str]] = {}
    _visit(root, {a.id for a in root.output}, used)
    return used


def inputs_of_subqueries(root: Node) -> set[int]:
    """Return the numbers of the inputs that subqueries in expressions read."""
    plans = [subquery.plan for node in root.nodes() for subquery in node.subqueries]
    return {node.input for plan in plans for node in plan.all_nodes() if node.input is not None}


def _visit(node: Node, needed: set[int], used: dict[int, set[str]]) -> None:
    if node.input is not None:
        used.setdefault(node.input, set()).update(a.name.lower() for a in node.output if a.id in needed)
        return
    for subquery in node.subqueries:
        _visit(subquery.plan, _shown(subquery, needed), used)
    for child, columns in zip(node.children, _RULES.get(node.kind, _through)(node, needed), strict=True):
        _visit(child, columns, used)


def _shown(subquery: Subquery, needed: set[int]) -> set[int]:
    """Return the needed columns of a subquery."""
    if subquery.kind == "LateralSubquery":
        return needed
    return set() if subquery.kind == "Exists" else {a.id for a in subquery.plan.output}


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


def _by_position(node: Node, needed: set[int]) -> list[set[int]]:
    positions = [n for n, a in enumerate(node.output) if a.id in needed]
    return [{child.output[n].id for n in positions} for child in node.children]


def _expand(node: Node, needed: set[int]) -> list[set[int]]:
    rows = node.fields["projections"]
    return [
        {id_ for row in rows for a, item in zip(node.output, row, strict=True) if a.id in needed for id_ in _ids(item)}
    ]


def _recursion(node: Node, needed: set[int]) -> list[set[int]]:
    ids = [id_["id"] for id_ in node.fields["outputAttrIds"]]
    return [{a.id for a, id_ in zip(child.output, ids, strict=True) if id_ in needed} for child in node.children]


def _read(expressions: Iterable[Any]) -> set[int]:
    return {id_ for expression in expressions for id_ in references(expression)}


_RULES: Mapping[str, Callable[[Node, set[int]], list[set[int]]]] = {
    "Project": _items("projectList"),
    "Aggregate": _items("aggregateExpressions"),
    **dict.fromkeys(("Union", "Intersect", "Except"), _by_position),
    "Expand": _expand,
    "UnionLoop": _recursion,
}
"""Kind of a plan node -> the columns of each child that its needed columns depend on. Others pass on what is needed and
read some columns themselves."""

"""The analyzed plan of a query as a tree down to its inputs, and the columns of these that the result depends on.

Common table expressions are inlined, views and aliases of subqueries are removed. An input is a leaf: the projection
with the column MARK, which names the input.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from airflow_provider_odf.engine.plan_nodes import class_name, link

MARK = "odf:record:"
"""Prefix of a hidden column in the views of inputs. The rest is the input's number."""

Expression: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True)
class Attribute:
    """A column of a plan node; the id is unique in the plan."""

    id: int
    name: str
    type: Any


@dataclass(frozen=True)
class Subquery:
    """A subquery in an expression, whose class is the kind: ``Exists``, ``LateralSubquery`` and others."""

    kind: str
    plan: Node


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the plan. ``input`` is the number of the input of a leaf, ``subqueries`` are those in expressions."""

    kind: str
    fields: dict[str, Any]
    children: tuple[Node, ...]
    output: tuple[Attribute, ...]
    input: int | None = None
    subqueries: tuple[Subquery, ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yield this node and all below it."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def all_nodes(self) -> Iterator[Node]:
        """Yield this node and all below it, also in subqueries."""
        for node in self.nodes():
            yield node
            for subquery in node.subqueries:
                yield from subquery.plan.all_nodes()

    def expressions(self, name: str) -> list[Expression]:
        """Return the expressions of a field, one for each of its items."""
        value = self.fields.get(name) or []
        return [item[0] for item in value] if value and isinstance(value[0], list) else value[:1]


def tree(plan: Any) -> Node:
    """Return the tree of a plan of the JVM, see ``spark_internals.without_aliases``."""
    return _node(iter(json.loads(plan.toJSON())))


def attribute(expression: Expression) -> Attribute | None:
    """Return the column that an expression is or defines: a reference or an alias."""
    if class_name(expression) not in ("AttributeReference", "Alias"):
        return None
    return Attribute(expression["exprId"]["id"], expression["name"], expression.get("dataType"))


def computed(item: Expression) -> Expression:
    """Return the expression of an item of a list of columns, without its name."""
    value: Expression = item["below"][0] if class_name(item) == "Alias" else item
    return value


def join_kind(join: Mapping[str, Any]) -> str:
    """Return the kind of a join from its fields, such as ``LeftOuter``."""
    return str(join["joinType"].get("object", "").rpartition(".")[2].removesuffix("$"))


def is_collated(kind: Any) -> bool:
    """Whether texts of a type that differ can be equal. ``kind`` is a type from the JSON of a plan."""
    return "collat" in (kind if isinstance(kind, str) else json.dumps(kind)).lower()


def references(expression: Expression) -> frozenset[int]:
    """Return the ids of the columns that an expression reads."""
    return frozenset(part["exprId"]["id"] for part in parts(expression) if class_name(part) == "AttributeReference")


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and those within it, without those of subqueries."""
    yield expression
    for part in expression["below"]:
        yield from parts(part)


def subplans(value: Any) -> Iterator[Any]:
    """Yield all expressions and nodes of the subqueries within a value of a node's fields, from its JSON."""
    if isinstance(value, dict):
        if "class" in value:
            yield value
        for key, inner in value.items():
            if key not in ("metadata", "below"):
                yield from subplans(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from subplans(inner)


def _node(rest: Iterator[dict[str, Any]]) -> Node:
    fields = next(rest)
    for value in fields.values():
        if isinstance(value, list):
            for item in value if value and isinstance(value[0], list) else [value]:
                if item and isinstance(item[0], dict) and "num-children" in item[0]:
                    link(item)
    children = tuple(_node(rest) for _ in range(fields["num-children"]))
    kind = class_name(fields)
    number = _input(fields) if kind == "Project" else None
    output = tuple(_output(kind, fields, children))
    if number is not None:
        output = tuple(a for a in output if not a.name.startswith(MARK))
        return Node("Input", fields, (), output, number)
    subqueries = tuple(_subqueries(fields))
    if kind == "LateralJoin":
        output += subqueries[0].plan.output
    return Node(kind, fields, children, output, subqueries=subqueries)


def _subqueries(value: Any) -> Iterator[Subquery]:
    """Yield the subqueries within a value of a node's fields, without those within these."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "plan" and isinstance(inner, list):
                yield Subquery(class_name(value), _node(iter(inner)))
            elif key not in ("metadata", "below"):
                yield from _subqueries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _subqueries(inner)


def _input(fields: dict[str, Any]) -> int | None:
    for item in fields["projectList"]:
        if class_name(item[0]) == "Alias" and item[0]["name"].startswith(MARK):
            return int(item[0]["name"].removeprefix(MARK))
    return None


def _output(kind: str, fields: dict[str, Any], children: tuple[Node, ...]) -> Iterator[Attribute]:
    own = {"Project": "projectList", "Aggregate": "aggregateExpressions", "Expand": "output"}.get(kind)
    if own is not None:
        yield from filter(None, (attribute(item[0]) for item in fields[own]))
        return
    if kind == "Join":
        shown = children[:1] if join_kind(fields) in ("LeftSemi", "LeftAnti") else children
        yield from (a for child in shown for a in child.output)
        return
    if kind == "Generate":
        hidden = set(fields.get("unrequiredChildIndex") or ())
        yield from (a for n, a in enumerate(children[0].output) if n not in hidden)
        yield from filter(None, (attribute(item[0]) for item in fields["generatorOutput"]))
        return
    yield from children[0].output if children else _leaf(fields)
    if kind == "Window":
        yield from filter(None, (attribute(item[0]) for item in fields["windowExpressions"]))


def _leaf(fields: dict[str, Any]) -> Iterator[Attribute]:
    for item in fields.get("output") or ():
        if isinstance(item, list) and item and (column := attribute(item[0])) is not None:
            yield column


def used_columns(root: Node) -> dict[int, set[str]]:
    """Return the names of the used columns of each input, in lower case, by number of the input.

    A ``*`` in an inner query uses nothing by itself.
    """
    used: dict[int, set[str]] = {}
    _add_used(root, {a.id for a in root.output}, used)
    return used


def inputs_of_subqueries(root: Node) -> set[int]:
    """Return the numbers of the inputs that subqueries in expressions read."""
    plans = [subquery.plan for node in root.nodes() for subquery in node.subqueries]
    return {node.input for plan in plans for node in plan.all_nodes() if node.input is not None}


def _add_used(node: Node, needed: set[int], used: dict[int, set[str]]) -> None:
    if node.input is not None:
        used.setdefault(node.input, set()).update(a.name.lower() for a in node.output if a.id in needed)
        return
    for subquery in node.subqueries:
        shown = set() if subquery.kind == "Exists" else {a.id for a in subquery.plan.output}
        _add_used(subquery.plan, needed if subquery.kind == "LateralSubquery" else shown, used)
    for child, columns in zip(node.children, _NEEDED.get(node.kind, _passed_on)(node, needed), strict=True):
        _add_used(child, columns, used)


def _of_items(field: str) -> Callable[[Node, set[int]], list[set[int]]]:
    """Return the rule of a node that computes its columns from the items of a field."""

    def rule(node: Node, needed: set[int]) -> list[set[int]]:
        items = node.expressions(field)
        shown = [item for item in items if (column := attribute(item)) is None or column.id in needed]
        read = [*shown, *node.expressions("groupingExpressions")]
        return [{id_ for expression in read for id_ in references(expression)}]

    return rule


def _passed_on(node: Node, needed: set[int]) -> list[set[int]]:
    """Return the needed columns for nodes that pass their rows on and read some columns of them."""
    return [needed | {*_ids([*node.fields.values()])} for _ in node.children]


def _ids(value: Any) -> Iterator[int]:
    return (part["exprId"]["id"] for part in subplans(value) if class_name(part) == "AttributeReference")


def _by_position(node: Node, needed: set[int]) -> list[set[int]]:
    positions = [n for n, a in enumerate(node.output) if a.id in needed]
    return [{child.output[n].id for n in positions} for child in node.children]


def _expand(node: Node, needed: set[int]) -> list[set[int]]:
    rows = node.fields["projections"]
    shown = [item for row in rows for a, item in zip(node.output, row, strict=True) if a.id in needed]
    return [{*_ids(shown)}]


def _recursion(node: Node, needed: set[int]) -> list[set[int]]:
    ids = [id_["id"] for id_ in node.fields["outputAttrIds"]]
    return [{a.id for a, id_ in zip(child.output, ids, strict=True) if id_ in needed} for child in node.children]


_NEEDED: Mapping[str, Callable[[Node, set[int]], list[set[int]]]] = {
    "Project": _of_items("projectList"),
    "Aggregate": _of_items("aggregateExpressions"),
    **dict.fromkeys(("Union", "Intersect", "Except"), _by_position),
    "Expand": _expand,
    "UnionLoop": _recursion,
}
"""Kind of a plan node -> the columns of each child that its needed columns depend on. Others pass on what is needed and
read some columns themselves."""

"""The analyzed plan of a query as a tree down to its inputs.

Common table expressions are inlined, views and aliases of subqueries are removed. An input is a leaf: the projection
with the column MARK, which names the input.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    nodes = iter(json.loads(plan.toJSON()))
    return _node(nodes)


def attribute(expression: Expression) -> Attribute | None:
    """Return the column that an expression is or defines: a reference or an alias."""
    if class_name(expression) == "AttributeReference":
        return Attribute(expression["exprId"]["id"], expression["name"], expression["dataType"])
    if class_name(expression) == "Alias":
        return Attribute(expression["exprId"]["id"], expression["name"], None)
    return None


def join_kind(join: Mapping[str, Any]) -> str:
    """Return the kind of a join from its fields, such as ``LeftOuter``."""
    return str(join["joinType"].get("object", "").rpartition(".")[2].removesuffix("$"))


def references(expression: Expression) -> frozenset[int]:
    """Return the ids of the columns that an expression reads."""
    found: set[int] = set()
    for part in parts(expression):
        if class_name(part) == "AttributeReference":
            found.add(part["exprId"]["id"])
    return frozenset(found)


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
        if isinstance(item, list) and item and (found := attribute(item[0])) is not None:
            yield found

"""Spark's plans as nodes: the JSON of the JVM, each node with the arguments below it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Node: TypeAlias = Mapping[str, Any]


def nodes(tree: Any) -> Iterator[Node]:
    """Nodes of a plan or expression of the JVM and of the plans inside of it, in one call to the JVM."""
    yield from _objects(json.loads(tree.toJSON()))


def _objects(value: Any) -> Iterator[Node]:
    if isinstance(value, dict):
        if "class" in value:
            yield value
        for key, inner in value.items():
            if key not in ("metadata", "below"):  # metadata of columns: anything that their file has
                yield from _objects(inner)
    elif isinstance(value, list):
        _link(value)
        for item in _above_views(value):
            yield from _objects(item)


def _link(tree: Sequence[Any]) -> None:
    """Put the children of each node of a tree, parents first, into the node as ``below``."""
    waiting: list[Any] = []
    for node in reversed(tree):
        if isinstance(node, dict) and "num-children" in node:
            node["below"] = [waiting.pop() for _ in range(node["num-children"])]
            waiting.append(node)


def _above_views(tree: Sequence[Any]) -> Iterator[Any]:
    """Nodes of a tree, parents first, without those below temporary views: they are not of the query."""
    hidden = 0
    for node in tree:
        if hidden:
            hidden += node["num-children"] - 1
            continue
        yield node
        if isinstance(node, dict) and node.get("isTempView"):
            hidden = node["num-children"]


def windows(plan: Any) -> Iterator[Any]:
    """Definitions in WINDOW clauses, which a plan's JSON leaves out."""
    number = 0
    while (node := plan.apply(number)) is not None:
        number += 1
        if node.nodeName() == "WithWindowDefinition":
            definitions = node.windowDefinitions().values().toSeq()
            yield from (definitions.apply(index) for index in range(definitions.size()))


def function(node: Node) -> str | None:
    """Return the name of the function that a node of a parsed plan calls; its parts as in ``name_text``."""
    match class_name(node):
        case "UnresolvedFunction":
            return name_text(node["nameParts"])
        case "UnresolvedGenerator":
            return str(node["name"]["funcName"])
        case "UnresolvedTableValuedFunction":
            return name_text(node["name"])
    return None


def class_name(node: Node) -> str:
    """Return the name of a node's class, without its package."""
    return str(node["class"].rpartition(".")[2])


def name_text(names: str) -> str:
    """The parts of a name, which are written as ``[a, b]``."""
    return names[1:-1]

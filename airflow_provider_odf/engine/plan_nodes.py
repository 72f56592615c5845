"""Nodes of Spark's plans, from the JSON of the JVM. Each node has its arguments as ``below``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Node: TypeAlias = Mapping[str, Any]


def nodes(tree: Any) -> Iterator[Node]:
    """Yield the nodes of a plan or expression and of the plans within it, with one call to the JVM."""
    yield from _objects(json.loads(tree.toJSON()))


def _objects(value: Any) -> Iterator[Node]:
    if isinstance(value, dict):
        if "class" in value:
            yield value
        for key, inner in value.items():
            if key not in ("metadata", "below"):  # the metadata of columns can contain anything from their file
                yield from _objects(inner)
    elif isinstance(value, list):
        link(value)
        for item in above_views(value):
            yield from _objects(item)


def link(tree: Sequence[Any]) -> None:
    """Store the children of each node in it as ``below``. The tree has parents first."""
    waiting: list[Any] = []
    for node in reversed(tree):
        if isinstance(node, dict) and "num-children" in node:
            node["below"] = [waiting.pop() for _ in range(node["num-children"])]
            waiting.append(node)


def above_views(tree: Sequence[Any]) -> Iterator[Any]:
    """Yield the nodes of a tree, parents first, except those below temporary views, which the query did not write."""
    hidden = 0
    for node in tree:
        if hidden:
            hidden += node["num-children"] - 1
            continue
        yield node
        if isinstance(node, dict) and node.get("isTempView"):
            hidden = node["num-children"]


def windows(plan: Any) -> Iterator[Any]:
    """Yield the definitions of WINDOW clauses, which a plan's JSON omits."""
    number = 0
    while (node := plan.apply(number)) is not None:
        number += 1
        if node.nodeName() == "WithWindowDefinition":
            definitions = node.windowDefinitions().values().toSeq()
            yield from (definitions.apply(index) for index in range(definitions.size()))


def function(node: Node) -> str | None:
    """Return the name of the function that a node of a parsed plan calls, formatted as in ``name_text``."""
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
    """Return the parts of a name from their form ``[a, b]``."""
    return names[1:-1]

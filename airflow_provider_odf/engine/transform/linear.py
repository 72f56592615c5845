"""Queries that are linear in an input: what its new rows add to the result does not depend on its other rows.

The operators between such an input and the result treat each of its rows alone, and without its rows give none:
projections, filters, explode, and joins of it with other tables. A UNION also gives the rows of its other branches.
Above them there can be one aggregate whose values for old and for new rows add up to that for all rows: count, sum,
min, max. So new records are enough, and the other rows of the input are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.transform.plan_tree import Expression, Node, attribute, join_kind
from airflow_provider_odf.engine.transform.row_keys import Relation


@dataclass(frozen=True)
class Totals:
    """Columns of an aggregate's result: those of its groups, and the others with the function that adds them up."""

    groups: tuple[str, ...]
    functions: Mapping[str, str]


@dataclass(frozen=True)
class Linear:
    """How a result follows from that for new records: it has their rows too, or it adds up with them."""

    totals: Totals | None = None


def is_linear(node: Node, changed: Collection[int]) -> bool:
    """Whether the rows of a plan node are linear in each of the changed inputs. An input that is read twice is not."""
    leaves = [leaf.input for leaf in node.nodes() if leaf.input in changed]
    return len(leaves) == len(set(leaves)) and _is_passed(node, changed)


def totals(root: Node, relations: Mapping[Node, Relation]) -> tuple[Node, Totals] | None:
    """Return the node below the aggregate that makes the result, and how its values add up; None if they do not."""
    node, shown = _below_projections(root)
    if node.kind not in ("Aggregate", "Distinct"):
        return None
    relation = relations[node]
    keys = {id_ for key in relation.keys for id_ in key.columns}
    groups = {a.id for a in node.output} if node.kind == "Distinct" else {*_groups(node)}
    functions = {} if node.kind == "Distinct" else dict(_functions(node))
    is_whole = {a.id for a in node.output} == groups | functions.keys()
    # Groups that are no keys, or not shown, may be equal in the result without being equal in the query.
    if not is_whole or not relation.unique or not groups <= keys & set(shown.values()):
        return None
    by_name = {name: functions.get(id_) for name, id_ in shown.items()}
    return node.children[0], Totals(
        tuple(name for name, function in by_name.items() if function is None),
        {name: function for name, function in by_name.items() if function is not None},
    )


def _is_passed(node: Node, changed: Collection[int]) -> bool:
    """Whether the changed rows below a node pass only operators that treat each of them alone."""
    passed = _JOINS.get(join_kind(node.fields), ()) if node.kind == "Join" else _PASSED.get(node.kind, ())
    return all(
        position in passed and _is_passed(child, changed)
        for position, child in enumerate(node.children)
        if any(below.input in changed for below in child.nodes())
    )


_PASSED: Mapping[str, tuple[int, ...]] = dict.fromkeys(("Project", "Filter", "Generate", "Sort"), (0,))
"""Kind of a plan node -> positions of the children whose rows it treats alone."""

_JOINS: Mapping[str, tuple[int, ...]] = {
    "Inner": (0, 1),
    "Cross": (0, 1),
    "LeftOuter": (0,),
    "LeftSemi": (0,),
    "LeftAnti": (0,),
    "RightOuter": (1,),
}
"""Kind of a join -> positions of the sides whose rows it treats alone. The others decide about rows of these."""

_FUNCTIONS: Mapping[str, str] = {
    "Count": "sum",
    "CountIf": "sum",
    "Sum": "sum",
    "Min": "min",
    "Max": "max",
    "BoolAnd": "bool_and",
    "BoolOr": "bool_or",
}
"""Class of an aggregate function -> the function that adds up two of its values."""


def _below_projections(root: Node) -> tuple[Node, dict[str, int]]:
    """Return the first node that computes something, and the ids of its columns by their names in the result."""
    node, shown = root, {a.name: a.id for a in root.output}
    while node.kind in ("Project", "Sort"):
        if node.kind == "Project":
            renamed: dict[int, int] = {}
            for item in node.expressions("projectList"):
                value = item["below"][0] if class_name(item) == "Alias" else item
                if class_name(value) != "AttributeReference":
                    return node, shown
                renamed[item["exprId"]["id"]] = value["exprId"]["id"]
            shown = {name: renamed[id_] for name, id_ in shown.items()}
        node = node.children[0]
    return node, shown


def _groups(aggregate: Node) -> Iterator[int]:
    """Yield the columns of an aggregate that show its groups."""
    functions = dict(_functions(aggregate))
    for item, column in zip(aggregate.expressions("aggregateExpressions"), aggregate.output, strict=True):
        if column.id not in functions and not _has_aggregate(item):
            yield column.id


def _functions(aggregate: Node) -> Iterator[tuple[int, str]]:
    """Yield the columns of an aggregate whose values add up, with the function that does it."""
    for item in aggregate.expressions("aggregateExpressions"):
        value = item["below"][0] if class_name(item) == "Alias" else item
        if class_name(value) == "AggregateExpression" and (found := attribute(item)) is not None:
            function = class_name(value["below"][0])
            if function in _FUNCTIONS and (not value["isDistinct"] or function in ("Min", "Max")):
                yield found.id, _FUNCTIONS[function]


def _has_aggregate(expression: Expression) -> bool:
    return class_name(expression) == "AggregateExpression" or any(map(_has_aggregate, expression["below"]))

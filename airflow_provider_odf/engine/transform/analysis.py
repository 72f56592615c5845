"""How a query is evaluated when its inputs grow, by analysis of Spark's plan.

A query is linear in an input if what its new rows add to the result does not depend on its other rows. The operators
between such an input and the result treat each of its rows alone, and without its rows give none: projections, filters,
explode, and joins of it with other tables. A UNION also gives the rows of its other branches. Above them there can be
one aggregate whose values for old and for new rows add up to that for all rows: count, sum, min, max. So new records
are enough, and the other rows of the input are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.transform import determinism
from airflow_provider_odf.engine.transform.determinism import Fault
from airflow_provider_odf.engine.transform.plan_changes import can_have_sums
from airflow_provider_odf.engine.transform.plan_tree import (
    Node,
    computed,
    inputs_of_subqueries,
    join_kind,
    parts,
    tree,
    used_columns,
)
from airflow_provider_odf.engine.transform.row_keys import Key, Part, Relation, analyze
from airflow_provider_odf.protocol import Evaluation
from airflow_provider_odf.wording import listed

_ROW_WISE = ("Input", "Project", "Filter", "Union", "Generate")
_PASSED: Mapping[str, tuple[int, ...]] = dict.fromkeys(("Project", "Filter", "Generate", "Sort"), (0,))
"""Kind of a plan node -> positions of the children whose rows it treats alone."""
_JOINS: Mapping[str, tuple[int, ...]] = {
    "Inner": (0, 1), "Cross": (0, 1), "RightOuter": (1,), **dict.fromkeys(("LeftOuter", "LeftSemi", "LeftAnti"), (0,)),
}  # fmt: skip
"""Kind of a join -> positions of the sides whose rows it treats alone. The others decide about rows of these."""
_FUNCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("Count", "CountIf", "Sum"), "sum"), "Min": "min", "Max": "max", "BoolAnd": "bool_and",
    "BoolOr": "bool_or",
}  # fmt: skip
"""Class of an aggregate function -> the function that adds up two of its values."""
MAX_COLUMNS = 8
"""Maximum number of columns of a key. More would take longer to compare than they save."""


@dataclass(frozen=True)
class Totals:
    """Columns of an aggregate's result: those of its groups, and the others with the function that adds them up."""

    groups: tuple[str, ...]
    functions: Mapping[str, str]


@dataclass(frozen=True)
class Linear:
    """How a result follows from that for new records: it has their rows too, or it adds up with them."""

    totals: Totals | None = None


def _is_linear(node: Node, changed: Collection[int]) -> bool:
    """Whether the rows of a plan node are linear in each of the changed inputs. An input that is read twice is not."""
    leaves = [leaf.input for leaf in node.nodes() if leaf.input in changed]
    return len(leaves) == len(set(leaves)) and _is_passed(node, changed)


def _is_passed(node: Node, changed: Collection[int]) -> bool:
    """Whether the changed rows below a node pass only operators that treat each of them alone."""
    passed = _JOINS.get(join_kind(node.fields), ()) if node.kind == "Join" else _PASSED.get(node.kind, ())
    return all(
        position in passed and _is_passed(child, changed)
        for position, child in enumerate(node.children)
        if any(below.input in changed for below in child.nodes())
    )


def _totals(root: Node, relations: Mapping[Node, Relation]) -> tuple[Node, Totals] | None:
    """Return the node below the aggregate that makes the result, and how its values add up; None if they do not."""
    node, shown = below_projections(root)
    if node.kind not in ("Aggregate", "Distinct"):
        return None
    groups, functions = ({a.id for a in node.output}, {}) if node.kind == "Distinct" else _groups_and_functions(node)
    relation = relations[node]
    keys = {id_ for key in relation.keys for id_ in key.columns}
    is_whole = {a.id for a in node.output} == groups | functions.keys()
    # Groups that are no keys, or not shown, may be equal in the result without being equal in the query.
    if not is_whole or not relation.unique or not groups <= keys & set(shown.values()):
        return None
    by_name = {name: functions.get(id_) for name, id_ in shown.items()}
    return node.children[0], Totals(
        tuple(name for name, function in by_name.items() if function is None),
        {name: function for name, function in by_name.items() if function is not None},
    )


def below_projections(root: Node) -> tuple[Node, dict[str, int]]:
    """Return the first node that computes something, and the ids of its columns by their names in the result."""
    node, shown = root, {a.name: a.id for a in root.output}
    while node.kind in ("Project", "Sort"):
        if node.kind == "Project":
            values = [(item["exprId"]["id"], computed(item)) for item in node.expressions("projectList")]
            if any(class_name(value) != "AttributeReference" for _, value in values):
                return node, shown
            renamed: dict[int, int] = {id_: value["exprId"]["id"] for id_, value in values}
            shown = {name: renamed[id_] for name, id_ in shown.items()}
        node = node.children[0]
    return node, shown


def _groups_and_functions(aggregate: Node) -> tuple[set[int], dict[int, str]]:
    """Return the columns of an aggregate that show its groups, and those whose values add up, with the function that
    does it."""
    groups, functions = set[int](), dict[int, str]()
    for item, column in zip(aggregate.expressions("aggregateExpressions"), aggregate.output, strict=True):
        value = computed(item)
        if class_name(value) == "AggregateExpression":
            function = class_name(value["below"][0])
            if function in _FUNCTIONS and (not value["isDistinct"] or function in ("Min", "Max")):
                functions[column.id] = _FUNCTIONS[function]
        elif not any(class_name(part) == "AggregateExpression" for part in parts(item)):
            groups.add(column.id)
    return groups, functions


@dataclass(frozen=True)
class PlanAnalysis:
    """What is known of a query from Spark's plan, see `query.Analysis`.

    ``inexact`` are columns of the result whose sums do not add up: those of floating-point numbers depend on the order
    of rows, and try_sum hides an overflow.
    """

    root: Node
    relations: Mapping[Node, Relation]
    aliases: Sequence[str]
    inexact: frozenset[str] = frozenset()

    @cached_property
    def is_row_wise(self) -> bool:
        """Whether each result row comes from one row of one input, and can carry its record: where sums get an order,
        as those of constants in a subquery do, Spark optimizes the plan before."""
        is_of_rows = not self._subqueries and all(node.kind in _ROW_WISE for node in self.root.nodes())
        return is_of_rows and not can_have_sums(self.root)

    @cached_property
    def used(self) -> Mapping[int, set[str]]:
        return used_columns(self.root)

    @cached_property
    def identity(self) -> tuple[str, ...] | None:
        relation = self.relations[self.root]
        unique = min(relation.unique, key=len, default=None)
        chosen = unique if unique is not None else relation.stable or None
        return None if chosen is None else tuple(a.name for a in self.root.output if a.id in chosen)

    def of_records(self) -> PlanAnalysis:
        """Return the analysis of the query over all records of its inputs, in which no primary key is unique."""
        return replace(self, relations=analyze(self.root, {}))

    def faults(self) -> list[Fault]:
        """Return why the query is not a function of its inputs' rows, empty if it is."""
        return list(determinism.faults(self.root, dict(self.relations)))

    def parts(self, changed: Iterable[int]) -> list[Part] | None:
        numbers = set(changed)
        if numbers & self._subqueries:
            return None
        leaves = [node for node in self.root.nodes() if node.input in numbers]
        common = [key for key in self._keys if all(leaf in key.leaves for leaf in leaves)]
        if common and leaves:
            return [self._part(common, leaves)]
        own = [[key for key in self._keys if leaf in key.leaves] for leaf in leaves]
        return [self._part(keys, [leaf]) for keys, leaf in zip(own, leaves, strict=True)] if all(own) else None

    def linear(self, changed: Iterable[int]) -> Linear | None:
        numbers = set(changed)
        if numbers & self._subqueries:
            return None
        if _is_linear(self.root, numbers):
            return Linear()
        below, aggregate = _totals(self.root, self.relations) or (None, None)
        if below is None or aggregate is None or not _is_linear(below, numbers):
            return None
        sums = {name for name, function in aggregate.functions.items() if function == "sum"}
        return None if sums & self.inexact else Linear(aggregate)

    def evaluation(self) -> Evaluation:
        if self.is_row_wise:
            return Evaluation("row-wise", "each row of the result comes from one row of an input")
        everything = [node.input for node in self.root.nodes() if node.input is not None]
        if self.parts(everything) is not None:
            names = sorted({name for part in self.parts(everything) or () for name in part.columns})
            return Evaluation("keyed", f"new records are found in the result by {listed(names)}")
        linear = self.linear(everything)
        if linear == Linear():
            return Evaluation("keyed", "new records are joined with the rows of the other inputs")
        if linear is not None:
            reason = "new records are added to the present totals; as a whole when they take earlier ones back"
            return Evaluation("keyed", reason)
        inputs = sorted({*everything, *self._subqueries})
        without = [n for n in inputs if self.parts([n]) is None and self.linear([n]) != Linear()]
        names = [self.aliases[number] for number in without]
        if len(names) < len(self.aliases):
            return Evaluation(
                "keyed", f"by keys; as a whole when {listed(names)} changes, of which the result shows no key"
            )
        return Evaluation("whole", f"the result shows no column by which new records of {listed(names)} can be found")

    @cached_property
    def _subqueries(self) -> set[int]:
        return inputs_of_subqueries(self.root)

    @cached_property
    def _keys(self) -> tuple[Key, ...]:
        return self.relations[self.root].keys

    def _part(self, keys: Sequence[Key], changed: Sequence[Node]) -> Part:
        """Return a part by the keys that hold for most leaves, and by further ones that make it smaller."""
        chosen = sorted(keys, key=lambda key: -len(key.leaves))[:MAX_COLUMNS]
        columns = tuple(next(a.name for a in self.root.output if a.id in key.columns) for key in chosen)
        by_input: dict[int, list[Node]] = {}
        for node in self.root.nodes():
            if node.input is not None and node.input not in self._subqueries:
                by_input.setdefault(node.input, []).append(node)
        inputs = {number: tuple(_agreed(key, leaves) for key in chosen) for number, leaves in by_input.items()}
        own = [(leaf.input, tuple(key.leaves[leaf] for key in chosen)) for leaf in changed if leaf.input is not None]
        return Part(columns, inputs, tuple(dict.fromkeys(own)))


def _agreed(key: Key, leaves: Sequence[Node]) -> str | None:
    """Return the SQL of a key over an input that a query may read several times; None unless it is the same."""
    texts = {key.leaves.get(leaf) for leaf in leaves}
    return texts.pop() if len(texts) == 1 else None


def analysis(
    frame: DataFrame,
    primary_keys: Mapping[int, Sequence[str]],
    aliases: Sequence[str],
    kind: type[PlanAnalysis] = PlanAnalysis,
    inexact: Iterable[str] = (),
) -> PlanAnalysis:
    """Return the analysis of a query over views with marks. ``primary_keys`` are the unique columns of inputs."""
    root = tree(spark_internals.plan_without_aliases(frame))
    return kind(root, analyze(root, primary_keys), aliases, frozenset(inexact))

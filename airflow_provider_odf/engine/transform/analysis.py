"""How a query is evaluated when its inputs grow, by analysis of Spark's plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.transform import determinism
from airflow_provider_odf.engine.transform.fault import Fault
from airflow_provider_odf.engine.transform.float_order import can_have_sums
from airflow_provider_odf.engine.transform.linear import Linear, is_linear, totals
from airflow_provider_odf.engine.transform.plan_tree import Attribute, Node, tree
from airflow_provider_odf.engine.transform.row_keys import Key, Part, Relation, analyze
from airflow_provider_odf.engine.transform.used_columns import inputs_of_subqueries, used_columns
from airflow_provider_odf.protocol import Evaluation
from airflow_provider_odf.wording import listed

_ROW_WISE = ("Input", "Project", "Filter", "Union", "Generate")

MOST_COLUMNS = 8
"""Maximum number of columns of a key. More would take longer to compare than they save."""


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
        """Names of the columns, in lower case, that the result depends on, by input."""
        return used_columns(self.root)

    @cached_property
    def identity(self) -> tuple[str, ...] | None:
        """Columns of the result that tell which row became which when it changes, None if there are none.

        The only row of a result needs no column.
        """
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
        """Return the keys by which changes of these inputs are found in the result, or None if one has no key.

        There are no parts if the query does not read these inputs.
        """
        numbers = set(changed)
        if numbers & self._subqueries:
            return None
        leaves = [node for node in self.root.nodes() if node.input in numbers]
        common = [key for key in self._keys if all(leaf in key.leaves for leaf in leaves)]
        if common and leaves:
            return [self._part(common, leaves)]
        parts = []
        for leaf in leaves:
            own = [key for key in self._keys if leaf in key.leaves]
            if not own:
                return None
            parts.append(self._part(own, [leaf]))
        return parts

    def linear(self, changed: Iterable[int]) -> Linear | None:
        """Return how new records of these inputs add to the result, or None if it also depends on their other rows."""
        numbers = set(changed)
        if numbers & self._subqueries:
            return None
        if is_linear(self.root, numbers):
            return Linear()
        below, found = totals(self.root, self.relations) or (None, None)
        if below is None or found is None or not is_linear(below, numbers):
            return None
        sums = {name for name, function in found.functions.items() if function == "sum"}
        return None if sums & self.inexact else Linear(found)

    def evaluation(self) -> Evaluation:
        """Return the form of evaluation for the user."""
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
        chosen = sorted(keys, key=lambda key: -len(key.leaves))[:MOST_COLUMNS]
        columns = tuple(self._shown(key).name for key in chosen)
        by_input: dict[int, list[Node]] = {}
        for node in self.root.nodes():
            if node.input is not None and node.input not in self._subqueries:
                by_input.setdefault(node.input, []).append(node)
        inputs = {number: tuple(_agreed(key, leaves) for key in chosen) for number, leaves in by_input.items()}
        found = [(leaf.input, tuple(key.leaves[leaf] for key in chosen)) for leaf in changed if leaf.input is not None]
        return Part(columns, inputs, tuple(dict.fromkeys(found)))

    def _shown(self, key: Key) -> Attribute:
        return next(a for a in self.root.output if a.id in key.columns)


def _agreed(key: Key, leaves: Sequence[Node]) -> str | None:
    """Return the SQL of a key over an input that a query may read several times; None unless it is the same."""
    found = {key.leaves.get(leaf) for leaf in leaves}
    return found.pop() if len(found) == 1 else None


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

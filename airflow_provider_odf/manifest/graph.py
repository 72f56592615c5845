"""Graph of datasets: each derivative has edges to its inputs. Its rules: names are unique, no dataset reads itself,
inputs exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest.model import SetTransform
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetRef, DatasetUri, parse_ref
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.manifest import Manifest


AliasOf: TypeAlias = Callable[[DatasetRef], DatasetAlias | None]
"""Returns the alias of an input, or None if it is not a dataset of the same store."""


def alias_alone(ref: DatasetRef) -> DatasetAlias | None:
    """Return an alias as it is; without a store, ids and locations name no dataset."""
    return ref if isinstance(ref, DatasetAlias) else None


@dataclass(frozen=True)
class Graph:
    """Datasets with edges to their inputs."""

    manifests: Mapping[DatasetAlias, Manifest]
    """Manifests by dataset, in their order."""
    alias_of: AliasOf = alias_alone

    @classmethod
    def of(cls, manifests: Iterable[Manifest], alias_of: AliasOf = alias_alone) -> Graph:
        return cls({manifest.snapshot.alias: manifest for manifest in manifests}, alias_of)

    def inputs(self, name: str | DatasetAlias) -> tuple[DatasetRef, ...]:
        """Return the inputs of a dataset, in the order of its transform, even if they are not in the graph.

        :raises KeyError: the graph has no dataset of that name.
        """
        alias = DatasetAlias.parse(name) if isinstance(name, str) else name
        transform = self.manifests[alias].snapshot.last(SetTransform)
        return tuple(parse_ref(i.dataset_ref) for i in transform.inputs) if transform else ()

    def cycles(self) -> list[tuple[DatasetAlias, ...]]:
        """Return the cycles of datasets that read themselves through others, inputs first."""
        cycles: list[tuple[DatasetAlias, ...]] = []
        edges = {alias: self.edges(alias) for alias in self.manifests}
        while True:
            try:
                TopologicalSorter(edges).prepare()
            except CycleError as e:
                cycle = tuple(e.args[1][:-1])
                cycles.append(cycle)
                members = set(cycle)
                edges = {alias: reads - members for alias, reads in edges.items() if alias not in members}
            else:
                return cycles

    def edges(self, alias: DatasetAlias) -> set[DatasetAlias]:
        """Return the inputs of a dataset that are in the graph."""
        return {name for ref in self.inputs(alias) if (name := self.alias_of(ref)) is not None} & self.manifests.keys()


# --- rules ----------------------------------------------------------------------------------------------------------


def same_names(manifests: Iterable[Manifest]) -> Iterator[tuple[Manifest, Problem]]:
    """Yield a problem for each dataset with the name or the DAG of another one; none of these is loaded."""
    by_dag: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        by_dag.setdefault(str(manifest.snapshot.alias).replace("/", ".").lower(), []).append(manifest)
    for group in by_dag.values():
        for manifest in group:
            if others := [other for other in group if other is not manifest]:
                yield manifest, Problem(manifest.place("name"), _same_name(manifest, others), "rename one")


def _same_name(manifest: Manifest, others: Sequence[Manifest]) -> str:
    alias = manifest.snapshot.alias
    if same := [other for other in others if other.snapshot.alias == alias]:
        return f"dataset {alias} is also declared in {' and '.join(str(other.place('name')) for other in same)}"
    other = others[0]
    message = f"dataset {alias} would have the same dag_id {str(alias).replace('/', '.')} as {other.snapshot.alias}"
    return f"{message} in {other.place('name')}"


def cycles(graph: Graph) -> Iterator[tuple[Manifest, Problem]]:
    for cycle in graph.cycles():
        for alias in cycle:
            manifest = graph.manifests[alias]
            yield manifest, circle(_input_place(graph, alias, cycle), alias, (*cycle, cycle[0]))


def circle(place: Place, alias: DatasetAlias, names: Sequence[object]) -> Problem:
    """Return the problem of a dataset that reads itself; ``names`` are the datasets of the circle, inputs first, the
    last one again the first."""
    message = f"dataset {alias} reads itself" + (f" through others: {' <- '.join(map(str, names))}" * (len(names) > 2))
    return Problem(place, message, "remove one of these inputs")


def _input_place(graph: Graph, alias: DatasetAlias, among: Sequence[DatasetAlias]) -> Place:
    manifest = graph.manifests[alias]
    index = next(i for i, ref in enumerate(graph.inputs(alias)) if graph.alias_of(ref) in among)
    return manifest.place("metadata", _transform_index(manifest), "inputs", index, "dataset_ref")


def _transform_index(manifest: Manifest) -> int:
    return next(i for i, event in enumerate(manifest.snapshot.metadata) if isinstance(event, SetTransform))


def unknown_inputs(graph: Graph, is_known: Callable[[str], bool], *, has_store: bool) -> Iterator[Problem]:
    for alias in graph.manifests:
        yield from unknown_inputs_of(alias, graph, is_known, has_store=has_store)


def unknown_inputs_of(
    alias: DatasetAlias, graph: Graph, is_known: Callable[[str], bool], *, has_store: bool = True
) -> Iterator[Problem]:
    """Yield a warning for each input of a dataset that is neither in the graph nor known otherwise.

    :param has_store: whether ``is_known`` reads a store.
    """
    manifest = graph.manifests[alias]
    for index, ref in enumerate(graph.inputs(alias)):
        if graph.alias_of(ref) in graph.manifests or is_known(str(ref)):
            continue
        place = manifest.place("metadata", _transform_index(manifest), "inputs", index, "dataset_ref")
        if isinstance(ref, DatasetUri):
            yield Problem(place, f"there is no dataset at {ref}", "mount its store, or correct the location")
            continue
        near = nearest(str(ref), map(str, graph.manifests))
        fix = f"did you mean `{near}`?" if near else ""
        where = "neither in these manifests nor in the store" if has_store else "not in these manifests"
        yield Problem(place, f"input {ref} is {where}", fix)

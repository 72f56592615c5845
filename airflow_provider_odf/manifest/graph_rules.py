"""Rules for the datasets of several files: names are unique, no dataset reads itself, inputs exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest.graph import Graph
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.model import SetTransform
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetUri
from airflow_provider_odf.wording import nearest


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

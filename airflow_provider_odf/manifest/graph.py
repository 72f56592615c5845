"""Graph of datasets: each derivative has edges to its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf.manifest.model import SetTransform
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetRef, parse_ref

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

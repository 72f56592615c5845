"""The inputs of a derivative, as assets that schedule its DAG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAny, AssetWatcher

from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.evolution.analysis import recorded_evaluation
from airflow_provider_odf.hooks.odf import ASSET_GROUP, OdfHook
from airflow_provider_odf.manifest import graph, model
from airflow_provider_odf.manifest.files import declared_names
from airflow_provider_odf.manifest.graph import Graph
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, DatasetRef, DatasetUri, parse_ref

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.errors import Problem
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Evaluation


WATCHED_GROUP = "odf-source"
"""Group of the assets of sources and of inputs in other stores, which triggers watch."""


class StoreNames:
    """Names of the datasets of a store, for a loader: nothing is read before it is needed, or twice, and a store that
    cannot be read has no names."""

    def __init__(self, hook: OdfHook) -> None:
        self.hook = hook

    def dataset(self, alias: DatasetAlias) -> Dataset | None:
        """Return a dataset of the store, or None if it has none of that name."""
        with suppress(OdfError, OSError):
            return self._store.get(alias)
        return None

    def find(self, ref: DatasetRef) -> Dataset | None:
        """Return a dataset of the store, one of the other stores that has this id, or one at a location; None if there
        is no such dataset."""
        with suppress(OdfError, OSError):
            if not isinstance(ref, DatasetId):
                return self._store.find(str(ref))
            if (named := self._by_id.get(str(ref))) is not None:
                store, alias = named
                return store.get(alias)
        return None

    def alias_of(self, ref: DatasetRef) -> DatasetAlias | None:
        """Return the alias that an input has or will have in the store; None for a dataset of another store."""
        if isinstance(ref, DatasetAlias):
            return ref
        with suppress(OdfError, OSError):
            if isinstance(ref, DatasetUri):
                return self._store.alias_of(ref)
            if (dataset := self.find(ref)) is not None and self._store.owns(dataset):
                return dataset.alias
        return None

    @cached_property
    def _store(self) -> Store:
        return self.hook.get_conn()

    @cached_property
    def _by_id(self) -> Mapping[str, tuple[Store, DatasetAlias]]:
        """Return datasets by id. The registries have those that this package published, and only these have assets."""
        return {
            entry.dataset_id: (store, alias)
            for store in (*reversed(self._store.others), self._store)
            for alias in store.registry.aliases()
            if (entry := store.registry.get(alias))
        }


@dataclass(frozen=True)
class Declared:
    """Datasets that the manifests of a loader declare, and names of those whose manifests are not valid."""

    graph: Graph
    invalid: frozenset[str] = frozenset()
    is_whole: bool = True
    """False for a task, for which only the manifest of its dataset is loaded."""

    @classmethod
    def of(
        cls, manifests: Iterable[Manifest], invalid_files: Iterable[Path] = (), *, is_whole: bool = True
    ) -> Declared:
        """Return the datasets of manifests and of files with problems."""
        names = (name for file in invalid_files for name in declared_names(file))
        return cls(Graph.of(manifests), frozenset(name.lower() for name in names), is_whole)

    def name_of(self, ref: DatasetRef) -> str | None:
        """Return the alias of a dataset as its manifest spells it."""
        manifest = self.graph.manifests.get(ref) if isinstance(ref, DatasetAlias) else None
        return str(manifest.snapshot.name) if manifest is not None else None


def schedule(
    manifest: Manifest, declared: Declared, store: StoreNames, watch: Callable[[Sequence[str]], AssetWatcher]
) -> Any:
    """Return the schedule of a derivative's DAG: an event of any of its inputs starts it. Without an input that has an
    asset it runs only by hand.

    :param watch: returns what watches the heads of inputs at these locations. Tasks of other Airflows, or none of
        Airflow, may publish those that lie in other stores.
    """
    refs = Graph.of([manifest]).inputs(manifest.snapshot.alias)
    uris = {uri: store.alias_of(ref) is None for ref in refs if (uri := _uri(ref, declared, store))}
    assets = [Asset(uri=uri, group=ASSET_GROUP) for uri in uris]
    if elsewhere := [uri for uri, is_elsewhere in uris.items() if is_elsewhere]:
        name = f"{manifest.snapshot.name}/inputs"
        assets.append(Asset(name, group=WATCHED_GROUP, watchers=[watch(elsewhere)]))
    return AssetAny(*assets) if len(assets) > 1 else assets or None


def unknown(manifest: Manifest, declared: Declared, store: StoreNames) -> Iterator[Problem]:
    """Yield a warning for each input that is neither declared nor in the store."""

    def is_known(ref: str) -> bool:
        parsed = parse_ref(ref)
        is_declared = ref.lower() in declared.invalid or store.alias_of(parsed) in declared.graph.manifests
        # A loader runs every half minute, and waits for no server.
        is_remote = isinstance(parsed, DatasetUri) and parsed.is_remote and store.alias_of(parsed) is None
        return is_declared or is_remote or store.find(parsed) is not None

    if declared.is_whole:
        yield from graph.unknown_inputs_of(manifest.snapshot.alias, declared.graph, is_known)


def _uri(ref: DatasetRef, declared: Declared, store: StoreNames) -> str | None:
    """Return the URI of an input's asset, spelled as the task spells it that publishes the input: assets compare
    case. None for an id that no store has."""
    alias = store.alias_of(ref)
    if alias is not None and (name := declared.name_of(alias)) is not None:
        return store.hook.dataset_uri(name)
    if alias is None and isinstance(ref, DatasetUri):
        return ref.text
    dataset = store.find(ref)
    if alias is not None:
        return store.hook.dataset_uri(str(dataset.alias if dataset is not None else alias))
    return dataset.uri if dataset is not None else None


def evaluation(manifest: Manifest, store: StoreNames) -> Evaluation | None:
    """Return how the newest run evaluated the query of a derivative, or None before the first run."""
    event = manifest.snapshot.last(model.SetTransform)
    dataset = store.dataset(manifest.snapshot.alias)
    return recorded_evaluation(dataset, event.transform) if event is not None and dataset is not None else None

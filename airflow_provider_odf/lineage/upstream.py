"""Upstream graph of a dataset, from the chains of stores: its sources, and the inputs of derivatives, as of the blocks
that were read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.lineage.dataset import of_dataset, of_source
from airflow_provider_odf.lineage.naming import Edition, EditionNames
from airflow_provider_odf.manifest import public_source

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState, InputPosition
    from airflow_provider_odf.chain.store import Store


@dataclass(frozen=True)
class Node:
    """A dataset or a source. ``label`` is a dataset's name, or describes a source without its secrets.

    ``kind`` is ``Root``, ``Derivative``, ``Polling source``, ``Push source``, ``Unknown`` for an input that no store
    has, or ``Rewritten`` for one whose history no longer has the block that was read. ``names`` are None if lineage has
    no name; ``version`` is a block hash.
    """

    label: str
    kind: str
    names: EditionNames | None = None
    version: str | None = None
    inputs: tuple[Node, ...] = ()

    @property
    def key(self) -> tuple[str, str, str | None]:
        """Identity of the node in a graph."""
        return self.kind, self.label, self.version


@dataclass(frozen=True)
class _Graph:
    store: Store
    edition: Edition
    nodes: dict[tuple[str, str], Node] = field(default_factory=dict)

    def dataset(self, dataset: Dataset, block_hash: str) -> Node:
        state = replay(dataset, block_hash)
        key = (dataset.uri, state.head)
        if key not in self.nodes:
            names = self._names(dataset, state)
            inputs = tuple(self._inputs(state))
            self.nodes[key] = Node(str(dataset.alias), state.kind, names, state.head, inputs)
        return self.nodes[key]

    def _inputs(self, state: ChainState) -> Iterator[Node]:
        if state.polling_source is not None:
            fetch = state.polling_source.fetch
            path = (getattr(fetch, "url", None) or getattr(fetch, "path", None) or "/").strip()
            is_absolute = re.match(r"/|\$\{\{|[A-Za-z][\w+.-]*:", path)  # else relative to the manifest's folder
            names = of_source(fetch, base="/", edition=self.edition) if is_absolute else None
            yield Node(public_source.fetch(fetch), "Polling source", names)
        for source in state.push_sources.values():
            yield Node(source.source_name, "Push source")
        for declared in state.transform.inputs if state.transform else ():
            yield self._input(declared.dataset_ref, declared.alias, state.query_inputs)

    def _input(self, ref: str, alias: str | None, positions: Mapping[str, InputPosition]) -> Node:
        """Return an input as of the block that was read, or as of its head if nothing was read yet."""
        dataset, position = self.store.find(ref), positions.get(ref)
        if dataset is None:
            return Node(self.store.input_name(ref, alias), "Unknown")
        read = position.block_hash if position else None
        if read is not None and _is_rewritten(dataset, read):
            return Node(str(dataset.alias), "Rewritten", self._names(dataset, replay(dataset)), read)
        return self.dataset(dataset, read or "head")

    def _names(self, dataset: Dataset, state: ChainState) -> EditionNames:
        return of_dataset(self.store.store_of(dataset), dataset, state, edition=self.edition).edition_names


def upstream(store: Store, dataset: Dataset, *, ref: str = "head", edition: Edition = "current") -> Node:
    """Return the node of a dataset of a store, with all nodes above it.

    :param ref: ref or block hash of the dataset.
    """
    return _Graph(store, edition).dataset(dataset, ref)


def nodes(root: Node) -> Iterator[Node]:
    """Yield every node once, a node before its inputs."""
    seen, queue = {root.key}, [root]
    for node in queue:
        yield node
        for above in node.inputs:
            if above.key not in seen:
                seen.add(above.key)
                queue.append(above)


def _is_rewritten(dataset: Dataset, block_hash: str) -> bool:
    """Return whether a block is missing because it belongs to another history than that of the head.

    :raises ChainCorrupted: it is missing from that of the head.
    """
    is_missing = dataset.storage.get(f"blocks/{block_hash}") is None
    return is_missing and all(current != block_hash for current, _ in dataset.walk())


def document(root: Node) -> list[dict[str, Any]]:
    """Return a graph as JSON values: every node once, with its inputs."""
    return [{**identity(node), "inputs": [identity(above) for above in node.inputs]} for node in nodes(root)]


def identity(node: Node) -> dict[str, Any]:
    """Return what names a node, as JSON values."""
    known = node.names.primary if node.names else None
    return {
        "label": node.label,
        "kind": node.kind,
        "namespace": known.namespace if known else None,
        "name": known.name if known else None,
        "version": node.version,
    }

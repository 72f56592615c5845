"""New and edited sources that wait for data.

If no columns are declared for a query, only an input shows whether the query is valid. A new or edited source with such
a query is appended by the first merge in which the engine has analyzed the query, so no invalid query gets into the
chain. Until then its block is a draft without a ref.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.evolution.changes import current, edits
from airflow_provider_odf.evolution.difference import is_same
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Manifest

NOTICE = "the new or edited source takes effect with its next input; its query is validated only then"


def pending_sources(state: ChainState, manifest: Manifest | None) -> tuple[columns.Source, ...]:
    """Return the sources of a manifest that have not taken effect yet, since they wait for data."""
    changes = edits(state, manifest) if manifest is not None else ()
    return tuple(c.event for c in changes if c.is_pending and isinstance(c.event, columns.Source))


def with_sources(state: ChainState, sources: Iterable[columns.Source]) -> ChainState:
    """Return a state as if sources were in force. Its head stays."""
    for source in sources:
        if isinstance(source, model.SetPollingSource):
            state = replace(state, polling_source=source)
        else:
            state = replace(state, push_sources={**state.push_sources, source.source_name: source})
    return state


def draft(
    dataset: Dataset, state: ChainState, sources: Iterable[columns.Source], system_time: Instant, manifest_version: int
) -> ChainState:
    """Write blocks of the sources that are not in force, without moving ``head``, and return the state after them."""
    blocks = Draft(dataset, state, manifest_version=manifest_version)
    for source in sources:
        if not is_same(current(blocks.state, source), source):
            blocks.append(source, system_time)
    return blocks.state


def draft_sources(dataset: Dataset, base: str, head: str) -> tuple[columns.Source, ...]:
    """Return the sources in the draft that ends in ``base`` and was written onto a head, in the order of their
    blocks."""
    sources: list[columns.Source] = []
    for block_hash, block in dataset.walk(base):
        if block_hash == head:
            break
        if isinstance(block.event, columns.Source):
            sources.insert(0, block.event)
    return tuple(sources)

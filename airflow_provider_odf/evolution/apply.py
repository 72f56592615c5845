"""Apply a manifest: append the blocks that its dataset does not have yet.

If no columns are declared for a query, only an input shows whether the query is valid. A new or edited source with such
a query is *pending*: it is appended by the first merge in which the engine has analyzed the query, so no invalid query
gets into the chain. Until then its block is a draft without a ref.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import CommitConflict
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.evolution.analysis import Ask, analyze
from airflow_provider_odf.evolution.difference import current, edits, is_same
from airflow_provider_odf.evolution.inputs import with_ids
from airflow_provider_odf.evolution.plan import plan
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetId

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Manifest

Report: TypeAlias = Callable[[str], None]

PENDING = "the new or edited source takes effect with its next input; its query is validated only then"
"""Notice of a run whose source waits for data."""

ATTEMPTS = 16
"""How often a manifest is applied again because another writer published first."""


def apply(
    store: Store,
    manifest: Manifest,
    system_time: Instant,
    *,
    manifest_version: int = 3,
    ask: Ask | None = None,
    report: Report | None = None,
    states: Callable[[Dataset], ChainState] = replay,
) -> ChainState:
    """Create or amend a dataset by its manifest, and return the chain's state.

    Changes are published at once. Only a source with a query over columns that nobody declares waits for data, see
    the module. With ``ask`` the engine analyzes the other new and edited queries first.
    ``report`` receives the kind of each event that is appended to a dataset that exists.

    :param states: returns the state of an input.
    :raises ManifestInvalid: the manifest changes what existing data depend on, or a query is not valid; nothing was
        written.
    :raises InternalError: the engine broke down; nothing was written.
    :raises CommitConflict: other writers came first, each time.
    :raises DatasetGone: the store had the dataset, and it is gone or another one.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(CommitConflict):
            return _apply(store, manifest, system_time, manifest_version, ask, report, states)
        ask = None  # The queries are analyzed once; further attempts take milliseconds and need no turn.
    return _apply(store, manifest, system_time, manifest_version, ask, report, states)


def _apply(
    store: Store,
    manifest: Manifest,
    system_time: Instant,
    manifest_version: int,
    ask: Ask | None,
    report: Report | None,
    states: Callable[[Dataset], ChainState],
) -> ChainState:
    manifest = with_ids(manifest, store)
    alias = manifest.snapshot.alias
    dataset = store.get(alias)
    base = replay(dataset, head=dataset.first_head()) if dataset else None
    if dataset is None or base is None:
        store.check_new(alias)
    else:
        if not store.check_own(dataset, base.dataset_id):
            store.registry.remember(alias, base.dataset_id, is_own=True)
    planned = plan(base, manifest)
    planned.check()
    changes = tuple(change for change in planned.changes if not change.is_pending)
    if base is not None and not changes:
        return base
    if ask is not None:
        analyze(base, manifest, changes, ask, store, states)
    dataset = dataset or store.create(alias)
    draft = Draft(dataset, base, manifest_version=manifest_version)
    time = not_before(base, system_time)
    if base is None:
        draft.append(model.Seed(dataset_id=str(DatasetId.create()), dataset_kind=manifest.snapshot.kind), time)
    for change in changes:
        draft.append(change.event, time)
    state = draft.state
    assert state is not None  # noqa: S101 - a draft of at least one block has a state
    dataset.storage.compare_and_set_ref("head", base.head if base else None, state.head)
    store.registry.remember(alias, state.dataset_id, is_own=True)
    if base is not None and report is not None:
        for change in changes:
            report(change.event.kind)
    return state


def not_before(base: ChainState | None, system_time: Instant) -> Instant:
    """Return the system time for new blocks. It never goes back, even if a writer with a later clock published
    before."""
    return system_time if base is None else max(system_time, base.system_time)


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


def draft_sources(
    dataset: Dataset, state: ChainState, sources: Iterable[columns.Source], system_time: Instant, manifest_version: int
) -> ChainState:
    """Write blocks of the sources that are not in force, without moving ``head``, and return the state after them."""
    blocks = Draft(dataset, state, manifest_version=manifest_version)
    for source in sources:
        if not is_same(current(blocks.state, source), source):
            blocks.append(source, system_time)
    return blocks.state


def drafted_sources(dataset: Dataset, base: str, head: str) -> tuple[columns.Source, ...]:
    """Return the sources in the draft that ends in ``base`` and was written onto ``head``, in their order."""
    sources: list[columns.Source] = []
    for block_hash, block in dataset.walk(base):
        if block_hash == head:
            break
        if isinstance(block.event, columns.Source):
            sources.insert(0, block.event)
    return tuple(sources)

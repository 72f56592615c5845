"""What to ask a dataset's source to learn whether a poll would find something, without fetching or writing anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.cycle.poll import source_state
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest.load import Manifest


@dataclass(frozen=True)
class Position:
    """A source and how far it was read; ``state`` None means not at all."""

    fetch: model.FetchStep
    base: Path
    """What paths are relative to."""
    state: model.SourceState | None


def position(store: Store, manifest: Manifest, *, contract_digest: str | None = None) -> Position:
    """How far the polling source was read, rejected input included, as `poll` would see it.

    :raises InvalidInput: the dataset has no polling source.
    """
    source = manifest.snapshot.last(model.SetPollingSource)
    if source is None:
        raise InvalidInput(f"{manifest.file}: {manifest.snapshot.name} has no polling source to wait for")
    return Position(source.fetch, manifest.file.parent, _seen(store, manifest, source, contract_digest))


def _seen(
    store: Store, manifest: Manifest, source: model.SetPollingSource, contract_digest: str | None
) -> model.SourceState | None:
    dataset = store.get(manifest.snapshot.alias)
    if dataset is None:
        return None
    state = ChainState.of(dataset)
    rejection = rejected.newest(dataset)
    if rejection and rejection.base == state.head and rejection.report.digest == contract_digest:
        return rejection.source_state
    return source_state(dataset, state, source.fetch)

"""Ask a dataset's source whether it has something new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.cycle.apply import apply, not_before
from airflow_provider_odf.cycle.messages import Polled, PolledFile, Progress, SourceState, UpToDate, silent
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import poll as source

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.load import Manifest

POLLING_SOURCE = "default"
"""The source name under which the chain keeps the polling source's state."""


def poll(
    store: Store,
    manifest: Manifest,
    *,
    system_time: Instant,
    environment: Mapping[str, str],
    contract_digest: str | None = None,
    progress: Progress = silent,
) -> Polled | UpToDate:
    """New input of the dataset's polling source, fetched and prepared, or why there is none. The manifest is applied
    first.

    What was seen last, the chain alone knows: the newest AddData says it, or the newest rejected candidate, so that
    rejected data are not merged again until the source, the manifest or the contract changes.

    :raises SourceError: the source cannot be had.
    :raises CommitConflict: another writer came first; try again.
    """
    state = apply(store, manifest, system_time)
    if state.polling_source is None:
        return UpToDate("no polling source")
    dataset = store.dataset(manifest.snapshot.alias)
    look = _Look(store, manifest, state, state.polling_source.fetch, system_time, environment, progress)
    rejection = rejected.newest(dataset)
    if rejection and rejection.base == state.head and rejection.report.digest == contract_digest:
        found = look.beyond(rejection.source_state, published=state.source_states.get(POLLING_SOURCE))
        if found is None:
            return UpToDate(f"still rejected, see: odf rejected show {dataset.alias}")
    else:
        found = look.after(state.source_states.get(POLLING_SOURCE))
    return _polled(found, str(dataset.alias), state, system_time) if found else UpToDate()


@dataclass(frozen=True)
class _Look:
    store: Store
    manifest: Manifest
    state: ChainState
    fetch: model.FetchStep
    system_time: Instant
    environment: Mapping[str, str]
    progress: Progress

    def after(self, seen: model.SourceState | None) -> source.Polled | None:
        """What the source has beyond the state that was seen."""
        polling = self.state.polling_source
        return source.poll(
            self.fetch,
            (polling.prepare or ()) if polling else (),
            base=self.manifest.file.parent,
            state=seen,
            system_time=self.system_time,
            work=self.store.work_area / str(self.manifest.snapshot.alias).lower(),
            environment=self.environment,
            progress=self.progress,
            taken=self._taken,
        )

    def _taken(self) -> set[str]:
        """Values of every state of the source that the chain has recorded."""
        dataset = self.store.dataset(self.manifest.snapshot.alias)
        events = (block.event for _, block in dataset.walk(self.state.head))
        states = (event.new_source_state for event in events if isinstance(event, model.AddData))
        return {state.value for state in states if state is not None and state.source_name == POLLING_SOURCE}

    def beyond(self, rejection: model.SourceState | None, published: model.SourceState | None) -> source.Polled | None:
        """The same, where a rejected candidate has seen more than was published. Files of a glob that were rejected
        come again together with a new one; a URL's content replaces what was rejected."""
        found = self.after(rejection)
        if found is not None and isinstance(self.fetch, model.FetchStepFilesGlob):
            return self.after(published)
        return found


def _polled(found: source.Polled, dataset: str, state: ChainState, system_time: Instant) -> Polled:
    files = tuple(
        PolledFile(
            paths=tuple(map(str, file.paths)),
            event_time=str(file.event_time),
            label=file.label,
            state=SourceState(file.state.kind, file.state.value) if file.state else None,
        )
        for file in found.files
    )
    time = not_before(state, system_time)
    return Polled(
        dataset,
        state.head,
        str(time),
        files,
        directory=str(found.directory),
        has_more=found.has_more,
        warnings=tuple(found.warnings),
    )

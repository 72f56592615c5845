"""Ask a dataset's source whether it has something new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import rejected, waiting
from airflow_provider_odf.cycle.analysis import Ask
from airflow_provider_odf.cycle.apply import apply, not_before
from airflow_provider_odf.cycle.hold import limits_of
from airflow_provider_odf.cycle.messages import Candidate, Polled, PolledFile, Progress, SourceState, UpToDate, silent
from airflow_provider_odf.errors import SourceError, StillRejected
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import poll as source
from airflow_provider_odf.source.states import carries_over

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.errors import Place
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Manifest

POLLING_SOURCE = "default"
"""The source name under which the chain keeps the polling source's state."""


def poll(
    store: Store,
    manifest: Manifest,
    *,
    system_time: Instant,
    environment: Mapping[str, str],
    contract_digest: str | None = None,
    manifest_version: int = 3,
    options: source.Options = source.Options(),  # noqa: B008 - frozen
    progress: Progress = silent,
    ask: Ask | None = None,
) -> Polled | UpToDate:
    """New input of the dataset's polling source, fetched and prepared, or why there is none. The manifest is applied
    first; ``ask`` is for `apply`.

    What was seen last, the chain alone knows: the newest AddData says it, or the newest rejected candidate, so that
    rejected data are not merged again until the source, the manifest, the contract or ``odf.yaml`` changes.

    :raises StillRejected: they have not changed since the newest input was rejected.
    :raises SourceError: the source cannot be had.
    :raises CommitConflict: another writer came first; try again.
    """
    state = apply(store, manifest, system_time, manifest_version=manifest_version, ask=ask)
    new = [source for source in waiting.waiting(state, manifest) if isinstance(source, model.SetPollingSource)]
    polling = new[0] if new else state.polling_source
    if polling is None:
        return UpToDate("no polling source")
    dataset = store.dataset(manifest.snapshot.alias)
    look = _Look(store, manifest, dataset, state.dataset_id, polling, system_time, environment, options, progress)
    published = _Seen(source_state(state, polling.fetch), state.head)
    rejection = rejected.newest(dataset)
    if rejection and not new and rejection.stands(state.head, contract_digest, limits_of(manifest)):
        found = look.beyond(rejection, published)
        if found is None:
            return _unchanged(dataset, rejection, look)
    else:
        found = look.after(published)
    if found is None:
        return UpToDate(notices=(*look.notices, waiting.NOTICE) if new else look.notices)
    base = waiting.draft(dataset, state, new, not_before(state, system_time), manifest_version)
    return _polled(found, str(dataset.alias), state, base, system_time)


def source_state(state: ChainState, current: model.FetchStep) -> model.SourceState | None:
    """The polling source's state, None where it was recorded of a fetch step that says nothing of the current one."""
    if state.polled_fetch is None or not carries_over(state.polled_fetch, current):
        return None
    return state.polled


@dataclass(frozen=True)
class _Seen:
    """How far a chain has seen the source: its state, and the block up to which the chain counts."""

    state: model.SourceState | None
    head: str


@dataclass(frozen=True)
class _Look:
    store: Store
    manifest: Manifest
    dataset: Dataset
    dataset_id: str
    polling: model.SetPollingSource
    system_time: Instant
    environment: Mapping[str, str]
    options: source.Options
    progress: Progress
    warnings: list[str] = field(default_factory=list)

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings of polls that brought nothing."""
        return tuple(dict.fromkeys(self.warnings))

    def after(self, seen: _Seen) -> source.Polled | None:
        """What the source has beyond what was seen.

        :raises SourceError: with its place in the manifest where a value there does not fit the source.
        """
        try:
            return source.poll(
                self.polling.fetch,
                self.polling.prepare or (),
                base=self.manifest.file.parent,
                state=seen.state,
                system_time=self.system_time,
                work=self.store.work(self.manifest.snapshot.alias),
                dataset_id=self.dataset_id,
                environment=self.environment,
                progress=self.progress,
                warn=self.warnings.append,
                taken=lambda: self._taken(seen.head),
                options=self.options,
            )
        except SourceError as e:
            if not e.at:
                raise
            raise type(e)(f"{self._place(e.at)}: {e}") from None

    def _place(self, at: tuple[str, ...]) -> Place:
        """Where a value of the fetch step stands in the manifest."""
        events = self.manifest.snapshot.metadata
        index = max(i for i, event in enumerate(events) if isinstance(event, model.SetPollingSource))
        return self.manifest.place("metadata", index, "fetch", *at)

    def beyond(self, rejection: rejected.Rejection, published: _Seen) -> source.Polled | None:
        """The same, where a rejected candidate has seen more than was published. Files of a glob that were rejected
        come again together with a new one, unless they were discarded; a URL's content replaces what was rejected."""
        found = self.after(_Seen(rejection.source_state, rejection.block_hash))
        is_glob = isinstance(self.polling.fetch, model.FetchStepFilesGlob)
        if found is not None and is_glob and not rejection.record.is_discarded:
            return self.after(published)
        return found

    def _taken(self, head: str) -> list[str]:
        """Values of every state of the source that a chain has recorded, as often as it has."""
        events = (block.event for _, block in self.dataset.walk(head))
        states = (event.new_source_state for event in events if isinstance(event, model.AddData))
        return [state.value for state in states if state is not None and state.source_name == POLLING_SOURCE]


def _unchanged(dataset: Dataset, rejection: rejected.Rejection, look: _Look) -> UpToDate:
    """What a poll says that finds only input which was rejected before.

    :raises StillRejected: nobody has decided on it, and `Options.still_rejected` is ``fail``.
    """
    if rejection.record.is_discarded:
        return UpToDate(f"up to date: the newest input was discarded ({rejection.ref})", look.notices)
    message = f"the newest input of {dataset.alias} is still rejected, see: {rejected.hint(dataset)}"
    if look.options.still_rejected == "skip":
        return UpToDate(message, look.notices)
    candidate = Candidate(str(dataset.alias), rejection.base, rejection.block_hash, rejection.ref, rejection.records)
    raise StillRejected(message, candidate, look.notices)


def _polled(found: source.Polled, dataset: str, state: ChainState, base: ChainState, system_time: Instant) -> Polled:
    files = tuple(
        PolledFile(
            paths=tuple(map(str, file.paths)),
            event_time=str(file.event_time),
            label=file.label,
            state=SourceState(file.state.kind, file.state.value) if file.state else None,
        )
        for file in found.files
    )
    return Polled(
        dataset,
        base.head,
        str(not_before(base, system_time)),
        files,
        head=state.head if base.head != state.head else None,
        directory=found.directory.name,
        has_more=found.has_more,
        warnings=tuple(found.warnings),
    )

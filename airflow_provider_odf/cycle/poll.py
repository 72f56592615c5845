"""Poll the source of a dataset for new input, and say how far it was read to triggers that check it without a poll."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.binding import beside, bind
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.cycle import limits_of
from airflow_provider_odf.cycle.messages import Input, InputFile, SourceState, UpToDate
from airflow_provider_odf.cycle.sources import POLLING_SOURCE, source_state
from airflow_provider_odf.cycle.step import after_manifest, up_to_rejection
from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.evolution import apply
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder_settings import settings_files
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source import fetchers
from airflow_provider_odf.source import poll as source
from airflow_provider_odf.source.fetching import Context

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.errors import Place
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.source.fetching import SourceFile, SourceFiles


def poll(cycle: Cycle) -> Input | UpToDate:
    """Return new input of the polling source, fetched and prepared, or why there is none. The manifest is applied
    first.

    The chain records how far the source was read: in the newest AddData, or in the newest rejected candidate. So
    rejected data is not merged again until the source, the manifest, the contract or ``odf.yaml`` changes.

    :raises StillRejected: they have not changed since the newest input was rejected.
    :raises SourceError: the source cannot be reached, or is not what the manifest says.
    :raises CommitConflict: another writer published first; try again.
    """
    if (manifest := cycle.manifest) is None:
        raise InvalidInput(f"{cycle.dataset}: a poll needs the manifest of the dataset")
    return after_manifest(cycle, lambda state, digest: _poll(cycle, manifest, state, digest))


def _poll(cycle: Cycle, manifest: Manifest, state: ChainState, digest: str | None) -> Input | UpToDate:
    new = [s for s in apply.pending_sources(state, manifest) if isinstance(s, model.SetPollingSource)]
    polling = new[0] if new else state.polling_source
    if polling is None:
        return UpToDate("no polling source")
    dataset, rejection, discarded = cycle.store.dataset(cycle.dataset), None, dict[str, str]()
    if not new:
        rejection, discarded = candidates.rejection_in_force(dataset, state.head, digest, cycle.limits)
    polled = _PolledSource(cycle, manifest, dataset, state.dataset_id, polling, discarded)
    published = _Recorded(source_state(state, polling.fetch), state.head)
    files = polled.after(published) if rejection is None else polled.after_rejection(rejection, published)
    if files is None and rejection is not None:
        return up_to_rejection(cycle, dataset, rejection, "input", polled.notices)
    if files is None:
        return UpToDate(notices=(*polled.notices, apply.PENDING) if new else polled.notices)
    base = apply.draft_sources(dataset, state, new, not_before(state, cycle.system_time), cycle.manifest_version)
    cycle.states.keep(dataset, base)
    return Input(
        str(dataset.alias),
        base.head,
        str(not_before(base, cycle.system_time)),
        tuple(map(_input_file, files.files)),
        head=state.head if base.head != state.head else None,
        directory=files.directory.name,
        has_more=files.has_more,
        warnings=tuple(files.warnings),
    )


@dataclass(frozen=True)
class _Recorded:
    """How far a source was read: its state, and the block that records it, published or of a rejected candidate."""

    state: model.SourceState | None
    block_hash: str
    is_published: bool = True


@dataclass(frozen=True)
class _PolledSource:
    """The polling source of one cycle. ``discarded`` are stamps by path of files that are not fetched."""

    cycle: Cycle
    manifest: Manifest
    dataset: Dataset
    dataset_id: str
    polling: model.SetPollingSource
    discarded: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings of polls without new input."""
        return tuple(dict.fromkeys(self.warnings))

    def after(self, position: _Recorded) -> SourceFiles | None:
        """Fetch what the source has after a position.

        :raises SourceError: with its place in the manifest where a value there does not fit the source.
        """
        cycle = self.cycle
        try:
            return source.poll(
                self.polling.fetch,
                self.polling.prepare or (),
                Context(
                    base=self.manifest.file.parent,
                    state=position.state,
                    system_time=cycle.system_time,
                    directory=cycle.store.scratch(self.dataset.alias),
                    environment=Environment(cycle.environment),
                    tell=cycle.progress,
                    options=cycle.options,
                    warn=self.warnings.append,
                    dataset_id=self.dataset_id,
                    discarded=self.discarded,
                    past_states=lambda: self._recorded(position.block_hash),
                    is_published=position.is_published,
                ),
            )
        except SourceError as e:
            if not e.at:
                raise
            raise type(e)(f"{self._place(e.at)}: {e}") from None

    def after_rejection(self, rejection: candidates.Rejection, published: _Recorded) -> SourceFiles | None:
        """Fetch what the source has after a rejected candidate. Rejected files of a glob are fetched again once one of
        them has changed or there is a new one; discarded files, once they have changed themselves. New content of a URL
        replaces the rejected content."""
        cycle = self.cycle
        stamps = fetchers.stamps(
            self.polling.fetch,
            self.manifest.file.parent,
            published.state,
            cycle.options,
            system_time=cycle.system_time,
            discarded=self.discarded,
        )
        if stamps not in (None, rejection.record.stamps):
            return self.after(published)
        return self.after(_Recorded(rejection.source_state, rejection.block_hash, is_published=False))

    def _place(self, at: tuple[str, ...]) -> Place:
        """Return the place of a value of the fetch step in the manifest."""
        events = self.manifest.snapshot.metadata
        index = max(i for i, event in enumerate(events) if isinstance(event, model.SetPollingSource))
        return self.manifest.place("metadata", index, "fetch", *at)

    def _recorded(self, block_hash: str) -> list[str]:
        """Return the values of all states of the source that a chain has recorded, with repetitions."""
        events = (block.event for _, block in self.dataset.walk(block_hash))
        states = (event.new_source_state for event in events if isinstance(event, model.AddData))
        return [state.value for state in states if state is not None and state.source_name == POLLING_SOURCE]


def _input_file(file: SourceFile) -> InputFile:
    return InputFile(
        paths=tuple(map(str, file.paths)),
        event_time=str(file.event_time),
        label=file.label,
        state=SourceState(file.state.kind, file.state.value) if file.state else None,
        stamp=file.stamp,
    )


@dataclass(frozen=True)
class Position:
    """A dataset's source and how far it was read; ``state`` None means not at all."""

    dataset: str
    fetch: model.FetchStep
    base: Path
    """Folder to which paths are relative."""
    state: model.SourceState | None
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Stamps by path of the files of a glob that the newest rejected candidate was merged from."""
    discarded: Mapping[str, str] = field(default_factory=dict)
    """Stamps by path of the files of a glob that somebody discarded."""


def position(store: Store, manifest: Manifest, contract: str | None = None) -> Position:
    """Return how far the polling source was read, rejected input included, as in `poll`. ``contract`` is the path of a
    contract, in place of the one of the manifest.

    :raises InvalidInput: the dataset has no polling source, or its contract is not valid.
    """
    source = manifest.snapshot.last(model.SetPollingSource)
    if source is None:
        raise InvalidInput(f"{manifest.file}: {manifest.snapshot.name} has no polling source to wait for")
    name, dataset = str(manifest.snapshot.name), store.get(manifest.snapshot.alias)
    new = Position(name, source.fetch, manifest.file.parent, None)
    return new if dataset is None else _watched(new, dataset, manifest, contract)


def _watched(new: Position, dataset: Dataset, manifest: Manifest, contract: str | None) -> Position:
    state = replay(dataset)
    published = replace(new, state=source_state(state, new.fetch))
    compiled = bind(manifest, contract)
    conditions = (state.head, compiled.digest if compiled else None, limits_of(manifest))
    rejection, discarded = candidates.rejection_in_force(dataset, *conditions)
    if rejection is None:
        return published
    if not fetchers.has_stamps(new.fetch):
        return replace(new, state=rejection.source_state)
    return replace(published, rejected=rejection.record.stamps, discarded=discarded)


class Watch:
    """The position of one dataset's source over time. ``load`` reads the manifest in ``file``. It is called again only
    after a change of the file, the contract or the dataset. ``contract`` is the path of a contract, in place of the one
    of the manifest."""

    def __init__(self, store: Store, file: Path, load: Callable[[], Manifest], contract: str | None = None) -> None:
        self._store, self._file, self._load, self._contract = store, file, load, contract
        self._position: Position | None = None
        self._fingerprint: object = None

    def position(self) -> Position:
        """Return the current position.

        :raises InvalidInput: manifest or contract is not valid, or there is no polling source.
        """
        if self._position is None or self._fingerprint != self._fingerprint_of(self._position.dataset):
            self._position = None
            manifest = self._load()
            self._fingerprint = self._fingerprint_of(str(manifest.snapshot.name))
            self._position = position(self._store, manifest, self._contract)
        return self._position

    def _fingerprint_of(self, name: str) -> object:
        """Return a value that changes when the position may change: of files, head and rejected candidates."""
        settings = settings_files(self._file)
        contracts = [self._file.parent / self._contract] if self._contract else beside(self._file, name)
        files = [(file, _stamp(file)) for file in (self._file, *contracts, *settings)]
        dataset = self._store.get(name)
        return files, dataset and (dataset.head(), dataset.storage.refs(candidates.REJECTED))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size

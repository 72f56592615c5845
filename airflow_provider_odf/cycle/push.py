"""Take in what somebody hands over: what `poll` is for sources that are asked, this is for those that tell."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle import media_types, waiting
from airflow_provider_odf.cycle.apply import not_before
from airflow_provider_odf.cycle.fetched import seal_input
from airflow_provider_odf.cycle.merge import merge_source, source_name_of
from airflow_provider_odf.cycle.messages import Polled, PolledFile, Progress, Pushed, SourceState, UpToDate, silent
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.source import savepoint, uris
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.push import InputFiles, Receiver, check_form, write_records
from airflow_provider_odf.source.states import CONTENT_HASH, PUSH_ID

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle import columns
    from airflow_provider_odf.manifest.manifest import Manifest

_REPEATABLE = ("Ledger", "Snapshot", "UpsertStream")
"""Strategies that add nothing when the same input comes twice in a row."""

_RECORDS = "records"


@dataclass(frozen=True)
class Push:
    """What is handed over: paths and URIs that are read together, or records as JSON objects.

    ``source_name`` may be left out where there is one source, or one that is called ``default``. ``event_time`` is
    that of data which have none of their own, else the time of the push. The same content under the same ``push_id``
    is taken in once. ``media_type`` is that of the files, else their suffixes show where it is not of the source's
    format. ``label`` is what messages call it. ``allows`` says whether a redirect may lead to a URL, where
    nobody trusted has named the URIs."""

    uris: tuple[str, ...] = ()
    records: Sequence[Any] | None = None
    source_name: str | None = None
    event_time: Instant | None = None
    push_id: str | None = None
    media_type: str | None = None
    label: str | None = None
    allows: Callable[[str], bool] | None = None

    @property
    def name(self) -> str:
        if self.label is not None:
            return self.label
        return _RECORDS if self.records is not None else ", ".join(map(uris.shown, self.uris))


def push(
    store: Store,
    dataset: str,
    given: Push,
    *,
    system_time: Instant,
    manifest: Manifest | None = None,
    manifest_version: int = 3,
    copies: bool = False,
    options: Options = Options(),  # noqa: B008 - frozen
    progress: Progress = silent,
) -> Polled | UpToDate:
    """What is handed over as one input for a merge, or why there is nothing to merge. With ``manifest``, which was
    applied before, that may be the input for which its source waits.

    With ``copies`` files are copied to the work area, for whoever merges them later, or on another machine. A dataset
    with a polling source takes files as if that source had fetched them: its prepare steps and its event time hold,
    and its state stays as it is.

    :raises InvalidInput: a file is not there or of another form, a record is no object, the dataset has no such source.
    :raises SourceError: a URI cannot be fetched.
    """
    target = store.dataset(dataset)
    state = replay(target)
    sources = waiting.waiting(state, manifest)
    foreseen = waiting.with_sources(state, sources)
    taking = _Taking(store, target, foreseen, given, system_time, copies, options, progress)
    try:
        found = taking.polled()
        seal_input(store, found, state.dataset_id)
    except BaseException:
        taking.discard()
        raise
    onto = _onto(target, state, found, [s for s in sources if s == taking.source], manifest_version)
    if isinstance(onto, UpToDate):
        taking.discard()
    return onto


def again(store: Store, polled: Polled, manifest_version: int = 3) -> Polled | UpToDate:
    """The same input onto the dataset's head of now, where another writer came first.

    :raises InvalidInput: its files are gone.
    """
    target = store.dataset(polled.dataset)
    onto = _onto(target, replay(target), polled, waiting.drafted(target, polled), manifest_version)
    if isinstance(onto, Polled) and any(not Path(path).exists() for file in onto.files for path in file.paths):
        raise InvalidInput(
            f"{onto.files[0].label}: its files are no longer in the work area; clear the task that pushed them, "
            "it brings them again"
        )
    return onto


def _onto(
    target: Dataset, state: ChainState, polled: Polled, sources: Iterable[columns.Source], manifest_version: int
) -> Polled | UpToDate:
    """The input on a state of the chain, and on drafts of sources that wait for it; up to date where the chain has it
    already.

    Under a push id that is wherever the chain names it. Without one it is only the newest block, and only where merging
    again would add nothing: two equal pushes of events are two events.
    """
    seen = polled.files[0].state
    if seen is not None and (block := _recorded(target, state, polled.source_name, seen)) is not None:
        return UpToDate(f"up to date: the same was pushed already (block {block.sequence_number})")
    time = not_before(state, Instant.parse(polled.system_time))
    base = waiting.draft(target, state, sources, time, manifest_version)
    head = state.head if base.head != state.head else None
    return replace(polled, base=base.head, head=head, system_time=str(time))


def _recorded(
    target: Dataset, state: ChainState, source_name: str | None, seen: SourceState
) -> model.MetadataBlock | None:
    """The newest block that was left by the same push."""
    for _, block in target.walk(state.head):
        recorded = block.event.new_source_state if isinstance(block.event, model.AddData) else None
        if recorded is not None and recorded == model.SourceState(
            source_name=source_name or "", kind=seen.kind, value=seen.value
        ):
            return block
        if seen.kind == CONTENT_HASH:
            break
    return None


@dataclass(frozen=True)
class _Taking:
    """One push on its way to files."""

    store: Store
    target: Dataset
    state: ChainState
    given: Push
    system_time: Instant
    copies: bool
    options: Options
    progress: Progress

    @cached_property
    def source_name(self) -> str | None:
        """:raises InvalidInput: no such source, with what became of it."""
        name = source_name_of(self.state, self.given.source_name)
        if name is not None and name not in self.state.push_sources:
            _refuse_disabled(self.target, name)
        return name

    @cached_property
    def source(self) -> model.SetPollingSource | model.AddPushSource:
        return merge_source(self.state, self.source_name)

    @cached_property
    def directory(self) -> Path:
        """A directory of this push in the work area, made when it is needed."""
        return savepoint.directory(self.store.work(self.target.alias))

    def discard(self) -> None:
        if "directory" in self.__dict__:
            shutil.rmtree(self.directory, ignore_errors=True)

    def polled(self) -> Polled:
        given, source = self.given, self.source
        files = self.files(source)
        media_type = None
        if isinstance(source, model.AddPushSource) and given.records is None:
            media_type = self.media_type(source, files)
        elif given.media_type is not None:
            what = "records are JSON" if given.records is not None else "a polling source reads its own format"
            raise InvalidInput(f"{given.name}: {what}: push without a media type")
        paths = tuple(map(str, files.paths))
        time = given.event_time or files.event_time or self.system_time
        return Polled(
            str(self.target.alias),
            self.state.head,
            str(self.system_time),
            (PolledFile(paths, str(time), given.name, self.seen(source, paths)),),
            source_name=self.source_name,
            directory=self.directory.name if "directory" in self.__dict__ else None,
            pushed=Pushed(tuple(map(uris.shown, given.uris)), given.records is not None, media_type),
        )

    def media_type(self, source: model.AddPushSource, files: InputFiles) -> str | None:
        """The media type of files that are not in the source's format.

        :raises InvalidInput: it is not known or not theirs, or their suffixes differ."""
        step, name = ddl.read_step(source.read), self.given.name
        # A folder shows suffixes in its files alone, a download in its URI alone.
        media_type = self.given.media_type or media_types.of_names(
            [*self.given.uris, *map(str, files.paths)], step.kind
        )
        kind = step.kind if media_type is None else media_types.read_as(step, media_type, name).kind
        for path in files.paths:
            check_form(path, kind, name)
        return media_type

    def files(self, source: model.SetPollingSource | model.AddPushSource) -> InputFiles:
        if self.given.records is not None:
            return InputFiles((write_records(self.given.records, self.directory / "records.ndjson"),))
        receiver = Receiver(
            lambda: self.directory,
            self.system_time,
            self.progress,
            self.options,
            copies=self.copies,
            allows=self.given.allows,
        )
        if isinstance(source, model.SetPollingSource):
            receiver = replace(receiver, prepare=source.prepare or (), event_time=_event_time(source.fetch))
        return receiver.receive(self.given.uris)

    def seen(self, source: model.SetPollingSource | model.AddPushSource, paths: tuple[str, ...]) -> SourceState | None:
        """What the chain is to remember of this push."""
        if isinstance(source, model.SetPollingSource):
            return None
        if self.given.push_id is not None:
            return SourceState(PUSH_ID, f"{self.given.push_id} {_content_hash(paths)}")
        return SourceState(CONTENT_HASH, _content_hash(paths)) if source.merge.kind in _REPEATABLE else None


def _refuse_disabled(target: Dataset, name: str) -> None:
    """:raises InvalidInput: there was a source of that name."""
    for _, block in target.walk("head"):
        if isinstance(block.event, model.DisablePushSource) and block.event.source_name == name:
            raise InvalidInput(
                f"push source {name} of {target.alias} was disabled at {block.system_time} "
                f"(block {block.sequence_number}): put its AddPushSource back into the manifest to push again"
            )


def _event_time(fetch: model.FetchStep) -> model.EventTimeSource:
    """The event time of a file that a fetch step would have fetched."""
    if isinstance(fetch, model.FetchStepUrl | model.FetchStepFilesGlob) and fetch.event_time is not None:
        return fetch.event_time
    if isinstance(fetch, model.FetchStepUrl):
        return model.EventTimeSourceFromMetadata()
    return model.EventTimeSourceFromSystemTime()


def _content_hash(paths: Sequence[str]) -> str:
    hashes = [multiformats.hash_file(path) for path in paths]
    return hashes[0] if len(hashes) == 1 else multiformats.sha3_256("".join(hashes).encode())

"""Push data into a dataset: files, URIs and records in place of a poll."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle import sources
from airflow_provider_odf.cycle.messages import Input, InputFile, Pushed, SourceState, UpToDate
from airflow_provider_odf.cycle.read import seal_input
from airflow_provider_odf.cycle.sources import source_name_of, source_of
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution import apply
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, fetch_kinds, model
from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES
from airflow_provider_odf.source import uris, work_area
from airflow_provider_odf.source.push import InputFiles, Receiver, check_form, write_records
from airflow_provider_odf.source.source_state import CONTENT_HASH, PUSH_ID

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.evolution.columns import Source

_RECORDS = "records"


@dataclass(frozen=True)
class Push:
    """Data to push: paths and URIs that are read together, or records as JSON objects.

    ``source_name`` may be None where there is one source, or one that is called ``default``. ``event_time`` is for data
    without their own; the default is the time of the push. The same content under the same ``push_id`` is merged once.
    ``media_type`` is that of the files; by default their suffixes show whether it is the source's. ``label`` names the
    data in messages. ``allows`` returns whether a redirect may lead to a URL; it is set for URIs of untrusted users."""

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


@dataclass(frozen=True)
class Intake:
    """One push, from its data to the input of a merge."""

    cycle: Cycle
    dataset: Dataset
    state: ChainState
    data: Push
    copies: bool

    @cached_property
    def source_name(self) -> str | None:
        """The name of the push source, None for the polling source.

        :raises InvalidInput: there is no such source, or it was disabled.
        """
        name = source_name_of(self.state, self.data.source_name)
        if name is not None and name not in self.state.push_sources:
            _refuse_disabled(self.dataset, name)
        return name

    @cached_property
    def source(self) -> Source:
        return source_of(self.state, self.source_name)

    @cached_property
    def directory(self) -> Path:
        """The directory of this push in the work area, created at first use."""
        return work_area.new_input(self.cycle.store.scratch(self.dataset.alias))

    def discard(self) -> None:
        if "directory" in self.__dict__:
            shutil.rmtree(self.directory, ignore_errors=True)

    def new_input(self) -> Input:
        data, source = self.data, self.source
        files = self.files(source)
        media_type = None
        if isinstance(source, model.AddPushSource) and data.records is None:
            media_type = self.media_type(source, files)
        elif data.media_type is not None:
            what = (
                "records are JSON" if data.records is not None else "files for a polling source are read in its format"
            )
            raise InvalidInput(f"{data.name}: {what}: push without a media type")
        paths = tuple(map(str, files.paths))
        time = data.event_time or files.event_time or self.cycle.system_time
        return Input(
            str(self.dataset.alias),
            self.state.head,
            str(self.cycle.system_time),
            (InputFile(paths, str(time), data.name, self.source_state(source, paths)),),
            source_name=self.source_name,
            directory=self.directory.name if "directory" in self.__dict__ else None,
            pushed=Pushed(tuple(map(uris.shown, data.uris)), data.records is not None, media_type),
        )

    def media_type(self, source: model.AddPushSource, files: InputFiles) -> str | None:
        """Return the media type of files that are not in the source's format, or None.

        :raises InvalidInput: it is unknown or does not fit the files, or their suffixes differ.
        """
        step, name = ddl.read_step(source.read), self.data.name
        # The suffix of a folder is that of its files, the suffix of a download that of its URI.
        names = [*self.data.uris, *map(str, files.paths)]
        media_type = self.data.media_type or sources.media_type_of(names, step.kind)
        kind = step.kind if media_type is None else sources.read_as(step, media_type, name).kind
        for path in files.paths:
            check_form(path, kind, name)
        return media_type

    def files(self, source: Source) -> InputFiles:
        """Return the files of the pushed data."""
        if self.data.records is not None:
            return InputFiles((write_records(self.data.records, self.directory / "records.ndjson"),))
        receiver = Receiver(
            lambda: self.directory,
            self.cycle.system_time,
            self.cycle.progress,
            self.cycle.options,
            copies=self.copies,
            allows=self.data.allows,
        )
        if isinstance(source, model.SetPollingSource):
            receiver = replace(receiver, prepare=source.prepare or (), event_time=fetch_kinds.event_time(source.fetch))
        return receiver.receive(self.data.uris)

    def source_state(self, source: Source, paths: tuple[str, ...]) -> SourceState | None:
        """Return the state that the chain records for this push, or None."""
        if isinstance(source, model.SetPollingSource):
            return None
        if self.data.push_id is not None:
            return SourceState(PUSH_ID, f"{self.data.push_id} {_content_hash(paths)}")
        return (
            SourceState(CONTENT_HASH, _content_hash(paths)) if MERGE_STRATEGIES[source.merge.kind].has_state else None
        )


def _refuse_disabled(dataset: Dataset, name: str) -> None:
    """Refuse a push to a source that was disabled.

    :raises InvalidInput: there was a source of that name.
    """
    for _, block in dataset.walk("head"):
        if isinstance(block.event, model.DisablePushSource) and block.event.source_name == name:
            raise InvalidInput(
                f"push source {name} of {dataset.alias} was disabled at {block.system_time} "
                f"(block {block.sequence_number}): restore its AddPushSource in the manifest to push again"
            )


def _content_hash(paths: Sequence[str]) -> str:
    hashes = [multiformats.hash_file(path) for path in paths]
    return hashes[0] if len(hashes) == 1 else multiformats.sha3_256("".join(hashes).encode())


def push(cycle: Cycle, data: Push, *, copies: bool = False) -> Input | UpToDate:
    """Return pushed data as one input for a merge, or why there is nothing to merge. The manifest is applied first, if
    there is one; the input may be the one for which a source of it waits.

    With ``copies`` files are copied to the work area, for a merge that runs later or on another machine. A dataset with
    a polling source reads files as if that source had fetched them, with its prepare steps and event time; the state of
    the source does not change.

    :raises InvalidInput: a file is missing or of another format, a record is no object, the dataset has no such source.
    :raises SourceError: a URI cannot be fetched.
    """
    state = cycle.apply_manifest()
    dataset = cycle.store.dataset(cycle.dataset)
    sources = apply.pending_sources(state, cycle.manifest)
    intake = Intake(cycle, dataset, apply.with_sources(state, sources), data, copies)
    try:
        new_input = intake.new_input()
        seal_input(cycle.store, new_input, state.dataset_id)
    except BaseException:
        intake.discard()
        raise
    result = _onto(cycle, dataset, state, new_input, [s for s in sources if s == intake.source])
    if isinstance(result, UpToDate):
        intake.discard()
    return result


def again(cycle: Cycle, new_input: Input) -> Input | UpToDate:
    """Return a pushed input for the current head, after another writer published first.

    :raises InvalidInput: its files are gone.
    """
    dataset = cycle.store.dataset(new_input.dataset)
    sources = apply.drafted_sources(dataset, new_input.base, new_input.head) if new_input.head is not None else ()
    result = _onto(cycle, dataset, cycle.states(dataset), new_input, sources)
    if isinstance(result, Input) and any(not Path(path).exists() for file in result.files for path in file.paths):
        raise InvalidInput(
            f"{result.files[0].label}: its files are no longer in the work area: clear the push task to fetch them "
            "again"
        )
    return result


def _onto(
    cycle: Cycle, dataset: Dataset, state: ChainState, new_input: Input, sources: Iterable[Source]
) -> Input | UpToDate:
    """Return the input for a state of the chain, on drafts of sources that wait for it, or `UpToDate` if the chain has
    it already.

    With a push id the chain has it if any block names it. Without one only the newest block counts, and only for merge
    strategies that compare rows with the history: two equal pushes of events are two events.
    """
    pushed_state = new_input.files[0].state
    if pushed_state is not None and (block := _recorded(dataset, state, new_input.source_name, pushed_state)):
        return UpToDate(f"up to date: the same content was already pushed (block {block.sequence_number})")
    time = not_before(state, Instant.parse(new_input.system_time))
    base = apply.draft_sources(dataset, state, sources, time, cycle.manifest_version)
    cycle.states.keep(dataset, base)
    head = state.head if base.head != state.head else None
    return replace(new_input, base=base.head, head=head, system_time=str(time))


def _recorded(
    dataset: Dataset, state: ChainState, source_name: str | None, pushed_state: SourceState
) -> model.MetadataBlock | None:
    """Return the newest block that records the same push, or None."""
    for _, block in dataset.walk(state.head):
        recorded = block.event.new_source_state if isinstance(block.event, model.AddData) else None
        if recorded is not None and recorded == model.SourceState(
            source_name=source_name or "", kind=pushed_state.kind, value=pushed_state.value
        ):
            return block
        if pushed_state.kind == CONTENT_HASH:
            break
    return None

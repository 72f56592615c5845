"""Merge new input into a candidate."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle import candidate, held_back, matched_headers
from airflow_provider_odf.cycle.frequency import with_frequency
from airflow_provider_odf.cycle.history import StateCaches, history, make_directory
from airflow_provider_odf.cycle.input_seal import check_input
from airflow_provider_odf.cycle.messages import Candidate, Input, InputFile, UpToDate
from airflow_provider_odf.cycle.related import with_related
from airflow_provider_odf.cycle.shapefiles import Readable, readable
from airflow_provider_odf.cycle.sources import POLLING_SOURCE, read_step, source_of
from airflow_provider_odf.errors import ChainCorrupted, CommitConflict, InvalidQuery, OdfError
from airflow_provider_odf.evolution import apply, columns
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.source import savepoint

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.evolution.columns import Source


def merge(cycle: Cycle, new_input: Input) -> Candidate | UpToDate:
    """Return the candidate that holds an input. One engine application merges the input and tests the contract on it;
    none runs where an earlier merge made the candidate already.

    :raises InputHeldBack: the input looks wrong; the candidate is kept under a rejected ref.
    :raises CommitConflict: the head has moved since the poll; poll again.
    :raises InvalidQuery: the data or the SQL are not valid; nothing was changed.
    :raises SourceError: the input is no shapefile, where one is to be read; nothing was changed.
    :raises ChainCorrupted: a slice that the merge or the contract reads is damaged; nothing was changed.
    :raises InternalError: the engine broke down; nothing was changed.
    """
    dataset = cycle.store.dataset(new_input.dataset)
    if (earlier := candidate.find(dataset, new_input.base, new_input.key)) is not None:
        return held_back.check(dataset, earlier)
    if dataset.head() not in (new_input.base, new_input.head):
        raise CommitConflict(
            f"dataset {dataset.alias}: head moved from {new_input.head or new_input.base} to {dataset.head()} "
            "since the poll; poll again"
        )
    work_area = cycle.store.work(new_input.dataset)
    step = _Merge(cycle, dataset, new_input)
    try:
        with savepoint.merging(work_area) as work:
            result = step.run(work)
    except OdfError as e:
        # The input is kept: it can be merged once the dataset is restored.
        if not e.is_transient and not isinstance(e, ChainCorrupted):
            _discard(work_area, new_input)
        raise
    _discard(work_area, new_input)
    return held_back.check(dataset, result) if isinstance(result, Candidate) else result


def _discard(work_area: Path, new_input: Input) -> None:
    """Remove the files of an input that is in the chain or never will be: no retry needs them."""
    if new_input.directory is not None:
        savepoint.discard(work_area / new_input.directory)


class _Merge:
    """One merge: its request to the engine, and the blocks that record the engine's answer."""

    def __init__(self, cycle: Cycle, dataset: Dataset, new_input: Input) -> None:
        self.cycle, self.dataset, self.input = cycle, dataset, new_input
        self.contract = cycle.contract
        # Append caches no rows, but the state of its chain is kept there too.
        make_directory(cycle.store.cache(new_input.dataset))
        self.base = replay(dataset, new_input.base)
        cycle.store.check_identity(dataset, self.base.dataset_id)
        self.draft = Draft(dataset, self.base, manifest_version=cycle.manifest_version)
        self.caches = StateCaches(cycle.store.cache(new_input.dataset), self.base.dataset_id)
        self.system_time = Instant.parse(new_input.system_time)
        self.source_name = new_input.source_name or POLLING_SOURCE

    def run(self, work: Path) -> Candidate | UpToDate:
        """Merge with files in a directory."""
        check_input(self.cycle.store, self.input, self.base.dataset_id)
        source = source_of(self.base, self.input.source_name)
        files = tuple(file for file in self.input.files if file.paths)
        read = read_step(source, self.input, self.base)
        inputs = readable(read, files, work, self.cycle.progress, self.cycle.options)
        success = self.submit(source, inputs, work) if files else protocol.MergeSuccess(())
        if not self.publish_source(success):
            return UpToDate("nothing to merge: the input has no columns", (apply.PENDING,))
        slices = self.add_blocks(success)
        head = self.draft.state.head
        if head == self.base.head:
            return UpToDate()
        if success.new_state is not None:
            self.caches.keep(success.new_state, head)
        held_back.keep_record(self.cycle, self.dataset, self.input, head, slices, success)
        claimed = candidate.claim(self.dataset, self.input.base, self.input.key, head)
        changes = sum((new.changes for new in success.slices if new), protocol.Changes())
        return dataclasses.replace(claimed, changes=changes, notices=(*inputs.notices, *success.notices))

    def submit(self, source: Source, inputs: Readable, work: Path) -> protocol.MergeSuccess:
        """Return the engine's answer.

        :raises InvalidQuery: the data or the SQL are not valid. The message has the header before: a header that
            changed may be why a value does not fit its column.
        """
        request = self.request(source, inputs, work)
        try:
            return cast(protocol.MergeSuccess, self.cycle.ask(request))
        except InvalidQuery as e:
            if (before := matched_headers.newest(self.dataset, self.base.head, self.source_name)) is None:
                raise
            raise InvalidQuery(f"{e}; {matched_headers.explanation(before)}") from e

    def request(self, source: Source, inputs: Readable, work: Path) -> protocol.MergeRequest:
        """Return the request for the merge."""
        cycle, base = self.cycle, self.base
        strategy = ddl.merge_strategy(source.merge)
        needs_slices = strategy.traits.has_state or self.contract is not None
        # This comes before `history`: with a damaged cache, the record of checked slices is removed too.
        prev_state = self.caches.newest(self.dataset, base.head, cycle.progress) if strategy.traits.has_state else None
        return protocol.MergeRequest(
            dataset_id=base.dataset_id,
            dataset_alias=self.input.dataset,
            system_time=self.input.system_time,
            vocab=base.vocab,
            read=inputs.read,
            merge=strategy,
            inputs=tuple(protocol.MergeInput(f.paths, f.event_time, f.label) for f in inputs.files),
            next_offset=base.next_offset,
            new_data_path=str(work),
            preprocess=None if self.input.is_read else columns.preprocess(source, inputs.read),
            history=history(cycle.store, self.dataset, base, cycle.progress) if needs_slices else (),
            schema=chain_schema.ipc_base64(base.schema) if base.schema else None,
            prev_state=prev_state,
            new_state_path=str(work / "state"),
            contract=self._contract(),
            sensitive_columns=tuple(sorted(cycle.sensitivity.labels)),
        )

    def _contract(self) -> protocol.Contract | None:
        """Return the contract with what the engine cannot see: other datasets, and the history of updates."""
        if self.contract is None:
            return None
        contract, now = with_related(self.cycle, self.contract), self.system_time
        return with_frequency(self.cycle, contract, self.dataset, self.base.head, now)

    def publish_source(self, success: protocol.MergeSuccess) -> bool:
        """Publish the source that waited for this input, if the engine could analyze its query. Return whether the
        source is in force.

        :raises CommitConflict: another writer published since the poll.
        """
        is_in_force = self.input.head is None or self.dataset.head() == self.input.base
        if is_in_force or not success.is_analysed:
            return is_in_force
        self.dataset.storage.compare_and_set_ref("head", self.input.head, self.input.base)
        return True

    def add_blocks(self, success: protocol.MergeSuccess) -> list[tuple[str, protocol.NewSlice | None]]:
        """Draft the blocks of the engine's answer, and return the slice of each input file under its label."""
        if not any(success.slices):
            self.declare(success.schema)
        slices = iter(success.slices)
        pairs = [(file, next(slices) if file.paths else None) for file in self.input.files]
        for file, new in pairs:
            self.declare(new.schema if new else None)
            self.add(file, new)
        return [(file.label, new) for file, new in pairs]

    def declare(self, schema: str | None) -> None:
        """Draft the SetDataSchema of new columns, if there are any."""
        current, version = self.draft.state.schema, self.draft.manifest_version
        event = chain_schema.add_columns(current, schema, manifest_version=version) if schema is not None else None
        if event is not None:
            self.draft.append(event, self.system_time)

    def add(self, file: InputFile, new: protocol.NewSlice | None) -> None:
        """Draft the AddData of one input file, unless it changes neither data nor the state of the source. A push
        without records changes nothing."""
        state = self.draft.state
        before = source_state = state.source_state(self.source_name)
        if file.state:
            source_state = model.SourceState(source_name=self.source_name, kind=file.state.kind, value=file.state.value)
        if new is None and (source_state == before or self.input.pushed is not None):
            return
        watermark = state.watermark
        if new is not None:
            self.dataset.storage.adopt(f"data/{new.physical_hash}", Path(new.path))
            if new.newest_event_time is not None:
                newest = Instant.parse(new.newest_event_time)
                watermark = newest if watermark is None else max(watermark, newest)
        self.draft.append(
            model.AddData(
                prev_checkpoint=state.last_checkpoint,
                prev_offset=state.last_offset,
                new_data=data_slice(new) if new else None,
                new_watermark=watermark,
                new_source_state=source_state,
            ),
            self.system_time,
        )


def data_slice(new: protocol.NewSlice) -> model.DataSlice:
    """Return a slice of the engine as a block records it."""
    return model.DataSlice(
        logical_hash=new.logical_hash,
        physical_hash=new.physical_hash,
        offset_interval=model.OffsetInterval(start=new.offset_interval.start, end=new.offset_interval.end),
        size=new.size,
    )

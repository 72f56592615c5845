"""Merge polled input into a candidate: blocks and slices on top of the dataset's head that nobody sees yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import checked, slices
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle import headers, hold, media_types, refs, rejected, waiting
from airflow_provider_odf.cycle.columns import known
from airflow_provider_odf.cycle.fetched import check_input
from airflow_provider_odf.cycle.messages import Candidate, Limits, Polled, PolledFile, Progress, UpToDate, silent
from airflow_provider_odf.cycle.poll import POLLING_SOURCE
from airflow_provider_odf.cycle.shapefiles import Readable, readable
from airflow_provider_odf.cycle.state_cache import StateCaches
from airflow_provider_odf.errors import ChainCorrupted, CommitConflict, InvalidInput, InvalidQuery, OdfError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.source import savepoint
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.wording import suggestion

if TYPE_CHECKING:
    from concurrent.futures import Future

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.runner import Runner

DEFAULT_SOURCE = "default"
"""The push source that is meant where several have names and none is named."""


def merge(
    store: Store,
    polled: Polled,
    runner: Runner,
    *,
    contract: protocol.Contract | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    manifest_version: int = 3,
    options: Options = Options(),  # noqa: B008 - frozen
    progress: Progress = silent,
) -> Candidate | UpToDate:
    """The candidate that holds the polled input, made by one engine application that also tests the contract on it;
    found again, without an engine, where an earlier try made it already.

    :raises InputHeldBack: the input looks wrong; the candidate is kept under a rejected ref.
    :raises CommitConflict: the head is no longer what was polled for; poll again.
    :raises InvalidQuery: the data or the SQL are not acceptable; nothing was changed.
    :raises SourceError: the input is no shapefile, where one is to be read; nothing was changed.
    :raises ChainCorrupted: a slice that the merge or the contract reads is damaged; nothing was changed.
    :raises InternalError: the engine broke down; nothing was changed.
    """
    dataset = store.dataset(polled.dataset)
    ref = refs.CANDIDATE + polled.key
    if (block_hash := dataset.head(ref)) is not None:
        if not rejected.is_damaged(dataset, block_hash):
            return hold.check(dataset, candidate_of(dataset, polled.base, block_hash, ref))
        # It may have been held back: the input is merged and judged again.
        dataset.storage.compare_and_set_ref(ref, block_hash, None)
    if dataset.head() not in (polled.base, polled.head):
        raise CommitConflict(
            f"dataset {dataset.alias}: head moved from {polled.head or polled.base} to {dataset.head()} "
            "since the poll; poll again"
        )
    try:
        with savepoint.merging(store.work(polled.dataset)) as work:
            one = _Merge(store, dataset, polled, ref, work, limits, manifest_version, options)
            merged = one.run(runner, contract, progress)
    except OdfError as e:
        # A damaged dataset says nothing of the input, which can be merged once it is restored.
        if not e.is_transient and not isinstance(e, ChainCorrupted):
            _discard(store, polled)
        raise
    _discard(store, polled)
    return hold.check(dataset, merged) if isinstance(merged, Candidate) else merged


def _discard(store: Store, polled: Polled) -> None:
    """The input is in the chain, or never will be: no retry needs its files."""
    if polled.directory is not None:
        savepoint.discard(store.work(polled.dataset) / polled.directory)


def merge_source(state: ChainState, name: str | None) -> model.SetPollingSource | model.AddPushSource:
    """The source whose read, preprocess and merge steps apply: the push source of that name, or the only source.

    :raises InvalidInput: the dataset has no such source, or several push sources and none was named.
    """
    name = source_name_of(state, name)
    source = state.polling_source if name is None else state.push_sources.get(name)
    if source is None:
        if name is None:
            raise InvalidInput("the dataset has no source")
        raise InvalidInput(f"no push source {name!r} ({suggestion(name, list(state.push_sources))})")
    return source


def source_name_of(state: ChainState, name: str | None) -> str | None:
    """The name of the push source that is meant, None for the polling source. Without a name it is the only push
    source, or the one that is called ``default``.

    :raises InvalidInput: there are several.
    """
    if name is not None or not state.push_sources:
        return name
    if len(state.push_sources) == 1:
        return next(iter(state.push_sources))
    if DEFAULT_SOURCE in state.push_sources:
        return DEFAULT_SOURCE
    names = ", ".join(state.push_sources)
    raise InvalidInput(f"the dataset has the push sources {names}: say which (`--source`, or `source` in the conf)")


def read_step(
    source: model.SetPollingSource | model.AddPushSource, polled: Polled, state: ChainState
) -> protocol.ReadStep:
    """How the files of an input are read. Pushed records are NdJson, and pushed files may have a media type; schema and
    formats of times are the source's. Without a schema, what the dataset has already keeps its types."""
    if polled.is_read:
        return protocol.ReadStep("Parquet")
    step = ddl.read_step(source.read)
    if step.columns is None and source.preprocess is None:
        step = dataclasses.replace(step, known_columns=known(state.schema, state.vocab))
    if polled.pushed is not None and polled.pushed.media_type is not None:
        return media_types.read_as(step, polled.pushed.media_type, polled.files[0].label)
    if polled.pushed is None or not polled.pushed.is_records:
        return step
    kind = "NdGeoJson" if step.kind in ("GeoJson", "NdGeoJson") else "NdJson"
    return dataclasses.replace(step, kind=kind, encoding="utf-8", sub_path=None)


def candidate_of(dataset: Dataset, base: str, block_hash: str, ref: str, notices: tuple[str, ...] = ()) -> Candidate:
    """What the blocks between a base and a candidate add."""
    added: list[model.DataSlice] = []
    watermark = None
    for current, block in dataset.walk(block_hash):
        if current == base:
            break
        if isinstance(block.event, model.AddData):
            watermark = watermark or block.event.new_watermark
            if block.event.new_data is not None:
                added.append(block.event.new_data)
    offsets = protocol.OffsetInterval(added[-1].offset_interval.start, added[0].offset_interval.end) if added else None
    return Candidate(
        dataset=str(dataset.alias),
        base=base,
        candidate=block_hash,
        ref=ref,
        records=offsets.count if offsets else 0,
        offsets=offsets,
        watermark=str(watermark) if watermark else None,
        size=sum(s.size for s in added),
        notices=notices,
    )


def history(store: Store, dataset: Dataset, state: ChainState, progress: Progress) -> tuple[protocol.HistorySlice, ...]:
    """Return the slices of a dataset up to a state, in offset order, for the engine to read.

    :raises ChainCorrupted: a slice is missing, or is not what its physical hash says.
    """
    cache = store.cache(dataset.alias)
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    checked.check(dataset, state.dataset_id, state.slices, cache, progress)
    return tuple(
        protocol.HistorySlice(
            slices.location(dataset, s), protocol.OffsetInterval(s.offset_interval.start, s.offset_interval.end)
        )
        for s in state.slices
    )


class _Merge:
    """One merge: its request to the engine, and the blocks that record the engine's answer."""

    def __init__(
        self,
        store: Store,
        dataset: Dataset,
        polled: Polled,
        ref: str,
        work: Path,
        limits: Limits,
        manifest_version: int,
        options: Options,
    ) -> None:
        self.store, self.dataset, self.polled, self.ref, self.work = store, dataset, polled, ref, work
        self.limits, self.options = limits, options
        self.base = replay(dataset, polled.base)
        self.draft = Draft(dataset, self.base, manifest_version=manifest_version)
        self.caches = StateCaches(store.cache(polled.dataset), self.base.dataset_id)
        self.system_time = Instant.parse(polled.system_time)

    def run(self, runner: Runner, contract: protocol.Contract | None, progress: Progress) -> Candidate | UpToDate:
        check_input(self.store, self.polled, self.base.dataset_id)
        source = merge_source(self.base, self.polled.source_name)
        files = tuple(file for file in self.polled.files if file.paths)
        inputs = readable(read_step(source, self.polled, self.base), files, self.work, progress, self.options)
        success = protocol.MergeSuccess(())
        if files:
            request = self.request(source, inputs, contract, progress)
            success = self.result(runner.submit(request, progress))
        if not self.publish_source(success):
            return UpToDate("up to date: the input has no columns", (waiting.NOTICE,))
        if not any(success.slices):
            self.declare(success.schema)
        written = iter(success.slices)
        given = [(file, next(written) if file.paths else None) for file in self.polled.files]
        for file, new in given:
            self.declare(new.schema if new else None)
            self.add(file, new)
        state = self.draft.state
        if state.head == self.base.head:
            return UpToDate()
        if success.new_state is not None:
            self.caches.keep(success.new_state, state.head)
        notices = (*inputs.notices, *success.notices)
        names = (*self.polled.headers, *success.headers)
        self.keep_record([(file.label, new) for file, new in given], names, success.report, contract)
        candidate = candidate_of(self.dataset, self.polled.base, self.claim(state.head), self.ref, notices)
        changes = sum((new.changes for new in success.slices if new), protocol.Changes())
        return dataclasses.replace(candidate, changes=changes)

    def result(self, answer: Future[protocol.Success]) -> protocol.MergeSuccess:
        """The engine's answer.

        :raises InvalidQuery: the data or the SQL are not acceptable. A value that does not fit its column may come of a
            header that changed, so the message has the one before.
        """
        try:
            return cast(protocol.MergeSuccess, answer.result())
        except InvalidQuery as e:
            name = self.polled.source_name or POLLING_SOURCE
            if (before := headers.settled(self.dataset, self.base.head, name)) is None:
                raise
            raise InvalidQuery(f"{e}; {headers.explanation(before)}") from e

    def publish_source(self, success: protocol.MergeSuccess) -> bool:
        """Publish the source that waited for this input, if the engine could analyse its query. Return whether the
        source is in force.

        :raises CommitConflict: another writer published since the poll.
        """
        is_in_force = self.polled.head is None or self.dataset.head() == self.polled.base
        if is_in_force or not success.is_analysed:
            return is_in_force
        self.dataset.storage.compare_and_set_ref("head", self.polled.head, self.polled.base)
        return True

    def keep_record(
        self,
        inputs: Sequence[tuple[str, protocol.NewSlice | None]],
        names: Sequence[protocol.PositionalHeader],
        report: protocol.ContractReport | None,
        contract: protocol.Contract | None,
    ) -> None:
        """What is known of the candidate, before anybody can find it: its report, and why its input is held back."""
        candidate, name = self.draft.state.head, self.polled.source_name or POLLING_SOURCE
        held = tuple(hold.retractions(inputs, self.limits))
        if positional := [header for header in names if not header.is_by_name]:
            before = headers.before(self.dataset, self.base.head, name, positional[-1].columns)
            held = (*headers.changes(before, names), *held)
            if not headers.is_same(before, positional[-1]):
                headers.keep(self.dataset, candidate, name, positional[-1])
        records = sum(new.offset_interval.count for _, new in inputs if new is not None)
        is_plain = not held and (report is None or not records)
        # The same candidate may have been held back by other limits before, or have a damaged file.
        if is_plain and not rejected.is_recorded(self.dataset, candidate):
            return
        record = rejected.Record(
            base=self.polled.base,
            records=records,
            report=report if records else None,
            held=held,
            limits=self.limits,
            contract_digest=contract.digest if contract else None,
            content=self.polled.content,
            is_pushed=self.polled.pushed is not None,
        )
        rejected.save(self.dataset, candidate, record)

    def claim(self, block_hash: str) -> str:
        """The candidate under the ref: ours, or that of a racing writer who merged the same input onto the same
        head."""
        try:
            self.dataset.storage.compare_and_set_ref(self.ref, None, block_hash)
        except CommitConflict:
            return self.dataset.head(self.ref) or block_hash
        return block_hash

    def request(
        self,
        source: model.SetPollingSource | model.AddPushSource,
        inputs: Readable,
        contract: protocol.Contract | None,
        progress: Progress,
    ) -> protocol.MergeRequest:
        strategy = ddl.merge_strategy(source.merge)
        is_read = strategy.needs_history or contract is not None
        # A damaged cache takes the record of checked slices with it: look at the cache first.
        prev_state = self.caches.newest(self.dataset, self.base.head, progress) if strategy.needs_history else None
        return protocol.MergeRequest(
            dataset_id=self.base.dataset_id,
            dataset_alias=self.polled.dataset,
            system_time=self.polled.system_time,
            vocab=self.base.vocab,
            read=inputs.read,
            merge=strategy,
            inputs=tuple(protocol.MergeInput(f.paths, f.event_time, f.label) for f in inputs.files),
            next_offset=0 if self.base.last_offset is None else self.base.last_offset + 1,
            new_data_path=str(self.work),
            preprocess=None if self.polled.is_read else preprocess(source, inputs.read),
            history=history(self.store, self.dataset, self.base, progress) if is_read else (),
            schema=chain_schema.ipc_base64(self.base.schema) if self.base.schema else None,
            prev_state=prev_state,
            new_state_path=str(self.work / "state"),
            contract=contract,
        )

    def declare(self, schema: str | None) -> None:
        """The SetDataSchema of new columns, where there are any."""
        known, version = self.draft.state.schema, self.draft.manifest_version
        event = chain_schema.grown(known, schema, manifest_version=version) if schema is not None else None
        if event is not None:
            self.draft.append(event, self.system_time)

    def add(self, file: PolledFile, new: protocol.NewSlice | None) -> None:
        """The AddData of one input; none where it changes neither data nor the source's state. A push that brought no
        records has changed nothing."""
        state = self.draft.state
        name = self.polled.source_name or POLLING_SOURCE
        seen = state.source_state(name)
        source_state = (
            model.SourceState(source_name=name, kind=file.state.kind, value=file.state.value) if file.state else seen
        )
        if new is None and (source_state == seen or self.polled.pushed is not None):
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
                new_data=_data_slice(new) if new else None,
                new_watermark=watermark,
                new_source_state=source_state,
            ),
            self.system_time,
        )


def preprocess(
    source: model.SetPollingSource | model.AddPushSource, read: protocol.ReadStep
) -> protocol.Transform | None:
    """A source's preprocess step in Spark SQL, if it has one.

    :raises InvalidInput: the SQL has no exact translation.
    """
    if source.preprocess is None:
        return None
    # sqlglot takes a third of a second to import.
    from airflow_provider_odf.dialect.translate import input_columns, to_spark

    return to_spark(source.preprocess, {"input": input_columns(read)})


def _data_slice(new: protocol.NewSlice) -> model.DataSlice:
    return model.DataSlice(
        logical_hash=new.logical_hash,
        physical_hash=new.physical_hash,
        offset_interval=model.OffsetInterval(start=new.offset_interval.start, end=new.offset_interval.end),
        size=new.size,
    )

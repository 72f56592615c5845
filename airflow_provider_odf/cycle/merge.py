"""Merge new input into a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.cycle import exchange, held_back
from airflow_provider_odf.cycle.history import StateCaches, history_of, make_directory
from airflow_provider_odf.cycle.messages import Candidate, Input, InputFile, UpToDate
from airflow_provider_odf.cycle.read import EngineInputs, check_input, engine_inputs
from airflow_provider_odf.cycle.sources import POLLING_SOURCE, read_step, source_of
from airflow_provider_odf.cycle.step import Step, candidate_of
from airflow_provider_odf.errors import ChainCorrupted, InvalidQuery, OdfError
from airflow_provider_odf.evolution import apply, columns
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.exchange import Workplace
    from airflow_provider_odf.evolution.columns import Source


def merge(cycle: Cycle, new_input: Input) -> Candidate | UpToDate:
    """Return the candidate that holds an input. One engine application merges the input and tests the contract on it;
    none runs where an earlier merge made the candidate already.

    :raises InputHeldBack: the input looks wrong; the candidate is kept under a rejected ref.
    :raises CommitConflict: the head has moved since the poll.
    :raises InvalidQuery: the data or the SQL are not valid; nothing was changed.
    :raises SourceError: the input is no shapefile, where one is to be read; nothing was changed.
    :raises ChainCorrupted: a slice that the merge or the contract reads is damaged; nothing was changed.
    :raises InternalError: the engine broke down; nothing was changed.
    """

    def merged(dataset: Dataset, work: Workplace) -> Candidate | UpToDate:
        step = _Merge(cycle, dataset, new_input)
        try:
            result = step.run(work)
        except OdfError as e:
            # The input is kept: it can be merged once the dataset is restored.
            if not e.is_transient and not isinstance(e, ChainCorrupted):
                exchange.discard(cycle.store, new_input)
            raise
        exchange.discard(cycle.store, new_input)
        return result

    heads = (new_input.base, new_input.head or new_input.base)
    return candidate_of(cycle, new_input, heads, merged)


class _Merge(Step):
    def __init__(self, cycle: Cycle, dataset: Dataset, new_input: Input) -> None:
        self.input = new_input
        # Append caches no rows, but the state of its chain is kept there too.
        make_directory(cycle.store.cache(new_input.dataset))
        base, time = cycle.states(dataset, new_input.base), Instant.parse(new_input.system_time)
        super().__init__(cycle, dataset, new_input, base, time)
        self.caches = StateCaches.of(cycle, dataset, base.dataset_id)
        self.source_name = new_input.source_name or POLLING_SOURCE

    def run(self, work: Workplace) -> Candidate | UpToDate:
        """Merge with files in a place of their own."""
        check_input(self.cycle.store, self.input, self.base.dataset_id)
        source = source_of(self.base, self.input.source_name)
        files = tuple(file for file in self.input.files if file.paths)
        read = read_step(source, self.input, self.base)
        inputs = engine_inputs(read, files, work.scratch, self.cycle.progress, self.cycle.options)
        success = self.submit(source, inputs, work) if files else protocol.MergeSuccess(())
        if not self.publish_source(success):
            return UpToDate("nothing to merge: the input has no columns", (apply.PENDING,))
        labeled = self.add_blocks(success)
        head = self.draft.state.head
        if head == self.base.head:
            return UpToDate()
        candidate = self.claim(
            success.new_slices,
            success.report,
            (*inputs.notices, *success.notices),
            held=held_back.reasons(self.dataset, self.input, head, labeled, success.headers, self.cycle.limits),
            stamps={file.label: file.stamp for file in self.input.files if file.stamp is not None},
            folder=str(self.cycle.manifest.file.parent) if self.cycle.manifest else None,
            is_pushed=self.input.pushed is not None,
        )
        if success.new_state is not None:
            self.caches.keep(success.new_state, head)
        return candidate

    def submit(self, source: Source, inputs: EngineInputs, work: Workplace) -> protocol.MergeSuccess:
        """Return the engine's answer.

        :raises InvalidQuery: the data or the SQL are not valid. The message has the header before: a header that
            changed may be why a value does not fit its column.
        """
        request = self.request(source, inputs, work)
        try:
            return cast(protocol.MergeSuccess, self.cycle.ask(request))
        except InvalidQuery as e:
            if (before := held_back.newest_header(self.dataset, self.base.head, self.source_name)) is None:
                raise
            raise InvalidQuery(f"{e}; {held_back.header_explanation(before)}") from e

    def request(self, source: Source, inputs: EngineInputs, work: Workplace) -> protocol.MergeRequest:
        """Return the request for the merge."""
        cycle, base = self.cycle, self.base
        strategy = ddl.merge_strategy(source.merge)
        needs_slices = strategy.traits.has_state or cycle.contract is not None
        # This comes before `history`: with a damaged cache, the record of checked slices is removed too.
        prev_state = self.caches.newest(base) if strategy.traits.has_state else None
        return protocol.MergeRequest(
            dataset_id=base.dataset_id,
            dataset_alias=self.input.dataset,
            system_time=self.input.system_time,
            vocab=base.vocab,
            read=inputs.read,
            merge=strategy,
            inputs=tuple(
                protocol.MergeInput(f.paths, f.event_time, f.label) for f in work.located(self.input, inputs.files)
            ),
            next_offset=base.next_offset,
            new_data_path=work.engine.location(),
            preprocess=None if self.input.is_read else columns.preprocess(source, inputs.read),
            history=history_of(cycle, self.dataset, base) if needs_slices else (),
            schema=chain_schema.ipc_base64(base.schema) if base.schema else None,
            prev_state=prev_state,
            new_state_path=work.engine.location("state"),
            contract=self.contract(),
            sensitive_columns=tuple(sorted(cycle.sensitivity.labels)),
            spark=cycle.spark,
            slice_records=cycle.slice_records,
        )

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

    def add_blocks(self, success: protocol.MergeSuccess) -> list[tuple[str, tuple[protocol.NewSlice, ...]]]:
        """Draft the blocks of the engine's answer, and return the slices of each input file under its label."""
        if not success.new_slices:
            self.declare(success.schema)
        answers = iter(success.slices)
        pairs = [(file, next(answers) if file.paths else ()) for file in self.input.files]
        for file, written in pairs:
            self.declare(written[0].schema if written else None)
            self.add(file, written)
        return [(file.label, written) for file, written in pairs]

    def add(self, file: InputFile, written: tuple[protocol.NewSlice, ...]) -> None:
        """Draft the AddData of each slice of one input file, or one without data if only the state of the source
        changed. A push without records changes nothing.

        A file is read with its last slice: only that block has the new state of the source.
        """
        before = source_state = self.draft.state.source_state(self.source_name)
        if file.state:
            source_state = model.SourceState(source_name=self.source_name, kind=file.state.kind, value=file.state.value)
        if not written and (source_state == before or self.input.pushed is not None):
            return
        for new in written[:-1]:
            self.append(new, before)
        self.append(written[-1] if written else None, source_state)

    def append(self, new: protocol.NewSlice | None, source_state: model.SourceState | None) -> None:
        """Draft one AddData."""
        state = self.draft.state
        watermark = state.watermark
        if new is not None and new.newest_event_time is not None:
            newest = Instant.parse(new.newest_event_time)
            watermark = newest if watermark is None else max(watermark, newest)
        self.draft.append(
            model.AddData(
                prev_checkpoint=state.last_checkpoint,
                prev_offset=state.last_offset,
                new_data=self.adopt(new),
                new_watermark=watermark,
                new_source_state=source_state,
            ),
            self.system_time,
        )

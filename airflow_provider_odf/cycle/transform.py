"""Transform new records of a derivative's inputs into a candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.history import history, is_unchanged, note_unchanged
from airflow_provider_odf.cycle.messages import Candidate, TransformInput, UpToDate
from airflow_provider_odf.cycle.step import Step, after_manifest, candidate_of, up_to_rejection
from airflow_provider_odf.errors import InputRewritten
from airflow_provider_odf.evolution.analysis import keep_evaluation, recorded_evaluation
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.evolution.inputs import NOWHERE, InputState, analysis_request, input_datasets, watermark_of
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState, InputPosition
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.exchange import Workplace
    from airflow_provider_odf.cycle.messages import Progress


def new_input(cycle: Cycle) -> TransformInput | UpToDate:
    """Return the heads of the inputs if the derivative has not read them yet, or why there is nothing to do. The
    manifest is applied first.

    :raises StillRejected: the result of the same inputs was rejected, and nothing has changed since.
    :raises InputRewritten: the history of an input was rewritten.
    :raises DatasetNotFound: an input is not in the store.
    """
    return after_manifest(cycle, lambda state, digest: _new_input(cycle, state, digest))


def _new_input(cycle: Cycle, state: ChainState, digest: str | None) -> TransformInput | UpToDate:
    dataset = cycle.store.dataset(cycle.dataset)
    inputs = _inputs(cycle, dataset, state)
    if empty := [i.alias for i in inputs if i.state.schema is None]:
        return UpToDate(f"up to date: input {empty[0]} has no data yet")
    if not _is_new(state, inputs):
        return UpToDate()
    new = TransformInput(str(dataset.alias), state, inputs, not_before(state, cycle.system_time))
    if is_unchanged(cycle.store.cache(dataset.alias), new.key):
        return UpToDate()
    rejection, _ = candidates.rejection_in_force(dataset, new.base, digest, cycle.limits)
    if rejection is None or rejection.record.content != new.content:
        return new
    return up_to_rejection(cycle, dataset, rejection, "result")


def _inputs(cycle: Cycle, dataset: Dataset, state: ChainState) -> tuple[InputState, ...]:
    """Return the inputs at their heads."""
    if state.transform is None:
        return ()
    states: list[InputState] = []
    for item, source in zip(state.transform.inputs, input_datasets(cycle.inputs, state.transform), strict=True):
        before, current = state.query_inputs.get(item.dataset_ref, NOWHERE), cycle.states(source)
        cycle.inputs.check_identity(source, current.dataset_id)
        if cycle.store.owns(source):
            source.storage.sync("refs")  # as that of the derivative: what it is computed from must not go back
        check_history(dataset, source, current.head, before)
        states.append(InputState(source, current, before, str(item.alias)))
    return tuple(states)


def _is_new(state: ChainState, inputs: Sequence[InputState]) -> bool:
    """Whether an input has new records or a newer watermark, or the query or the schema is missing its first run."""
    return (
        state.schema is None
        or state.is_transform_new
        or any(i.has_new_records for i in inputs)
        or watermark_of(inputs, state.watermark) != state.watermark
    )


def make_candidate(cycle: Cycle, new: TransformInput) -> Candidate | UpToDate:
    """Return the candidate with the records that follow from the heads of the inputs. One engine application computes
    them and tests the contract; none runs where an earlier run made the candidate already.

    :raises CommitConflict: the head has moved.
    :raises InvalidQuery: the query is not valid; nothing was changed.
    :raises ChainCorrupted: a slice of an input or of the derivative is damaged; nothing was changed.
    :raises InternalError: the engine broke down; nothing was changed.
    """
    return candidate_of(cycle, new, (new.base,), lambda dataset, work: _Transform(cycle, dataset, new).run(work))


class _Transform(Step):
    def __init__(self, cycle: Cycle, dataset: Dataset, new: TransformInput) -> None:
        super().__init__(cycle, dataset, new, new.state, new.system_time)
        self.inputs = new.inputs

    def run(self, work: Workplace) -> Candidate | UpToDate:
        """Compute with files in a place of their own."""
        cycle = self.cycle
        request = transform_request(
            cycle.inputs,
            self.dataset,
            self.base,
            self.inputs,
            system_time=self.system_time,
            directory=work.engine.location(),
            progress=cycle.progress,
            passes_objects=work.passes_objects,
            contract=self.contract(),
            sensitive_columns=self.sensitive_columns(),
        )
        request = dataclasses.replace(request, arrow_query=self.arrow_query(), spark=cycle.spark)
        success = cast(protocol.TransformSuccess, cycle.ask(request))
        if success.evaluation is not None and self.base.transform is not None:
            keep_evaluation(self.dataset, self.base.transform.transform, success.evaluation)
        self.declare(success.schema)
        self.add(success.slice)
        if self.draft.state.head == self.base.head:
            note_unchanged(cycle.store.cache(self.dataset.alias), self.new.key)
            return UpToDate()
        return self.claim([success.slice] if success.slice else [], success.report, success.notices)

    def arrow_query(self) -> str | None:
        """Return the query for Arrow that an earlier run got from the engine, if there is one."""
        transform = self.base.transform
        evaluation = recorded_evaluation(self.dataset, transform.transform) if transform is not None else None
        return evaluation.arrow_query if evaluation is not None else None

    def sensitive_columns(self) -> tuple[str, ...]:
        """Return the sensitive columns of the derivative and of its inputs: errors of queries may show their values."""
        known = self.cycle.sensitive_columns
        names = set(self.cycle.sensitivity.labels).union(*(known.names(i.dataset, i.state) for i in self.inputs))
        return tuple(sorted(names))

    def add(self, new: protocol.NewSlice | None) -> None:
        """Draft the ExecuteTransform, if there is anything to record."""
        state = self.draft.state
        watermark = watermark_of(self.inputs, state.watermark)
        if new is None and (watermark is None or not any(i.has_new_blocks for i in self.inputs)):
            return
        self.draft.append(
            model.ExecuteTransform(
                query_inputs=tuple(map(_query_input, self.inputs)),
                prev_checkpoint=state.last_checkpoint,
                prev_offset=state.last_offset,
                new_data=self.adopt(new),
                new_watermark=watermark,
            ),
            self.system_time,
        )


def _query_input(i: InputState) -> model.ExecuteTransformInput:
    is_new = i.has_new_blocks
    return model.ExecuteTransformInput(
        dataset_id=i.state.dataset_id,
        prev_block_hash=i.before.block_hash,
        new_block_hash=i.state.head if is_new else None,
        prev_offset=i.before.offset,
        new_offset=i.state.last_offset if i.has_new_records else None,
    )


def transform_request(
    store: Store,
    derivative: Dataset,
    state: ChainState,
    inputs: Sequence[InputState],
    *,
    system_time: Instant,
    directory: str,
    progress: Progress,
    contract: protocol.Contract | None = None,
    sensitive_columns: tuple[str, ...] = (),
    passes_objects: bool = False,
) -> protocol.TransformRequest:
    """Return the request for the records after a state of a derivative.

    :param directory: path or URI of the folder to which the slice is written.
    :param passes_objects: whether the engine may not see the disk of this machine.

    :raises InvalidInput: a query cannot be translated.
    :raises ChainCorrupted: a slice of an input or of the derivative is missing or damaged.
    """
    watermark = watermark_of(inputs, state.watermark)
    request = analysis_request(derivative.alias, state, inputs)
    read = partial(history, store, progress=progress, passes_objects=passes_objects)
    return dataclasses.replace(
        request,
        system_time=str(system_time),
        query_inputs=tuple(
            _with_records(i, message, read(i.dataset, i.state))
            for i, message in zip(inputs, request.query_inputs, strict=True)
        ),
        next_offset=state.next_offset,
        new_data_path=directory,
        history=read(derivative, state),
        watermark=str(watermark) if watermark else None,
        is_query_new=state.is_transform_new,
        contract=contract,
        sensitive_columns=sensitive_columns,
    )


def _with_records(
    source: InputState, message: protocol.TransformRequestInput, slices: tuple[protocol.HistorySlice, ...]
) -> protocol.TransformRequestInput:
    state = source.state
    new_from = 0 if source.before.offset is None else source.before.offset + 1
    new = [s for s in slices if s.offset_interval.start >= new_from]
    watermarks = (protocol.Watermark(str(state.system_time), str(state.watermark)),) if state.watermark else ()
    return dataclasses.replace(
        message,
        data_paths=tuple(s.path for s in new),
        schema_file=new[0].path if new else "",
        explicit_watermarks=watermarks,
        offset_interval=protocol.OffsetInterval(new_from, new[-1].offset_interval.end) if new else None,
        history=slices,
    )


def check_history(derivative: Dataset, source: Dataset, head: str, position: InputPosition) -> None:
    """Check that the chain of an input, at its block ``head``, contains the block up to which a derivative has read it.

    Only the blocks that are new since then are read.

    :param source: the input.
    :raises InputRewritten: the chain does not contain that block.
    :raises ChainCorrupted: a block of the chain is missing or damaged.
    """
    block_hash = position.block_hash
    if block_hash is None or block_hash == head:
        return
    if source.storage.stat(f"blocks/{block_hash}") is None:
        for _ in source.walk(head):  # If the chain has the block, its file is lost: the walk raises an error with it.
            pass
    elif source.contains(head, block_hash):
        return
    command = derivative.command("reset", "{}")
    raise InputRewritten(
        f"the history of the input {source.alias} was rewritten: it no longer contains the block {block_hash}, up to "
        f"which {derivative.alias} was computed. {source.alias} was reset, replaced or restored from an older copy: "
        f"restore the history of {source.alias} that has this block, or run `{command}` to compute {derivative.alias} "
        "anew from the present one"
    )

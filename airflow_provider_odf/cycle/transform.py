"""Transform new records of a derivative's inputs into a candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.cycle import candidate, held_back, rejected, unchanged
from airflow_provider_odf.cycle.frequency import with_frequency
from airflow_provider_odf.cycle.input_history import check_input
from airflow_provider_odf.cycle.merge import data_slice
from airflow_provider_odf.cycle.messages import Candidate, TransformInput, UpToDate
from airflow_provider_odf.cycle.related import with_related
from airflow_provider_odf.cycle.transform_request import transform_request
from airflow_provider_odf.errors import CommitConflict, StillRejected
from airflow_provider_odf.evolution.analysis import keep_evaluation
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.evolution.inputs import NOWHERE, InputState, input_datasets, watermark_of
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import savepoint

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.cycle import Cycle


def new_input(cycle: Cycle) -> TransformInput | UpToDate:
    """Return the heads of the inputs if the derivative has not read them yet, or why there is nothing to do. The
    manifest is applied first.

    :raises StillRejected: the result of the same inputs was rejected, and nothing has changed since.
    :raises InputRewritten: the history of an input was rewritten.
    :raises DatasetNotFound: an input is not in the store.
    """
    digest = cycle.contract.digest if cycle.contract else None  # before anything is written: it may not be valid
    applied: list[str] = []
    state = cycle.apply_manifest(applied.append)
    result = _new_input(cycle, cycle.store.dataset(cycle.dataset), state, digest)
    if isinstance(result, UpToDate) and applied:
        return dataclasses.replace(result, reason=f"{result.reason} (manifest applied: {', '.join(applied)})")
    return result


def _new_input(cycle: Cycle, dataset: Dataset, state: ChainState, digest: str | None) -> TransformInput | UpToDate:
    inputs = _inputs(cycle, dataset, state)
    if empty := [i.alias for i in inputs if i.state.schema is None]:
        return UpToDate(f"up to date: input {empty[0]} has no data yet")
    if not _is_new(state, inputs):
        return UpToDate()
    new = TransformInput(str(dataset.alias), state, inputs, not_before(state, cycle.system_time))
    if unchanged.is_known(cycle.store.cache(dataset.alias), new.key):
        return UpToDate()
    return _unless_rejected(cycle, dataset, new, digest)


def _unless_rejected(
    cycle: Cycle, dataset: Dataset, new: TransformInput, digest: str | None
) -> TransformInput | UpToDate:
    """Return the input, unless its result was rejected by the contract of this digest.

    :raises StillRejected: see ``new_input``.
    """
    rejection, _ = rejected.standing(dataset, new.base, digest, cycle.limits)
    if rejection is None or rejection.record.content != new.content:
        return new
    if rejection.record.is_discarded:
        return UpToDate(f"up to date: the newest result was discarded ({rejection.ref})")
    message = f"the newest result of {dataset.alias} is still rejected; to inspect it: {rejected.hint(dataset)}"
    if cycle.options.still_rejected == "skip":
        return UpToDate(message)
    held = Candidate(str(dataset.alias), rejection.base, rejection.block_hash, rejection.ref, records=rejection.records)
    raise StillRejected(message, held)


def _inputs(cycle: Cycle, dataset: Dataset, state: ChainState) -> tuple[InputState, ...]:
    """Return the inputs at their heads."""
    if state.transform is None:
        return ()
    states: list[InputState] = []
    for item, source in zip(state.transform.inputs, input_datasets(cycle.inputs, state.transform), strict=True):
        before, current = state.query_inputs.get(item.dataset_ref, NOWHERE), cycle.state(source)
        cycle.inputs.check_identity(source, current.dataset_id)
        check_input(dataset, source, current.head, before)
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

    :raises CommitConflict: the head has moved; start again.
    :raises InvalidQuery: the query is not valid; nothing was changed.
    :raises ChainCorrupted: a slice of an input or of the derivative is damaged; nothing was changed.
    :raises InternalError: the engine broke down; nothing was changed.
    """
    dataset = cycle.store.dataset(new.dataset)
    if (earlier := candidate.find(dataset, new.base, new.key)) is not None:
        return held_back.check(dataset, earlier)
    if dataset.head() != new.base:
        raise CommitConflict(f"dataset {dataset.alias}: head moved from {new.base} to {dataset.head()}; start again")
    with savepoint.merging(cycle.store.work(new.dataset)) as work:
        return _Step(cycle, dataset, new).run(work)


class _Step:
    """One transform: its request to the engine, and the blocks that record the engine's answer."""

    def __init__(self, cycle: Cycle, dataset: Dataset, new: TransformInput) -> None:
        self.cycle, self.dataset, self.new = cycle, dataset, new
        self.base, self.inputs, self.system_time = new.state, new.inputs, new.system_time
        cycle.store.check_identity(dataset, self.base.dataset_id)
        self.draft = Draft(dataset, self.base, manifest_version=cycle.manifest_version)

    def run(self, work: Path) -> Candidate | UpToDate:
        """Compute with files in a directory."""
        cycle, contract = self.cycle, self.cycle.contract
        if contract is not None:
            contract = with_frequency(
                cycle, with_related(cycle, contract), self.dataset, self.base.head, self.system_time
            )
        request = transform_request(
            cycle.inputs,
            self.dataset,
            self.base,
            self.inputs,
            system_time=self.system_time,
            directory=str(work),
            progress=cycle.progress,
            contract=contract,
            sensitive_columns=self.sensitive_columns(),
        )
        success = cast(protocol.TransformSuccess, cycle.ask(request))
        if success.evaluation is not None and self.base.transform is not None:
            keep_evaluation(self.dataset, self.base.transform.transform, success.evaluation)
        self.add_blocks(success)
        head = self.draft.state.head
        if head == self.base.head:
            unchanged.keep(cycle.store.cache(self.dataset.alias), self.new.key)
            return UpToDate()
        self.keep_record(success, head)
        claimed = candidate.claim(self.dataset, self.new.base, self.new.key, head)
        changes = success.slice.changes if success.slice else protocol.Changes()
        return dataclasses.replace(claimed, changes=changes, notices=success.notices)

    def sensitive_columns(self) -> tuple[str, ...]:
        """Return the sensitive columns of the derivative and of its inputs: errors of queries may show their values."""
        known = self.cycle.sensitive_columns
        names = set(self.cycle.sensitivity.labels).union(*(known.names(i.dataset, i.state) for i in self.inputs))
        return tuple(sorted(names))

    def add_blocks(self, success: protocol.TransformSuccess) -> None:
        """Draft the blocks of the engine's answer, if there is anything to record."""
        state, version = self.draft.state, self.draft.manifest_version
        schema = success.schema
        event = chain_schema.add_columns(state.schema, schema, manifest_version=version) if schema else None
        if event is not None:
            self.draft.append(event, self.system_time)
        watermark = watermark_of(self.inputs, state.watermark)
        if success.slice is None and (watermark is None or not any(i.has_new_blocks for i in self.inputs)):
            return
        if success.slice is not None:
            self.dataset.storage.adopt(f"data/{success.slice.physical_hash}", Path(success.slice.path))
        self.draft.append(
            model.ExecuteTransform(
                query_inputs=tuple(map(_query_input, self.inputs)),
                prev_checkpoint=state.last_checkpoint,
                prev_offset=state.last_offset,
                new_data=data_slice(success.slice) if success.slice else None,
                new_watermark=watermark,
            ),
            self.system_time,
        )

    def keep_record(self, success: protocol.TransformSuccess, head: str) -> None:
        """Store the contract report of the candidate, before anybody can find it."""
        contract = self.cycle.contract
        if contract is None or success.slice is None:
            return
        record = rejected.Record(
            base=self.new.base,
            records=success.slice.offset_interval.count,
            report=success.report,
            limits=self.cycle.limits,
            contract_digest=contract.digest,
            content=self.new.content,
            terms=self.cycle.terms,
            sensitivity=self.cycle.sensitivity,
            promises=self.cycle.promises,
        )
        rejected.save(self.dataset, head, record)


def _query_input(i: InputState) -> model.ExecuteTransformInput:
    is_new = i.has_new_blocks
    return model.ExecuteTransformInput(
        dataset_id=i.state.dataset_id,
        prev_block_hash=i.before.block_hash,
        new_block_hash=i.state.head if is_new else None,
        prev_offset=i.before.offset,
        new_offset=i.state.last_offset if i.has_new_records else None,
    )

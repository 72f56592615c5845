"""What roots and derivatives share on the way from new input to a candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.cycle import candidates, held_back
from airflow_provider_odf.cycle.exchange import workplace
from airflow_provider_odf.cycle.messages import Candidate, UpToDate
from airflow_provider_odf.errors import CommitConflict, StillRejected
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.exchange import Workplace
    from airflow_provider_odf.cycle.messages import NewInput
    from airflow_provider_odf.instant import Instant

T = TypeVar("T")


def after_manifest(cycle: Cycle, new_input: Callable[[ChainState, str | None], T | UpToDate]) -> T | UpToDate:
    """Apply the manifest, and return the new input for the state after it and the digest of the contract. If there is
    none, the reason names what was applied."""
    digest, _ = cycle.contract.digest if cycle.contract else None, cycle.limits  # They may not be valid.
    applied: list[str] = []
    result = new_input(cycle.apply_manifest(applied.append), digest)
    if isinstance(result, UpToDate) and applied:
        return dataclasses.replace(result, reason=f"{result.reason} (manifest applied: {', '.join(applied)})")
    return result


def up_to_rejection(
    cycle: Cycle, dataset: Dataset, rejection: candidates.Rejection, what: str, notices: tuple[str, ...] = ()
) -> UpToDate:
    """Return that there is only what was rejected, ``what`` in one word.

    :raises StillRejected: nobody has decided on it, and `Options.still_rejected` is ``fail``.
    """
    if rejection.record.is_discarded:
        return UpToDate(f"up to date: the newest {what} was discarded ({rejection.ref})", notices)
    command = candidates.show_command(dataset)
    why = f": {'; '.join(rejection.reasons)}" if rejection.reasons else ""
    message = f"the newest {what} of {dataset.alias} is still rejected{why}; to inspect it: {command}"
    if cycle.options.still_rejected == "skip":
        return UpToDate(message, notices)
    raise StillRejected(message, candidates.rejected_candidate(dataset, rejection), notices)


def candidate_of(
    cycle: Cycle,
    new: NewInput,
    heads: tuple[str | None, ...],
    make: Callable[[Dataset, Workplace], Candidate | UpToDate],
) -> Candidate | UpToDate:
    """Return the candidate that an earlier run made of an input, else what ``make`` returns, which gets a place for its
    files. ``heads`` are those that the dataset may have; the last one was there when the input was read.

    :raises InputHeldBack: the input looks wrong; the candidate is kept under a rejected ref.
    :raises CommitConflict: the head has moved.
    """
    dataset = cycle.store.dataset(new.dataset)
    if (earlier := candidates.earlier_candidate(dataset, new.base, new.key)) is not None:
        return held_back.check(dataset, earlier, candidates.load_record(dataset, earlier.candidate))
    if (head := dataset.first_head()) not in heads:
        raise CommitConflict(
            f"dataset {dataset.alias}: the input was read at head {heads[-1]}, and another writer published {head} "
            "since: run again (in Airflow, clear the run)"
        )
    with workplace(cycle.store, new.dataset, passes_objects=cycle.passes_objects) as work:
        return make(dataset, work)


class Step:
    """One step that makes a candidate: its request to the engine, and the blocks that record the engine's answer."""

    def __init__(self, cycle: Cycle, dataset: Dataset, new: NewInput, base: ChainState, system_time: Instant) -> None:
        self.cycle, self.dataset, self.new, self.base, self.system_time = cycle, dataset, new, base, system_time
        cycle.store.check_own(dataset, base.dataset_id)
        self.draft = Draft(dataset, base, manifest_version=cycle.manifest_version)

    def contract(self) -> protocol.Contract | None:
        """Return the contract with what the engine cannot see."""
        if (contract := self.cycle.contract) is None:
            return None
        from airflow_provider_odf.cycle.contract_context import with_context

        return with_context(self.cycle, contract, self.dataset, self.base.head, self.system_time)

    def declare(self, schema: str | None) -> None:
        """Draft the SetDataSchema of new columns, if there are any."""
        current, version = self.draft.state.schema, self.draft.manifest_version
        event = chain_schema.add_columns(current, schema, manifest_version=version) if schema else None
        if event is not None:
            self.draft.append(event, self.system_time)

    def adopt(self, new: protocol.NewSlice | None) -> model.DataSlice | None:
        """Take a slice of the engine into the dataset, and return it as a block records it."""
        if new is None:
            return None
        recorded = model.DataSlice(
            logical_hash=new.logical_hash,
            physical_hash=new.physical_hash,
            offset_interval=model.OffsetInterval(start=new.offset_interval.start, end=new.offset_interval.end),
            size=new.size,
        )
        slices.adopt(self.dataset, recorded, new.path)
        return recorded

    def claim(
        self,
        slices: Sequence[protocol.NewSlice],
        report: protocol.ContractReport | None,
        notices: tuple[str, ...],
        **details: Any,
    ) -> Candidate:
        """Claim the candidate of the drafted blocks. Its record is stored first, before anybody can find it.

        :param details: of the `candidates.Record`.
        :raises InputHeldBack: the input looks wrong; the candidate is kept under a rejected ref.
        """
        cycle, new, state = self.cycle, self.new, self.draft.state
        cycle.states.keep(self.dataset, state)
        records = sum(s.offset_interval.count for s in slices)
        report = report if records else None
        # The same candidate may have been held back by other limits before, or have a damaged record.
        was_made = not self.draft.is_new and candidates.is_recorded(self.dataset, state.head)
        record = None
        if report is not None or details.get("held") or was_made:
            record = candidates.Record(
                base=new.base,
                records=records,
                report=report,
                limits=cycle.limits,
                contract_digest=cycle.contract.digest if cycle.contract else None,
                content=new.content,
                **cycle.said_by_contract,
                **details,
            )
            candidates.save_record(self.dataset, state.head, record)
        claimed = candidates.claim(self.dataset, new.base, new.key, state.head)
        changes = sum((s.changes for s in slices), protocol.Changes())
        if claimed.candidate != state.head:  # that of another writer
            record = candidates.load_record(self.dataset, claimed.candidate)
        return held_back.check(self.dataset, dataclasses.replace(claimed, changes=changes, notices=notices), record)

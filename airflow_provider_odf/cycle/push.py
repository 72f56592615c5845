"""Push data into a dataset: files, URIs and records in place of a poll."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle.input_seal import seal_input
from airflow_provider_odf.cycle.messages import Input, SourceState, UpToDate
from airflow_provider_odf.cycle.pushed_input import Intake, Push
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution import apply
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source.source_state import CONTENT_HASH

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.evolution.columns import Source


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
    result = _onto(cycle, dataset, replay(dataset), new_input, sources)
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

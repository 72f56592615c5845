"""Inputs that are held back: the candidate is kept, like one that a contract rejects, until somebody decides.

An input is held back if it looks like an error of its source rather than a change of the data: it has no rows, it
retracts more rows than ``odf.yaml`` allows, or its columns are matched by position and its header changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import matched_headers, rejected
from airflow_provider_odf.cycle.messages import Limits
from airflow_provider_odf.cycle.sources import POLLING_SOURCE
from airflow_provider_odf.errors import InputHeldBack
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import Candidate, Input
    from airflow_provider_odf.protocol import MergeSuccess, NewSlice


def retractions(inputs: Iterable[tuple[str, NewSlice | None]], limits: Limits) -> Iterator[str]:
    """Yield why inputs, each a label and its slice, retract more than the limits allow. Each is compared with the rows
    after the input before it."""
    for label, new in inputs:
        if new is None or not new.rows_before:
            continue
        share = new.changes.removed / new.rows_before
        if new.is_input_empty and not limits.allow_empty_input:
            yield (
                f"{label} has no rows, which retracts all {counted(new.rows_before, 'row')} "
                "(`allow_empty_input: true` in odf.yaml allows that)"
            )
        elif not new.is_input_empty and limits.max_retracted_share is not None and share > limits.max_retracted_share:
            yield (
                f"{label} retracts {new.changes.removed} of {counted(new.rows_before, 'row')}, more than "
                f"`max_retracted_share: {limits.max_retracted_share:g}` in odf.yaml allows"
            )


def check(dataset: Dataset, candidate: Candidate) -> Candidate:
    """Return a candidate, unless it is held back and nobody accepted its input.

    :raises InputHeldBack: it is held back; it is kept under a rejected ref.
    """
    record = rejected.load(dataset, candidate.candidate)
    if record is None or not record.held:
        return candidate
    reasons = "; ".join(record.held)
    if rejected.is_accepted(dataset, record):
        notice = f"publishing this input once, although it was held back: {reasons}"
        return dataclasses.replace(candidate, notices=(*candidate.notices, notice))
    publish = dataset.command("rejected", "publish", "{}", rejected.reject(dataset, candidate))
    raise InputHeldBack(
        f"input of {candidate.dataset} was held back: {reasons}. The dataset is unchanged. "
        f"To inspect the input: {rejected.hint(dataset)}; to publish it anyway: {publish}",
        candidate,
        candidate.notices,
    )


def keep_record(
    cycle: Cycle,
    dataset: Dataset,
    new_input: Input,
    candidate: str,
    slices: Sequence[tuple[str, NewSlice | None]],
    success: MergeSuccess,
) -> None:
    """Store the contract report of a candidate and why its input is held back, before anybody can find the
    candidate."""
    held = (*_header_changes(dataset, new_input, candidate, success), *retractions(slices, cycle.limits))
    records = sum(new.offset_interval.count for _, new in slices if new is not None)
    report = success.report if records else None
    # The same candidate may have been held back by other limits before, or have a damaged file.
    if not held and report is None and not rejected.is_recorded(dataset, candidate):
        return
    record = rejected.Record(
        base=new_input.base,
        records=records,
        report=report,
        held=held,
        limits=cycle.limits,
        contract_digest=cycle.contract.digest if cycle.contract else None,
        content=new_input.content,
        terms=cycle.terms,
        sensitivity=cycle.sensitivity,
        promises=cycle.promises,
        stamps={file.label: file.stamp for file in new_input.files if file.stamp is not None},
        folder=str(cycle.manifest.file.parent) if cycle.manifest else None,
        is_pushed=new_input.pushed is not None,
    )
    rejected.save(dataset, candidate, record)


def _header_changes(dataset: Dataset, new_input: Input, candidate: str, success: MergeSuccess) -> tuple[str, ...]:
    """Return how headers by position changed, and keep the newest with the candidate."""
    names = (*new_input.headers, *success.headers)
    positional = [header for header in names if not header.is_by_name]
    if not positional:
        return ()
    source_name = new_input.source_name or POLLING_SOURCE
    before = matched_headers.previous(dataset, new_input.base, source_name, positional[-1].columns)
    if not matched_headers.is_same(before, positional[-1]):
        matched_headers.keep(dataset, candidate, source_name, positional[-1])
    return tuple(matched_headers.changes(before, names))

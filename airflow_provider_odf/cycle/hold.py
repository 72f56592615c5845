"""Inputs that are held back: their candidate is kept like one that a contract rejects, until somebody decides.

An input is held back where it looks like a fault of its source rather than a change of the data: it has no rows, it
retracts more rows than ``odf.yaml`` allows, or its columns are matched by position and its header changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.cycle.messages import Limits
from airflow_provider_odf.errors import InputHeldBack
from airflow_provider_odf.manifest.folder import settings_for
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import NewSlice


def limits_of(manifest: Manifest) -> Limits:
    """Return the limits of a manifest's dataset, from ``odf.yaml``.

    :raises ManifestInvalid: a settings file that applies is not valid.
    """
    settings = settings_for(manifest.file, manifest.snapshot.alias)
    return Limits(settings.allow_empty_input, settings.max_retracted_share)


def retractions(inputs: Iterable[tuple[str, NewSlice | None]], limits: Limits) -> Iterator[str]:
    """Say of each input, by its label and the slice it gave, what it retracts beyond the limits. Each counts against
    the rows that the one before it left."""
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
    """Return a candidate that may go on: it was not held back, or somebody let its input through.

    :raises InputHeldBack: it was held back; it is kept under a rejected ref.
    """
    record = rejected.load(dataset, candidate.candidate)
    if record is None or not record.held:
        return candidate
    reasons = "; ".join(record.held)
    if rejected.is_accepted(dataset, record):
        return dataclasses.replace(candidate, notices=(*candidate.notices, f"let through once: {reasons}"))
    publish = dataset.command("rejected", "publish", "{}", rejected.reject(dataset, candidate))
    raise InputHeldBack(
        f"input of {candidate.dataset} held back: {reasons}; the dataset stays as it is, "
        f"see: {rejected.hint(dataset)}; to publish the input anyway: {publish}",
        candidate,
        candidate.notices,
    )

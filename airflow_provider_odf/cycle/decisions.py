"""Decisions on a rejected candidate: publish it anyway, or discard it. The command line and the UI call these."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.source.files_glob import changed

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.rejected import Rejection


def find(dataset: Dataset, ref: str | None) -> Rejection:
    """Return the rejected candidate of a ref or block hash, by default the newest.

    :raises InvalidInput: there is none.
    :raises ChainCorrupted: its report is missing or damaged.
    """
    every = list(rejected.rejections(dataset))
    named = [r for r in every if ref in (None, r.ref, r.block_hash)]
    if named and named[-1].record == rejected.LOST:
        raise ChainCorrupted(
            f"dataset {dataset.alias}: the report of {named[-1].ref} is missing or damaged: run the dataset's manifest "
            "again to merge and test the input again"
        )
    if named:
        return named[-1]
    there = f"; there are: {', '.join(r.ref for r in every)}" if every else ""
    raise InvalidInput(f"dataset {dataset.alias} has no rejected candidate{f' {ref}' if ref else ''}{there}")


def changed_files(rejection: Rejection) -> list[str]:
    """Return the files of a rejected candidate that have other content in the source by now."""
    record = rejection.record
    return changed(Path(record.folder), record.stamps) if record.folder is not None else []


def publish_anyway(store: Store, dataset: Dataset, rejection: Rejection) -> bool:
    """Publish a rejected candidate, whatever its contract says, and return True.

    False where it no longer builds on the head: then the same input passes at its next merge, once.

    :raises CommitConflict: another writer publishes at this moment; try again.
    :raises InvalidInput: the head has moved, and the content of the input was not recorded.
    """
    if dataset.head() == rejection.base:
        candidate = Candidate(
            str(dataset.alias), rejection.base, rejection.block_hash, rejection.ref, rejection.records
        )
        publish(store, candidate)
        return True
    if rejected.accept(dataset, rejection):
        return False
    raise InvalidInput(
        f"{rejection.ref} is not based on the current head of {dataset.alias}, and its input was not recorded: "
        "run the dataset again, then publish the new rejected candidate"
    )


def discard(dataset: Dataset, rejection: Rejection) -> None:
    """Discard the input of a rejected candidate: later runs neither fail for it nor merge it again until the source,
    the manifest or the contract changes. Its blocks and data stay."""
    rejected.save(dataset, rejection.block_hash, replace(rejection.record, is_discarded=True))

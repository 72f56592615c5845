"""Decisions on a rejected candidate: publish it anyway, discard it, or test it again. The command line, runs of DAGs
and the UI call these."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.author import NOBODY, Author
from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.publications import ANYWAY
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle import candidates, tested
from airflow_provider_odf.cycle.candidates import rejected_candidate
from airflow_provider_odf.cycle.messages import Candidate, UpToDate
from airflow_provider_odf.cycle.publish import contract_test, earlier_publication, judge, publish
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.source.files_glob import changed

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.candidates import Rejection
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.protocol import ContractReport

PUBLISH, RETEST = "publish", "retest"
ACTIONS = (PUBLISH, RETEST)
"""Decisions that a run can carry out."""


@dataclass(frozen=True)
class Decision:
    """A decision for a run to carry out: one of `ACTIONS`, the newest block of the rejected candidate, and why."""

    action: str
    block_hash: str
    reason: str | None = None


def chosen(dataset: Dataset, ref: str | None) -> Rejection:
    """Return the rejected candidate of a ref or block hash, by default the newest.

    :raises InvalidInput: there is none.
    :raises ChainCorrupted: its report is missing or damaged.
    """
    every = list(candidates.rejections(dataset))
    named = [r for r in every if ref in (None, r.ref, r.block_hash)]
    if named:
        return _readable(dataset, named[-1])
    there = f"; there are: {', '.join(r.ref for r in every)}" if every else ""
    raise InvalidInput(f"dataset {dataset.alias} has no rejected candidate{f' {ref}' if ref else ''}{there}")


def undecided(dataset: Dataset, ref: str | None) -> Rejection:
    """Return the rejected candidate of a ref or block hash, by default the newest that waits for a decision.

    :raises InvalidInput: there is none.
    :raises ChainCorrupted: its report is missing or damaged.
    """
    every = list(candidates.rejections(dataset))
    if ref is not None or not every:
        return chosen(dataset, ref)
    head = dataset.head() or ""
    words = [(r, tested.status(dataset, r, head)) for r in every]
    waiting = [r for r, status in words if status in (tested.WAITING, tested.LOST)]
    if waiting:
        return _readable(dataset, waiting[-1])
    newest, status = words[-1]
    became = "is superseded" if status == tested.SUPERSEDED else f"is {describe_decision(dataset, newest)}"
    raise InvalidInput(
        f"no rejected candidate of {dataset.alias} waits for a decision; the newest, {newest.ref}, {became}. To decide "
        f"on one all the same, name its REF; to list them: {dataset.command('rejected', 'list', '{}')}"
    )


def describe_decision(dataset: Dataset, rejection: Rejection) -> str | None:
    """Return ``discarded by WHO at TIME: WHY``, or ``accepted …``, None if nobody decided on a rejected candidate."""
    author = decider(dataset, rejection)
    if author is None:
        return None
    word = tested.DISCARDED if rejection.record.is_discarded else tested.ACCEPTED
    by, at = (f" {name} {value}" if value else "" for name, value in (("by", author.who), ("at", author.time)))
    return f"{word}{by}{at}{f': {author.reason}' if author.reason else ' without a reason'}"


def decider(dataset: Dataset, rejection: Rejection) -> Author | None:
    """Return who discarded or accepted a rejected candidate, when and why, None if nobody decided on it."""
    record = rejection.record
    return (record.decided_by or NOBODY) if record.is_discarded else candidates.accepting_author(dataset, record)


def changed_files(rejection: Rejection) -> list[str]:
    """Return the files of a rejected candidate that have other content in the source by now."""
    record = rejection.record
    return changed(Path(record.folder), record.stamps) if record.folder is not None else []


def publish_anyway(store: Store, dataset: Dataset, rejection: Rejection, author: Author = NOBODY) -> bool:
    """Publish a rejected candidate, whatever its contract says, and return True.

    False where it no longer builds on the head: then the same input passes at its next merge, once.

    :raises CommitConflict: another writer publishes at this moment; try again.
    :raises InvalidInput: the head has moved, and the content of the input was not recorded.
    """
    if dataset.head() == rejection.base:
        publish(store, _intact_candidate(dataset, rejection), author, ANYWAY)
        return True
    if candidates.accept(dataset, rejection, author):
        return False
    raise _unknown_input(dataset, rejection)


def discard(dataset: Dataset, rejection: Rejection, author: Author = NOBODY) -> None:
    """Discard the input of a rejected candidate: later runs neither fail for it nor merge it again until the source,
    the manifest or the contract changes. Its blocks and data stay. A discarded candidate keeps its author."""
    if rejection.record.is_discarded:
        return
    candidates.drop_acceptance(dataset, rejection.record)
    candidates.decide(dataset, rejection, author, is_discarded=True)


def carry_out(dataset: Dataset, decision: Decision, author: Author = NOBODY) -> Candidate | UpToDate | None:
    """Return the candidate that a run tests or publishes for a decision, or why there is nothing to do.

    None where the head has moved and the input was accepted: a run that merges it again publishes it.

    :raises InvalidInput: there is no such candidate, it was discarded, or the decision cannot be carried out.
    """
    head = dataset.head()
    rejection = next((r for r in candidates.rejections(dataset) if r.block_hash == decision.block_hash), None)
    if rejection is None:
        is_known = dataset.storage.stat(f"blocks/{decision.block_hash}") is not None
        if is_known and (earlier := earlier_publication(dataset, decision.block_hash)) is not None:
            return UpToDate(f"the candidate was {earlier}")
        raise InvalidInput(f"dataset {dataset.alias} has no rejected candidate {decision.block_hash}")
    if rejection.record.is_discarded:
        raise InvalidInput(
            f"{rejection.ref} was discarded: to publish it all the same, run "
            f"`{dataset.command('rejected', 'publish', '{}', rejection.ref)}`"
        )
    if decision.action == RETEST:
        return to_test_again(dataset, rejection)
    if rejection.base == head:
        return _intact_candidate(dataset, rejection)
    if not candidates.accept(dataset, rejection, author):
        raise _unknown_input(dataset, rejection)
    return None


def to_test_again(dataset: Dataset, rejection: Rejection) -> Candidate:
    """Return a rejected candidate for another contract test.

    :raises InvalidInput: no contract rejected it, or the head has moved.
    """
    if rejection.record.held or rejection.report is None:
        raise InvalidInput(f"{rejection.ref} was held back, not rejected by a contract: publish or discard it")
    if rejection.base != dataset.head():
        raise InvalidInput(
            f"{rejection.ref} is not based on the current head of {dataset.alias}: run the dataset again, which tests "
            "its newest input"
        )
    return _intact_candidate(dataset, rejection)


def retest(cycle: Cycle, rejection: Rejection) -> ContractReport:
    """Test a rejected candidate with the contract as it is now, publish it if it passes, and return the report.

    :raises InvalidInput: the candidate cannot be tested again, or the dataset has no contract.
    :raises ContractRejected: a clause failed; nothing has changed but the report.
    :raises ContractInconclusive: a clause could not be evaluated.
    :raises CommitConflict: another writer published first.
    """
    candidate = to_test_again(cycle.store.dataset(cycle.dataset), rejection)
    if cycle.contract is None:
        raise InvalidInput(
            f"dataset {cycle.dataset} has no contract in its metadata: name the manifest beside its contract with "
            "--manifest"
        )
    report = contract_test(cycle, candidate, cycle.contract, is_fresh=True)
    judge(cycle.store, candidate, report)
    publish(cycle.store, candidate, cycle.author)
    return report


def _readable(dataset: Dataset, rejection: Rejection) -> Rejection:
    if rejection.record != candidates.LOST:
        return rejection
    raise ChainCorrupted(
        f"dataset {dataset.alias}: the report of {rejection.ref} is missing or damaged: run the dataset's manifest "
        "again to merge and test the input again"
    )


def _intact_candidate(dataset: Dataset, rejection: Rejection) -> Candidate:
    """Return a rejected candidate to be published or tested. It may be days old, so all blocks and its own slices are
    compared with their hashes.

    :raises ChainCorrupted: a block or slice is missing or damaged.
    """
    candidate = rejected_candidate(dataset, rejection)
    start = candidate.offsets.start if candidate.offsets is not None else inf
    for data_slice in replay(dataset, rejection.block_hash).slices:
        if data_slice.offset_interval.start >= start:
            slices.check(dataset, data_slice)
    return candidate


def _unknown_input(dataset: Dataset, rejection: Rejection) -> InvalidInput:
    return InvalidInput(
        f"{rejection.ref} is not based on the current head of {dataset.alias}, and its input was not recorded: "
        "run the dataset again, then publish the new rejected candidate"
    )

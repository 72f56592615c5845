"""Test a candidate against its contract, and publish it."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.author import NOBODY, Author
from airflow_provider_odf.chain import publications
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.dataset import HEAD
from airflow_provider_odf.chain.publications import Publication, publication_words, published_data, published_history
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import count_in_all
from airflow_provider_odf.contract.sensitivity import EVERY_COLUMN
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.history import history_of
from airflow_provider_odf.errors import CommitConflict, ContractInconclusive, ContractRejected
from airflow_provider_odf.evolution.inputs import merge_of
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.wording import changed, counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.contract.binding import Location
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import Candidate


def contract_test(
    cycle: Cycle,
    candidate: Candidate,
    contract: protocol.Contract,
    *,
    is_fresh: bool = False,
) -> protocol.ContractReport:
    """Return the report of a contract on a candidate. The engine makes a new one if the merge left none, one of another
    version of the contract, or one with an error, whose cause may be gone; or always, with ``is_fresh``.

    :raises ChainCorrupted: a slice is missing, or is not what its physical hash says.
    """
    dataset = cycle.store.dataset(candidate.dataset)
    report = candidates.load_report(dataset, candidate.candidate)
    if not is_fresh and report is not None and _is_of(report, contract) and report.result != "error":
        return report
    request = _request(cycle, dataset, candidate, contract)
    success = cast(protocol.ContractTestSuccess, cycle.ask(request))
    candidates.save_report(dataset, candidate, success.report, **cycle.said_by_contract)
    return success.report


def _is_of(report: protocol.ContractReport, contract: protocol.Contract) -> bool:
    """Whether a report is of this version of a contract, and masks the columns that are sensitive now."""
    shown = {*contract.sensitive_columns} - {EVERY_COLUMN} - {name.lower() for name in report.sensitive_columns}
    return report.digest == contract.digest and not shown


def judge(store: Store, candidate: Candidate, report: protocol.ContractReport) -> str | None:
    """Raise where a candidate fails its contract. Return a notice if it fails and is published already, or somebody
    accepted its input.

    :raises ContractRejected: a clause failed; the candidate is kept under a rejected ref.
    :raises ContractInconclusive: a clause could not be evaluated; the candidate is kept as it is.
    """
    if report.result not in ("failed", "error"):
        return None
    clauses = "; ".join(f"{r.description}: {r.reason or r.outcome}" for r in report.broken)
    if report.result == "error":
        raise ContractInconclusive(
            f"contract {report.contract} could not be evaluated on {candidate.dataset}: {clauses}"
        )
    dataset = store.dataset(candidate.dataset)
    if (earlier := earlier_publication(dataset, candidate.candidate)) is not None:
        return f"contract {report.contract} failed: {clauses}; the candidate was {earlier}"
    record = candidates.load_record(dataset, candidate.candidate)
    if record is not None and candidates.is_accepted(dataset, record):
        return f"publishing this candidate once, although contract {report.contract} failed: {clauses}"
    candidates.reject(dataset, candidate)
    records = counted(candidate.records, "record")
    raise ContractRejected(
        f"contract {report.contract} rejected {records} of {candidate.dataset}: {clauses}. "
        f"The dataset is unchanged. To inspect the records: {candidates.show_command(dataset)}",
        candidate,
    )


def require_passed(store: Store, candidate: Candidate, contract: Location) -> None:
    """Refuse a candidate with records that did not pass a contract test: a forged XCom may name one, and a custom DAG
    may omit the test. The candidate's report counts, even if the contract file was edited since.

    :raises ContractRejected: a clause failed; the candidate is kept under a rejected ref.
    :raises ContractInconclusive: there is no report, or a clause could not be evaluated.
    """
    if not candidate.records:
        return
    report = candidates.load_report(store.dataset(candidate.dataset), candidate.candidate)
    if report is None:
        raise ContractInconclusive(
            f"contract {contract} was not tested on {candidate.ref} of {candidate.dataset}: run the contract test first"
        )
    judge(store, candidate, report)


def earlier_publication(dataset: Dataset, block_hash: str) -> str | None:
    """Return ``published already as block HASH at TIME, by WHO: WHY`` if the head contains a candidate, else None.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    head = dataset.first_head()
    if head is None or not dataset.contains(head, block_hash):
        return None
    data = published_data(published_history(dataset, head), block_hash, dataset.block(block_hash))
    made = data.publication
    how = publication_words(made.time, made.decision, made.author) if made is not None else data.published
    return f"published already as block {block_hash} at {how}"


def publish(store: Store, candidate: Candidate, author: Author = NOBODY, decision: str = publications.PUBLISHED) -> str:
    """Publish a candidate and return the new head. Publishing twice is publishing once.

    The publication is recorded just before ``head`` moves. If it follows a person's acceptance of its rejected input,
    the record says who accepted it, and why.

    :param decision: why the candidate may be published, a word of `chain.publications`.
    :raises CommitConflict: another writer published first; the candidate can no longer be published.
    """
    dataset = store.dataset(candidate.dataset)
    head, refs = dataset.first_head(), dataset.storage.targets(candidates.OF_CANDIDATES)
    # Only an acceptance makes a difference, and there is seldom one.
    is_any_accepted = any(ref.startswith(candidates.ACCEPTED) for ref in refs)
    record = candidates.load_record(dataset, candidate.candidate) if is_any_accepted else None
    if head is None or not dataset.contains(head, candidate.candidate):
        if head is not None and not dataset.contains(candidate.candidate, head):
            raise CommitConflict(
                f"dataset {dataset.alias}: {candidate.candidate} is not based on the head {head}: run again "
                "(in Airflow, clear the run)"
            )
        _move_head(dataset, candidate, _publication(dataset, candidate, author, decision, record))
        head = candidate.candidate
    else:
        dataset.storage.sync("refs")  # whoever published it may have been killed before it did so
    candidates.drop_settled(dataset, head, refs)
    candidates.drop_acceptance(dataset, record)
    return head


def _move_head(dataset: Dataset, candidate: Candidate, publication: Publication) -> None:
    entry = publications.record(dataset, publication)
    try:
        dataset.storage.compare_and_set_ref(HEAD, candidate.base, candidate.candidate)
    except CommitConflict:
        publications.withdraw(dataset, entry)
        raise


def _publication(
    dataset: Dataset, candidate: Candidate, author: Author, decision: str, record: candidates.Record | None
) -> Publication:
    time = Instant.parse(author.time) if author.time is not None else Instant.now()
    is_by_rules = decision == publications.PUBLISHED
    if is_by_rules and (accepting := candidates.accepting_author(dataset, record)) is not None:
        decision, author = publications.ACCEPTED, replace(author, who=accepting.who, reason=accepting.reason)
    return Publication(candidate.candidate, time, decision, author, candidate.base)


def _request(
    cycle: Cycle, dataset: Dataset, candidate: Candidate, contract: protocol.Contract
) -> protocol.ContractTestRequest:
    from airflow_provider_odf.cycle.contract_context import with_context

    state = cycle.states(dataset, candidate.candidate)
    return protocol.ContractTestRequest(
        dataset_alias=candidate.dataset,
        vocab=state.vocab,
        merge=merge_of(state),
        contract=with_context(cycle, contract, dataset, candidate.base, state.system_time),
        history=history_of(cycle, dataset, state),
        new_from=candidate.offsets.start if candidate.offsets else 0,
        schema=chain_schema.ipc_base64(state.schema) if state.schema else "",
        as_of=str(state.system_time),
        spark=cycle.spark,
    )


def change_words(dataset: Dataset, candidate: Candidate) -> str:
    """Return what the blocks of a candidate change, such as ``3 rows added, 1 row corrected``.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    operation_column = replay(dataset, candidate.candidate).vocab.operation_type_column
    new = takewhile(lambda entry: entry[0] != candidate.base, dataset.walk(candidate.candidate))
    slices = filter(None, (getattr(block.event, "new_data", None) for _, block in new))
    counts = count_in_all(dataset, slices, operation_column)
    if counts is None:  # whoever reads the slice is told
        return f"{counted(candidate.records, 'record')} published"
    return changed(counts)

"""The life of a candidate: blocks on top of a dataset's head that nobody sees until they are published.

A merge *claims* the ref ``candidate-KEY``; the key identifies the input and the head, so that a step that runs again
finds the candidate that it made before. A candidate that its contract rejects, or whose input is held back, turns into
``rejected-KEY``: other ODF tools ignore it, and its blocks and data stay until somebody publishes or discards them. The
record of its test lies in ``info/reports/BLOCK_HASH.json``. If ``head`` has moved, it can no longer be published; a ref
``accepted-CONTENT`` then accepts the same input at its next merge. Publishing, in `publish`, moves ``head``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import protocol
from airflow_provider_odf.author import NOBODY, Author
from airflow_provider_odf.chain import info_files
from airflow_provider_odf.contract.sensitivity import Sensitivity
from airflow_provider_odf.contract.terms import ColumnTerms
from airflow_provider_odf.cycle.messages import Candidate, Limits
from airflow_provider_odf.errors import CommitConflict, OdfError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.protocol import Check, ContractReport

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.manifest.model import MetadataBlock

CANDIDATE = "candidate-"
REJECTED = "rejected-"
ACCEPTED = "accepted-"
OF_CANDIDATES = (CANDIDATE, REJECTED, ACCEPTED)
REPLACED = "replaced-"
"""Prefix of refs to the history that a dataset had before a reset."""

log = logging.getLogger(__name__)


def is_settled(dataset: Dataset, ref: str, block_hash: str, head: str) -> bool:
    """Whether a ref waits for no decision: a candidate that does not build on the head, which can never be published, a
    rejected candidate that the head contains, and all that are based on the history before a reset. The head moves
    forward or to a new history, so a ref that is settled for one head is settled for all later ones.

    :raises ChainCorrupted: a block between the ref and the head is missing or damaged.
    """
    if ref.startswith(CANDIDATE):
        return block_hash == head or not dataset.contains(block_hash, head)
    if not ref.startswith(OF_CANDIDATES):
        return False
    common = dataset.common_block(head, block_hash)
    return common is None or (ref.startswith(REJECTED) and common == block_hash)


def drop_settled(dataset: Dataset, head: str, refs: Mapping[str, str] | None = None) -> None:
    """Remove settled refs. A ref that cannot be read or removed stays and is logged: the head has moved already.

    :param refs: those of candidates with their blocks, if they were just read.
    """
    for ref, text in (dataset.storage.targets(OF_CANDIDATES) if refs is None else refs).items():
        try:
            block_hash = dataset.target(ref, text)
            if is_settled(dataset, ref, block_hash, head):
                dataset.storage.compare_and_set_ref(ref, block_hash, None)
        except OdfError as e:
            log.warning("dataset %s: cannot remove ref %s: %s", dataset.alias, ref, e)


def earlier_candidate(dataset: Dataset, base: str, key: str) -> Candidate | None:
    """Return the candidate that an earlier run made of the same input, or None.

    A candidate whose record is damaged may have been held back: its ref is removed, so that its input is merged and
    judged again.
    """
    ref = CANDIDATE + key
    block_hash = dataset.head(ref)
    if block_hash is None:
        return None
    if not is_damaged(dataset, block_hash):
        return describe(dataset, base, block_hash, ref)
    dataset.storage.compare_and_set_ref(ref, block_hash, None)
    return None


def claim(dataset: Dataset, base: str, key: str, block_hash: str) -> Candidate:
    """Set the ref of a candidate and return it, or that of a racing writer who merged the same input onto the same
    head."""
    ref = CANDIDATE + key
    try:
        dataset.storage.compare_and_set_ref(ref, None, block_hash)
    except CommitConflict:
        block_hash = dataset.head(ref) or block_hash
    return describe(dataset, base, block_hash, ref)


def rejected_candidate(dataset: Dataset, rejection: Rejection) -> Candidate:
    """Return a rejected candidate as it was claimed, to be tested or published."""
    ref = CANDIDATE + rejection.ref.removeprefix(REJECTED)
    return describe(dataset, rejection.base, rejection.block_hash, ref)


def describe(dataset: Dataset, base: str, block_hash: str, ref: str) -> Candidate:
    """Return the candidate that the blocks between a base and a block make."""
    added: list[model.DataSlice] = []
    watermark = None
    for current, block in dataset.walk(block_hash):
        if current == base:
            break
        if isinstance(block.event, model.AddData | model.ExecuteTransform):
            watermark = watermark or block.event.new_watermark
            if block.event.new_data is not None:
                added.append(block.event.new_data)
    offsets = protocol.OffsetInterval(added[-1].offset_interval.start, added[0].offset_interval.end) if added else None
    return Candidate(
        dataset=str(dataset.alias),
        base=base,
        candidate=block_hash,
        ref=ref,
        records=offsets.count if offsets else 0,
        offsets=offsets,
        watermark=str(watermark) if watermark else None,
        size=sum(s.size for s in added),
    )


@dataclass(frozen=True)
class Record:
    """Record of a candidate that was tested or held back."""

    base: str
    records: int
    report: ContractReport | None = None
    held: tuple[str, ...] = ()
    """Why the input was held back."""
    limits: Limits = field(default_factory=Limits)
    """Limits that the input exceeded."""
    contract_digest: str | None = None
    """SHA-256 of the contract at the merge."""
    content: str | None = None
    """Name of the content that was merged, see `Input.content`."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    """Stamps by path of the files of a glob: their modification times and sizes."""
    folder: str | None = None
    """Folder to which these paths are relative."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Owner and terms of the contract that was tested, by label."""
    columns: Mapping[str, ColumnTerms] = field(default_factory=dict)
    """What the contract says of columns, by name in lower case."""
    sensitivity: Sensitivity | None = None
    """The sensitive columns at the test; None in records of earlier releases."""
    promises: tuple[Check, ...] = ()
    """Clauses of the contract about the dataset over time: freshness and frequency."""
    is_pushed: bool = False
    is_discarded: bool = False
    """Whether somebody discarded the input."""
    decided_by: Author | None = None
    """Who discarded the input or accepted it for its next merge, when and why."""

    @property
    def digest(self) -> str | None:
        """SHA-256 of the contract that was tested, else of the one at the merge."""
        return self.report.digest if self.report is not None else self.contract_digest


LOST = Record(base="", records=0)
"""Record of a candidate whose file is missing or damaged: its input is merged and tested again."""


@dataclass(frozen=True)
class Rejection:
    """A rejected candidate: its ref, its newest block, and its record."""

    ref: str
    block_hash: str
    record: Record
    system_time: Instant
    source_state: model.SourceState | None

    @property
    def base(self) -> str:
        """The head below the candidate."""
        return self.record.base

    @property
    def records(self) -> int:
        return self.record.records

    @property
    def report(self) -> ContractReport | None:
        """The contract report; None if the input was held back and no contract was tested."""
        return self.record.report

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was rejected: why its input was held back, or the clauses that failed."""
        results = self.report.results if self.report is not None else ()
        failed = (r.description for r in results if r.outcome == "fail" and r.severity == "error")
        return self.record.held or tuple(failed)

    def stands(self, head: str, contract_digest: str | None, limits: Limits) -> bool:
        """Whether merging the same input again would end the same way: on this head, with this contract and limits."""
        is_judged_alike = self.record.digest == contract_digest
        return self.base == head and is_judged_alike and (not self.record.held or self.record.limits == limits)


def save_record(dataset: Dataset, block_hash: str, record: Record) -> None:
    """Store the record of a candidate, and replace an earlier one."""
    info_files.put(dataset, info_files.REPORTS, block_hash, protocol.to_json(record))


def load_record(dataset: Dataset, block_hash: str) -> Record | None:
    """Return the record of a candidate; None if it was never tested or held back, or if the file is damaged, see
    `is_damaged`."""
    content = info_files.get(dataset, info_files.REPORTS, block_hash)
    return protocol.from_json(Record, content) if content else None


def newest_record(
    dataset: Dataset, blocks: Iterable[tuple[str, MetadataBlock]]
) -> tuple[str, MetadataBlock, Record | None] | None:
    """Return the newest block that changed the data or was tested, of blocks from the newest on, and its record. A
    block of a merge that found nothing new says nothing about the data."""
    for block_hash, block in blocks:
        record = load_record(dataset, block_hash)
        if record is not None or getattr(block.event, "new_data", None) is not None:
            return block_hash, block, record
    return None


def is_recorded(dataset: Dataset, block_hash: str) -> bool:
    """Whether a candidate has a record, even a damaged one."""
    return info_files.exists(dataset, info_files.REPORTS, block_hash)


def is_damaged(dataset: Dataset, block_hash: str) -> bool:
    """Whether the record of a candidate is damaged."""
    return is_recorded(dataset, block_hash) and load_record(dataset, block_hash) is None


def save_report(
    dataset: Dataset,
    candidate: Candidate,
    report: ContractReport,
    **details: Any,
) -> None:
    """Store the contract report of a candidate; a later test of the candidate replaces it.

    :param details: of the `Record`, that the contract says: terms, columns, sensitivity, promises.
    """
    record = load_record(dataset, candidate.candidate) or Record(candidate.base, candidate.records)
    save_record(dataset, candidate.candidate, replace(record, report=report, **details))


def load_report(dataset: Dataset, block_hash: str) -> ContractReport | None:
    """Return the newest report on a block, None if no contract was tested on it."""
    record = load_record(dataset, block_hash)
    return record.report if record is not None else None


def reject(dataset: Dataset, candidate: Candidate) -> str:
    """Turn a candidate's ref into a rejected one, and return the new ref."""
    ref = rejected_ref(candidate.ref)
    if (target := dataset.head(ref)) != candidate.candidate:
        dataset.storage.compare_and_set_ref(ref, target, candidate.candidate)
    if dataset.head(candidate.ref) == candidate.candidate:
        dataset.storage.compare_and_set_ref(candidate.ref, candidate.candidate, None)
    return ref


def accept(dataset: Dataset, rejection: Rejection, author: Author = NOBODY) -> bool:
    """Accept the input of a rejected candidate once, when it is merged again. Return False if its content was not
    recorded. An input that somebody has accepted keeps its author."""
    if rejection.record.content is None:
        return False
    if not rejection.record.is_discarded and is_accepted(dataset, rejection.record):
        return True
    decide(dataset, rejection, author)
    ref = ACCEPTED + rejection.record.content
    dataset.storage.compare_and_set_ref(ref, dataset.head(ref), rejection.block_hash)
    return True


def decide(dataset: Dataset, rejection: Rejection, author: Author, *, is_discarded: bool = False) -> None:
    """Record who decided on a rejected candidate."""
    at = author.time or str(Instant.now())
    record = replace(rejection.record, decided_by=replace(author, time=at), is_discarded=is_discarded)
    save_record(dataset, rejection.block_hash, record)


def accepting_author(dataset: Dataset, record: Record | None) -> Author | None:
    """Return who accepted the input of a candidate after its rejection, or None if nobody did."""
    if record is None or not is_accepted(dataset, record):
        return None
    accepted = load_record(dataset, str(dataset.head(f"{ACCEPTED}{record.content}")))
    return (accepted.decided_by if accepted is not None else None) or NOBODY


def is_accepted(dataset: Dataset, record: Record) -> bool:
    """Whether somebody accepted the input of a candidate."""
    return record.content is not None and dataset.head(ACCEPTED + record.content) is not None


def drop_acceptance(dataset: Dataset, record: Record | None) -> None:
    """Remove the acceptance of the input of a candidate that was published or discarded."""
    ref = ACCEPTED + record.content if record is not None and record.content else None
    if ref is not None and (target := dataset.head(ref)) is not None:
        dataset.storage.compare_and_set_ref(ref, target, None)


def rejected_ref(candidate_ref: str) -> str:
    """Return the ref of a candidate after its rejection."""
    return REJECTED + candidate_ref.removeprefix(CANDIDATE)


def show_command(dataset: Dataset) -> str:
    """Return the command that shows the newest rejection."""
    return dataset.command("rejected", "show", "{}")


def rejections(dataset: Dataset) -> Iterator[Rejection]:
    """Yield rejected candidates that were not published since, oldest first."""
    refs = dataset.storage.targets(REJECTED)
    head = dataset.head() if refs else None
    waiting = [r for ref, text in refs.items() if (r := _rejection(dataset, ref, dataset.target(ref, text), head))]
    yield from sorted(waiting, key=lambda r: (r.system_time, r.ref))


def rejection_in_force(
    dataset: Dataset, head: str, contract_digest: str | None, limits: Limits
) -> tuple[Rejection | None, dict[str, str]]:
    """Return the last polled input that was rejected if it would be rejected again, and nobody accepted it; and the
    newest stamps by path of files of a glob that were discarded, and would be rejected again. Pushed input does not
    count: it does not come from the polling source."""
    polled = [r for r in rejections(dataset) if not r.record.is_pushed]
    if not polled or not polled[-1].stands(head, contract_digest, limits) or is_accepted(dataset, polled[-1].record):
        return None, {}
    stamps: dict[str, str] = {}
    for rejection in polled:
        if rejection.record.is_discarded and rejection.stands(head, contract_digest, limits):
            stamps.update(rejection.record.stamps)
    return polled[-1], stamps


def _rejection(dataset: Dataset, ref: str, block_hash: str, head: str | None) -> Rejection | None:
    if head and is_settled(dataset, ref, block_hash, head):
        return None
    block, record = dataset.block(block_hash), load_record(dataset, block_hash) or LOST
    return Rejection(ref, block_hash, record, block.system_time, getattr(block.event, "new_source_state", None))

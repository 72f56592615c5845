"""Reports of contract tests, and the candidates that a contract has rejected.

A report lies in the dataset as ``info/reports/BLOCK_HASH.json``. A rejected candidate keeps a ref ``rejected-KEY``:
no other ODF tool looks at it, and its blocks and data stay to be inspected, published by hand or discarded.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import info
from airflow_provider_odf.cycle import refs

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest import model


_REPORTS = "reports"


@dataclass(frozen=True)
class Rejection:
    """A rejected candidate: its newest block, the head it was built on, and the report that rejected it."""

    ref: str
    block_hash: str
    base: str | None
    report: protocol.ContractReport | None
    """None where its file is missing or damaged; then base and number of records are not known either."""
    system_time: Instant
    source_state: model.SourceState | None
    records: int | None

    def stands(self, head: str, digest: str | None) -> bool:
        """Whether the same input would be rejected again on this head by the contract of this digest."""
        return self.report is not None and (self.base, self.report.digest) == (head, digest)


def save_report(dataset: Dataset, candidate: Candidate, report: protocol.ContractReport) -> None:
    """Keep what a contract said of a candidate; a later test of the same candidate replaces it."""
    content = {"base": candidate.base, "records": candidate.records, "report": protocol.to_json(report)}
    info.put(dataset, _REPORTS, candidate.candidate, content)


def load_report(dataset: Dataset, block_hash: str) -> protocol.ContractReport | None:
    """Return the newest report on a block, or None if it was never tested or its file is damaged: test it again."""
    content = info.get(dataset, _REPORTS, block_hash)
    return protocol.from_json(protocol.ContractReport, content["report"]) if content else None


def reject(dataset: Dataset, candidate: Candidate) -> None:
    """Turn a candidate's ref into a rejected one."""
    ref = ref_of(candidate.ref)
    if dataset.head(ref) is None:
        dataset.storage.compare_and_set_ref(ref, None, candidate.candidate)
    if dataset.head(candidate.ref) == candidate.candidate:
        dataset.storage.compare_and_set_ref(candidate.ref, candidate.candidate, None)


def ref_of(candidate_ref: str) -> str:
    """The ref that a candidate has once it is rejected."""
    return refs.REJECTED + candidate_ref.removeprefix(refs.CANDIDATE)


def hint(dataset: Dataset) -> str:
    """The command that shows the newest rejection, whatever store the reader's shell would take."""
    root = str(dataset.path)[: -len(str(dataset.alias)) - 1]
    return f"odf rejected show {dataset.alias} --store {shlex.quote(root)}"


def rejections(dataset: Dataset) -> Iterator[Rejection]:
    """Rejected candidates that were not published since, oldest first."""
    names = [ref for ref in dataset.storage.refs() if ref.startswith(refs.REJECTED)]
    found = [rejection for ref in names if (rejection := _rejection(dataset, ref))]
    yield from sorted(found, key=lambda r: (r.system_time, r.ref))


def newest(dataset: Dataset) -> Rejection | None:
    """The last candidate that was rejected."""
    return next(reversed(list(rejections(dataset))), None)


def _rejection(dataset: Dataset, ref: str) -> Rejection | None:
    block_hash = dataset.head(ref)
    head = dataset.head()
    if block_hash is None or (head and refs.is_settled(dataset, ref, block_hash, head)):
        return None
    content = info.get(dataset, _REPORTS, block_hash)
    event = dataset.block(block_hash).event
    return Rejection(
        ref=ref,
        block_hash=block_hash,
        base=content["base"] if content else None,
        report=protocol.from_json(protocol.ContractReport, content["report"]) if content else None,
        system_time=dataset.block(block_hash).system_time,
        source_state=getattr(event, "new_source_state", None),
        records=content["records"] if content else None,
    )

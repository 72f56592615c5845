"""Reports of contract tests, and the candidates that a contract has rejected.

A report lies in the dataset as ``info/reports/BLOCK_HASH.json``. A rejected candidate keeps a ref ``rejected-KEY``:
no other ODF tool looks at it, and its blocks and data stay to be inspected, published by hand or discarded.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.cycle import refs

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest import model


@dataclass(frozen=True)
class Rejection:
    """A rejected candidate: its newest block, the head it was built on, and the report that rejected it."""

    ref: str
    block_hash: str
    base: str
    report: protocol.ContractReport
    system_time: Instant
    source_state: model.SourceState | None
    records: int


def save_report(dataset: Dataset, candidate: Candidate, report: protocol.ContractReport) -> None:
    """Keep what a contract said of a candidate; a later test of the same candidate replaces it."""
    content = {"base": candidate.base, "records": candidate.records, "report": protocol.to_json(report)}
    dataset.storage.put(_path(candidate.candidate), json.dumps(content, ensure_ascii=False, indent=1).encode())


def load_report(dataset: Dataset, block_hash: str) -> protocol.ContractReport | None:
    """The newest report on a block, if it was ever tested."""
    content = _load(dataset, block_hash)
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
    content = _load(dataset, block_hash) if block_hash else None
    head = dataset.head()
    if block_hash is None or content is None or (head and refs.is_settled(dataset, ref, block_hash, head)):
        return None
    event = dataset.block(block_hash).event
    return Rejection(
        ref=ref,
        block_hash=block_hash,
        base=content["base"],
        report=protocol.from_json(protocol.ContractReport, content["report"]),
        system_time=dataset.block(block_hash).system_time,
        source_state=getattr(event, "new_source_state", None),
        records=content["records"],
    )


def _load(dataset: Dataset, block_hash: str) -> dict[str, Any] | None:
    data = dataset.storage.get(_path(block_hash))
    return cast(dict[str, Any], json.loads(data)) if data is not None else None


def _path(block_hash: str) -> str:
    return f"info/reports/{block_hash}.json"

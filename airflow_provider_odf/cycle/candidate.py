"""Candidates: blocks on top of a dataset's head that nobody sees until they are published.

The ref ``candidate-KEY`` names one. The key identifies the input and the head: a step that runs again finds the
candidate that it made before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.cycle import candidate_refs, rejected
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.errors import CommitConflict
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset


def find(dataset: Dataset, base: str, key: str) -> Candidate | None:
    """Return the candidate that an earlier run made of the same input, or None.

    A candidate whose record is damaged may have been held back: its ref is removed, so that its input is merged and
    judged again.
    """
    ref = candidate_refs.CANDIDATE + key
    block_hash = dataset.head(ref)
    if block_hash is None:
        return None
    if not rejected.is_damaged(dataset, block_hash):
        return describe(dataset, base, block_hash, ref)
    dataset.storage.compare_and_set_ref(ref, block_hash, None)
    return None


def claim(dataset: Dataset, base: str, key: str, block_hash: str) -> Candidate:
    """Set the ref of a candidate and return it, or that of a racing writer who merged the same input onto the same
    head."""
    ref = candidate_refs.CANDIDATE + key
    try:
        dataset.storage.compare_and_set_ref(ref, None, block_hash)
    except CommitConflict:
        block_hash = dataset.head(ref) or block_hash
    return describe(dataset, base, block_hash, ref)


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

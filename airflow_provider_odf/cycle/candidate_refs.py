"""Refs of candidates, and which of them still wait for a decision."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import OdfError

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset

CANDIDATE = "candidate-"
REJECTED = "rejected-"
ACCEPTED = "accepted-"

log = logging.getLogger(__name__)


def is_settled(dataset: Dataset, ref: str, block_hash: str, head: str) -> bool:
    """Whether a ref waits for no decision: a candidate that does not build on the head, which can never be published,
    and a candidate or rejected candidate that the head contains. Heads only move forward, so a ref that is settled for
    one head is settled for all later ones.

    :raises ChainCorrupted: a block between the ref and the head is missing or damaged.
    """
    if ref.startswith(CANDIDATE):
        return block_hash == head or not dataset.contains(block_hash, head)
    return ref.startswith(REJECTED) and dataset.contains(head, block_hash)


def drop_settled(dataset: Dataset, head: str) -> None:
    """Remove settled refs. A ref that cannot be read or removed stays and is logged: the head has moved already."""
    for ref in dataset.storage.refs():
        try:
            block_hash = dataset.head(ref)
            if block_hash is not None and is_settled(dataset, ref, block_hash, head):
                dataset.storage.compare_and_set_ref(ref, block_hash, None)
        except OdfError as e:
            log.warning("dataset %s: cannot remove ref %s: %s", dataset.alias, ref, e)

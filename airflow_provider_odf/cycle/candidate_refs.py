"""Refs besides the head: of candidates, and which of them still wait for a decision, and of replaced histories."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import OdfError

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset

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


def drop_settled(dataset: Dataset, head: str) -> None:
    """Remove settled refs. A ref that cannot be read or removed stays and is logged: the head has moved already."""
    for ref in dataset.storage.refs():
        try:
            block_hash = dataset.head(ref)
            if block_hash is not None and is_settled(dataset, ref, block_hash, head):
                dataset.storage.compare_and_set_ref(ref, block_hash, None)
        except OdfError as e:
            log.warning("dataset %s: cannot remove ref %s: %s", dataset.alias, ref, e)

"""``Draft``: new blocks on top of a chain, invisible until a ref moves to them."""

from __future__ import annotations

from typing import TypeVar

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import codec, rules
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import append, begin
from airflow_provider_odf.chain.schema import in_version
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import BlockRejected
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model

E = TypeVar("E", bound=model.Variant)


class Draft:
    """Blocks that follow ``base``, or that start a chain if it is None. Each is written at once as a file under its
    hash.

    To publish them: ``compare_and_set_ref("head", base.head, draft.state.head)``, with None for the head of a new
    dataset.
    """

    def __init__(self, dataset: Dataset, base: ChainState | None = None, *, manifest_version: int = 3) -> None:
        self.dataset = dataset
        self.base = base
        self.manifest_version = manifest_version
        self.is_new = False
        """Whether this draft has written the file of its newest block: nobody had it before."""
        self._state = base

    @property
    def state(self) -> ChainState:
        """State after all blocks so far.

        :raises BlockRejected: a new chain has no block yet.
        """
        if self._state is None:
            raise BlockRejected("seed", "the chain has no Seed yet")
        return self._state

    def append(self, event: model.MetadataEvent, system_time: Instant) -> str:
        """Check and store a new block, and return its hash. Transforms are normalized.

        :raises BlockRejected: the block violates a rule; nothing was written.
        :raises InvalidInput: the manifest version has no form for the event.
        :raises StorageError: the block cannot be written.
        """
        last = self._state
        block = model.MetadataBlock(
            system_time=system_time,
            prev_block_hash=last.head if last else None,
            sequence_number=last.sequence_number + 1 if last else 0,
            event=in_version(normalized(event), self.manifest_version),
        )
        data = codec.encode(block, self.manifest_version)
        block_hash = multiformats.sha3_256(data)
        if last is not None:
            rules.check_new(last, block)
        state = append(last, block_hash, block) if last else begin(block_hash, block)
        self.is_new = self.dataset.storage.put_if_absent(f"blocks/{block_hash}", data)
        self._state = state
        return block_hash


def normalized(event: E) -> E:
    """Return the event as the chain stores it: with the ``query`` of a transform in ``queries``."""
    for attribute in ("preprocess", "transform"):
        transform = getattr(event, attribute, None)
        if isinstance(transform, model.TransformSql):
            event = event.model_copy(update={attribute: transform.normalized()})
    return event

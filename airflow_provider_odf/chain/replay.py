"""Replay of a metadata chain: each block is checked against the previous state and updates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from airflow_provider_odf.chain import rules
from airflow_provider_odf.chain import state as states
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.state import ChainState, InputPosition
from airflow_provider_odf.errors import BlockRejected, ChainCorrupted
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock


def replay(dataset: Dataset, ref: str = HEAD, *, head: str | None = None) -> ChainState:
    """Return the state at a ref or block hash, checking every block that was not checked before, see `chain.state`.

    :param head: block of the head, if it was just read.
    :raises DatasetNotFound: there is no such ref.
    :raises ChainCorrupted: a block is missing, damaged, or violates a rule.
    :raises DatasetGone: the folder has another dataset than its store had there.
    """
    cached = states.read_cached(dataset)
    blocks, is_continued = blocks_after(dataset, cached.state.head if cached is not None else None, head or ref)
    if cached is not None and not blocks:
        dataset.check_identity(cached.state.dataset_id)
        return cached.state
    known, base = (cached.blocks, cached.state) if cached is not None and is_continued else ([], None)
    state = extend(dataset, base, blocks)
    dataset.check_identity(state.dataset_id)
    if len(blocks) >= states.least_blocks(dataset) and (ref == HEAD or cached is None):
        states.cache_state(dataset, state, [*known, *(block_hash for block_hash, _ in blocks)])
    return state


def replay_all(dataset: Dataset, ref: str = HEAD, on_block: Callable[[int, int], None] | None = None) -> ChainState:
    """Return the state at a ref or block hash like `replay`, checking every block again, also by the rules of new ones.

    :param on_block: called with the number of blocks that are read, and of all, after each of them.
    """
    blocks: list[tuple[str, MetadataBlock]] = []
    for block_hash, block in dataset.walk(ref):
        blocks.append((block_hash, block))
        if on_block is not None:
            on_block(len(blocks), blocks[0][1].sequence_number + 1)
    return extend(dataset, None, reversed(blocks), are_new=True)


def blocks_after(dataset: Dataset, known: str | None, ref: str = HEAD) -> tuple[list[tuple[str, MetadataBlock]], bool]:
    """Return the blocks after a known one up to a ref, oldest first, and whether the chain continues the known one: if
    not, the blocks start with the seed.

    :raises DatasetNotFound: there is no such ref.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    blocks: list[tuple[str, MetadataBlock]] = []
    block_hash: str | None = dataset.resolve(ref)
    while block_hash is not None and block_hash != known:
        block = dataset.block(block_hash)
        blocks.append((block_hash, block))
        block_hash = block.prev_block_hash
    return blocks[::-1], block_hash is not None


def block_hashes(dataset: Dataset, ref: str = HEAD) -> list[str]:
    """Return the hashes of the blocks from the seed to a ref or block. Of a long chain only the newest blocks are read.

    :raises DatasetNotFound: there is no such ref.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    cached = states.read_cached(dataset)
    end = dataset.resolve(ref)
    if cached is not None and end in cached.blocks:
        return cached.blocks[: cached.blocks.index(end) + 1]
    blocks, is_continued = blocks_after(dataset, cached.state.head if cached is not None else None, end)
    known = cached.blocks if cached is not None and is_continued else []
    return [*known, *(block_hash for block_hash, _ in blocks)]


def extend(
    dataset: Dataset,
    base: ChainState | None,
    blocks: Iterable[tuple[str, MetadataBlock]],
    *,
    are_new: bool = False,
) -> ChainState:
    """Return the state after blocks that follow ``base``, or that start the chain if it is None, checking every block.

    :param blocks: hashes and blocks, oldest first; at least one if there is no base.
    :param are_new: check them also by the rules of new blocks.
    :raises ChainCorrupted: a block violates a rule.
    """
    state, slices = base, list(base.slices) if base is not None else []
    for block_hash, block in blocks:
        try:
            if are_new and state is not None:
                rules.check_new(state, block)
            state = begin(block_hash, block) if state is None else _next(state, block_hash, block)
        except BlockRejected as e:
            raise ChainCorrupted(f"{dataset.storage.location(f'blocks/{block_hash}')}: {e}") from e
        if (new_data := _new_data(block)) is not None:
            slices.append(new_data)
    assert state is not None  # noqa: S101 - a walk has at least one block
    return replace(state, slices=tuple(slices))


def begin(block_hash: str, block: MetadataBlock) -> ChainState:
    """Return the state after the first block.

    :raises BlockRejected: the block cannot be the first.
    """
    event = rules.check_seed(block)
    return ChainState(block_hash, 0, block.system_time, event.dataset_id, event.dataset_kind)


def append(state: ChainState, block_hash: str, block: MetadataBlock) -> ChainState:
    """Return the state after one more block.

    :raises BlockRejected: the block may not follow.
    """
    new_data = _new_data(block)
    new_state = _next(state, block_hash, block)
    return new_state if new_data is None else replace(new_state, slices=(*state.slices, new_data))


def _next(state: ChainState, block_hash: str, block: MetadataBlock) -> ChainState:
    """Return the next state without its slices: a tuple that grows block by block would take quadratic time."""
    rules.check(state, block)
    changes = _CHANGES[block.event.kind](state, block.event)
    return replace(
        state, head=block_hash, sequence_number=block.sequence_number, system_time=block.system_time, **changes
    )


def _new_data(block: MetadataBlock) -> model.DataSlice | None:
    return block.event.new_data if isinstance(block.event, model.AddData | model.ExecuteTransform) else None


def _data(state: ChainState, event: model.AddData | model.ExecuteTransform) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "watermark": event.new_watermark,
        "last_checkpoint": event.new_checkpoint.physical_hash if event.new_checkpoint else None,
    }
    if event.new_data is not None:
        changes["last_offset"] = event.new_data.offset_interval.end
    return changes


def _add_data(state: ChainState, event: model.AddData) -> dict[str, Any]:
    changes = _data(state, event)
    source_state = event.new_source_state
    if state.polling_source is not None:
        # A polling source is the only source. Its state is what its newest block says, be it nothing.
        changes |= {"polling_state": source_state, "polling_fetch": state.polling_source.fetch}
    elif source_state is not None:
        changes["push_states"] = {**state.push_states, source_state.source_name: source_state}
    return changes


def _execute_transform(state: ChainState, event: model.ExecuteTransform) -> dict[str, Any]:
    positions = {
        i.dataset_id: InputPosition(
            i.new_block_hash or i.prev_block_hash, i.prev_offset if i.new_offset is None else i.new_offset
        )
        for i in event.query_inputs
    }
    return {**_data(state, event), "query_inputs": positions, "is_transform_new": False}


def _disable_push(state: ChainState, event: model.DisablePushSource) -> dict[str, Any]:
    return {"push_sources": {name: s for name, s in state.push_sources.items() if name != event.source_name}}


_CHANGES: dict[str, Callable[[ChainState, Any], dict[str, Any]]] = {
    "AddData": _add_data,
    "ExecuteTransform": _execute_transform,
    "SetPollingSource": lambda _, event: {"polling_source": event, "merge": event.merge},
    "DisablePollingSource": lambda _, event: {"polling_source": None},
    "AddPushSource": lambda state, event: {
        "push_sources": {**state.push_sources, event.source_name: event},
        "merge": event.merge,
    },
    "DisablePushSource": _disable_push,
    "SetTransform": lambda state, event: {"transform": event, "is_transform_new": bool(state.query_inputs)},
    "SetVocab": lambda _, event: {"set_vocab": event},
    "SetDataSchema": lambda _, event: {"schema": event},
    "SetInfo": lambda _, event: {"info": event},
    "SetLicense": lambda _, event: {"license": event},
    "SetAttachments": lambda _, event: {"attachments": event},
}
"""Event -> its changes of the state."""

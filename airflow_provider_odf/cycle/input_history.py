"""Whether the history of a derivative's input still continues what the derivative has read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InputRewritten

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import InputPosition


def check_input(derivative: Dataset, source: Dataset, head: str, position: InputPosition) -> None:
    """Check that the chain of an input, at its block ``head``, contains the block up to which a derivative has read it.

    Only the blocks that are new since then are read.

    :param source: the input.
    :raises InputRewritten: the chain does not contain that block.
    :raises ChainCorrupted: a block of the chain is missing or damaged.
    """
    block_hash = position.block_hash
    if block_hash is None or block_hash == head:
        return
    if source.storage.stat(f"blocks/{block_hash}") is None:
        for _ in source.walk(head):  # If the chain has the block, its file is lost: the walk raises an error with it.
            pass
    elif source.contains(head, block_hash):
        return
    command = derivative.command("reset", "{}")
    raise InputRewritten(
        f"the history of the input {source.alias} was rewritten: it no longer contains the block {block_hash}, up to "
        f"which {derivative.alias} was computed. {source.alias} was reset, replaced or restored from an older copy: "
        f"restore the history of {source.alias} that has this block, or run `{command}` to compute {derivative.alias} "
        "anew from the present one"
    )

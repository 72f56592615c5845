"""The block of a dataset's history that a user names by a time or a hash."""

from __future__ import annotations

import re
from datetime import datetime

from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.publications import published_history
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock

_HASH = re.compile("f[0-9a-f]*")
_SHOWN = 13
"""Characters of a hash that ``odf log`` shows in a table."""


def block_as_of(dataset: Dataset, as_of: str | datetime, argument: str = "as of") -> str:
    """Return the hash of the newest block that could be read at a time, see `publications`, or of the block of a hash.

    :param as_of: a time as datetime or in RFC 3339, or the hash of a block, or the start of it.
    :param argument: name of the value in messages.
    :raises InvalidInput: it is none of these, or the history has no such block, or several.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    head = dataset.resolve(HEAD)
    if isinstance(as_of, str) and _HASH.fullmatch(as_of):
        return _named(dataset, head, as_of)
    return _newest(dataset, head, _instant(as_of, argument))


def is_before_history(dataset: Dataset, time: str | datetime, argument: str) -> bool:
    """Return whether a dataset could not be read yet at a time, or text of a time; False for a hash.

    :raises InvalidInput: neither a time nor a hash.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    if isinstance(time, str) and _HASH.fullmatch(time):
        return False
    return _newest_at(dataset, HEAD, _instant(time, argument)) is None


def last_offset_at(dataset: Dataset, block_hash: str) -> int | None:
    """Return the last offset of the history up to a block, None before the first data.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    for _, block in dataset.walk(block_hash):
        if isinstance(block.event, model.AddData | model.ExecuteTransform):
            new = block.event.new_data
            return new.offset_interval.end if new is not None else block.event.prev_offset
    return None


def data_as_of(dataset: Dataset, as_of: str | datetime) -> str:
    """Return the hash of the block of `block_as_of`, whose rows can be shown.

    :raises InvalidInput: as there, or the dataset had no data yet at that block.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    block_hash = block_as_of(dataset, as_of)
    if any(_has_data(block) for _, block in dataset.walk(block_hash)):
        return block_hash
    first = [(current, block) for current, block in dataset.walk() if _has_data(block)][-1:]
    then = "".join(
        f": its first data are in block {current} of {_published(dataset, block)}" for current, block in first
    )
    raise InvalidInput(f"dataset {dataset.alias} has no data yet as of {as_of}, block {block_hash}{then}")


def _has_data(block: MetadataBlock) -> bool:
    event = block.event
    if isinstance(event, model.AddData):
        return event.new_data is not None or event.prev_offset is not None
    return isinstance(event, model.ExecuteTransform)  # A query without rows has a result too.


def _instant(as_of: str | datetime, argument: str) -> Instant:
    try:
        return Instant.from_datetime(as_of) if isinstance(as_of, datetime) else Instant.parse(as_of)
    except ValueError as e:
        also = "" if isinstance(as_of, datetime) else ", nor the hash of a block (f1620…)"
        raise InvalidInput(f"{argument}: {e}{also}") from None


def _newest(dataset: Dataset, head: str, time: Instant) -> str:
    found = _newest_at(dataset, head, time)
    if found is not None:
        return found
    *_, (_, first) = dataset.walk(head)
    raise InvalidInput(
        f"dataset {dataset.alias} has no history as of {time}: its first block is of {_published(dataset, first)}"
    )


def _newest_at(dataset: Dataset, ref: str, time: Instant) -> str | None:
    history = published_history(dataset, ref)
    number = history.newest_at(time, lambda number: dataset.block(history.hashes[number]).system_time)
    return history.hashes[number] if number is not None else None


def _published(dataset: Dataset, block: MetadataBlock) -> Instant:
    return published_history(dataset, HEAD).since(block.sequence_number, block.system_time)


def _named(dataset: Dataset, head: str, start: str) -> str:
    stored = [name for name in dataset.storage.names("blocks") if name.startswith(start)]
    blocks = [name for name in stored if dataset.contains(head, name)]
    if len(blocks) == 1:
        return blocks[0]
    if blocks:
        known = ", ".join(name[: max(_SHOWN, len(start) + 1)] for name in blocks[:3])
        raise InvalidInput(
            f"dataset {dataset.alias} has {len(blocks)} blocks whose hash starts with {start}, such as {known}: "
            "give more of the hash"
        )
    if len(stored) == 1:
        raise InvalidInput(
            f"dataset {dataset.alias}: block {stored[0]} is not in the history of its head: it belongs to a candidate "
            f"or to an earlier history; to show the dataset as of that block: `--ref {stored[0]}`"
        )
    command = dataset.command("log", "{}")
    raise DatasetNotFound(f"dataset {dataset.alias} has no block {start}: `{command}` lists its blocks")

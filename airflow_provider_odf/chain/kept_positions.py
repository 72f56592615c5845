"""Time and last offset of each block of a chain, kept in a file beside that of `kept_history`.

A time or a block is then found among 10,000 without reading them again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.kept_history import pages_folder
from airflow_provider_odf.chain.publications import PublishedHistory, of_blocks
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock

_FILE, _FORMAT = "positions", "positions 1"
_HASH = re.compile("f[0-9a-f]*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Positions:
    """Blocks of a chain, oldest first: their hashes, system times in RFC 3339, and the last offset of the history up to
    each, -1 before the first data; and when they were published."""

    hashes: Sequence[str]
    times: Sequence[str]
    offsets: Sequence[int]
    published: PublishedHistory

    def since(self, number: int) -> Instant:
        """Return the time from which a block could be read."""
        return self.published.since(number, Instant.parse(self.times[number]))

    def after(self, text: str, argument: str) -> int:
        """Return the last offset before a range that begins at a block or time: a date is its midnight in UTC.

        :raises InvalidInput: the text is no time, date or block.
        :raises DatasetNotFound: there is no such block.
        """
        at = self._before(_moment(text, argument)) if _is_time(text) else self._block(text, argument)
        return self.offsets[at] if at >= 0 else -1

    def until(self, text: str, argument: str) -> int:
        """Return the last offset of a range that ends with a block or time: a date is the whole day in UTC. It raises
        as `after`."""
        if _DATE.fullmatch(text):
            at = self._before(_moment(text, argument).plus_ns(86_400_000_000_000 - 1))
            return self.offsets[at] if at >= 0 else -1
        return self.after(text, argument)

    def _before(self, time: Instant) -> int:
        """Return the place of the newest block that could be read at a time, -1 if there is none."""
        number = self.published.newest_at(time, lambda number: Instant.parse(self.times[number]))
        return number if number is not None else -1

    def _block(self, start: str, argument: str) -> int:
        if not _HASH.fullmatch(start):
            raise InvalidInput(f"{argument}: {start!r} is neither a date, a time (2026-05-01T12:00:00Z) nor a block")
        found = [n for n, block_hash in enumerate(self.hashes) if block_hash.startswith(start)]
        if len(found) > 1:
            raise InvalidInput(f"{argument}: {len(found)} blocks start with {start}: give more of the hash")
        if not found:
            raise DatasetNotFound(f"{argument}: the history has no block {start}")
        return found[0]


def read_positions(dataset: Dataset, head: str, work_area: Path) -> Positions:
    """Return the blocks up to a head, from the file and the blocks after it.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    folder = pages_folder(dataset, work_area)
    kept = _read(folder)
    if not kept.hashes or kept.hashes[-1] != head:
        kept = _read_on(dataset, head, kept)
        if cache_file.make_folder(work_area, folder):
            cache_file.write(folder / _FILE, _FORMAT, json.dumps(vars(kept)).encode())
    return Positions(**vars(kept), published=of_blocks(dataset, kept.hashes))


@dataclass(frozen=True)
class _Kept:
    """What the file has of `Positions`."""

    hashes: Sequence[str]
    times: Sequence[str]
    offsets: Sequence[int]


def _read_on(dataset: Dataset, head: str, kept: _Kept) -> _Kept:
    known = {block_hash: n for n, block_hash in enumerate(kept.hashes)}
    new: list[tuple[str, MetadataBlock]] = []
    end = 0
    for block_hash, block in dataset.walk(head):
        if block_hash in known:
            end = known[block_hash] + 1
            break
        new.append((block_hash, block))
    return _extended(kept, end, new[::-1])


def _extended(kept: _Kept, end: int, blocks: Sequence[tuple[str, MetadataBlock]]) -> _Kept:
    hashes, times, offsets = list(kept.hashes[:end]), list(kept.times[:end]), list(kept.offsets[:end])
    for block_hash, block in blocks:
        new = block.event.new_data if isinstance(block.event, model.AddData | model.ExecuteTransform) else None
        hashes.append(block_hash)
        times.append(str(block.system_time))
        offsets.append(new.offset_interval.end if new is not None else offsets[-1] if offsets else -1)
    return _Kept(hashes, times, offsets)


def _read(folder: Path) -> _Kept:
    content = cache_file.read(folder / _FILE, _FORMAT)
    return _Kept(**json.loads(content)) if content is not None else _Kept((), (), ())


def _is_time(text: str) -> bool:
    return text[:1].isdigit()


def _moment(text: str, argument: str) -> Instant:
    try:
        if _DATE.fullmatch(text):
            return Instant.from_datetime(datetime.combine(date.fromisoformat(text), datetime.min.time(), timezone.utc))
        return Instant.parse(text)
    except ValueError as e:
        raise InvalidInput(f"{argument}: {e}") from None

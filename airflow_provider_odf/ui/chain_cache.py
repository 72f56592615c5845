"""What pages keep of a dataset's chain in files, so that a chain of 10,000 blocks is not read for each page.

The files lie in ``.pages`` of the work area, which only readers use: they may be other users of the machine than the
writers of the dataset. They can be deleted at any time. Each has the hash of its content, and the blocks that it stands
for: blocks after them are read and checked, and a chain that no longer has these blocks is read from its seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.publications import PublishedHistory, of_blocks
from airflow_provider_odf.chain.replay import blocks_after, extend
from airflow_provider_odf.chain.state import CachedSlices, ChainState, slice_lines
from airflow_provider_odf.cycle.held_back import HEADERS
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, OdfError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock

FOLDER = ".pages"
_HASH = re.compile("f[0-9a-f]*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

T = TypeVar("T")


class PageCache(Generic[T]):
    """Files of one name and format, with a value each. One that is missing or damaged has no value."""

    def __init__(self, name: str, version: int, kind: Any) -> None:
        self._name, self._format, self._kind = name, f"{name} {version}", kind

    def read(self, folder: Path) -> T | None:
        content = cache_file.read(folder / self._name, self._format)
        try:
            return self._load(content) if content is not None else None
        except (OdfError, ValueError):
            return None

    def write(self, folder: Path, value: T) -> None:
        """Write the file, if this process may. The folder exists."""
        cache_file.write(folder / self._name, self._format, self._dump(value))

    def _load(self, content: bytes) -> T:
        return self._adapter.validate_json(content)

    def _dump(self, value: T) -> bytes:
        return self._adapter.dump_json(value)

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._kind)


def pages_folder(dataset: Dataset, work_area: Path) -> Path:
    """Return the folder of what pages keep about a dataset. It may not exist."""
    name = f"{str(dataset.alias).lower().replace('/', '+')}-{sha256(dataset.uri.encode()).hexdigest()[:16]}"
    return work_area / FOLDER / name


@dataclass(frozen=True)
class SchemaBlock:
    """A block that set the schema."""

    block_hash: str
    system_time: Instant
    event: model.SetDataSchema


@dataclass(frozen=True)
class History:
    """State of a chain at its head, and the blocks that set its schema."""

    state: ChainState
    schemas: tuple[SchemaBlock, ...] = ()
    headers: tuple[str, ...] = ()
    """Hashes of the blocks with a file about headers by position, oldest first."""


class _HistoryCache(PageCache[History]):
    """Histories as JSON in one line, and a line for each slice: most pages need none of 10,000."""

    def _load(self, content: bytes) -> History:
        text, _, slices = content.partition(b"\n")
        history = super()._load(text)
        return replace(history, state=replace(history.state, slices=CachedSlices(slices)))

    def _dump(self, value: History) -> bytes:
        text = super()._dump(replace(value, state=replace(value.state, slices=())))
        return text + b"\n" + slice_lines(value.state.slices)


_HISTORIES = _HistoryCache("history", 3, History)


def read_history(dataset: Dataset, work_area: Path) -> History:
    """Return the history at the head, from its file and the blocks after it.

    :raises DatasetNotFound: the dataset has no head.
    :raises ChainCorrupted: a block is missing, damaged, or violates a rule.
    """
    folder = pages_folder(dataset, work_area)
    cached = _HISTORIES.read(folder)
    blocks, is_continued = blocks_after(dataset, cached.state.head if cached is not None else None)
    if cached is not None and not blocks:
        return cached
    history = _extended_history(dataset, cached if is_continued else None, blocks)
    if cache_file.make_folder(work_area, folder):
        _HISTORIES.write(folder, history)
        if (before := _positions_at(folder, blocks[0][1].prev_block_hash)) is not None:
            _POSITIONS.write(folder, _with_blocks(before, blocks))
    return history


def _extended_history(dataset: Dataset, base: History | None, blocks: Sequence[tuple[str, MetadataBlock]]) -> History:
    state = extend(dataset, base.state if base is not None else None, blocks)
    history = replace(base, state=state) if base is not None else History(state)
    schemas = [
        SchemaBlock(block_hash, block.system_time, block.event)
        for block_hash, block in blocks
        if isinstance(block.event, model.SetDataSchema)
    ]
    positional = {name.removesuffix(".json") for name in dataset.storage.names(f"info/{HEADERS}")}
    headers = [block_hash for block_hash, _ in blocks if block_hash in positional]
    return replace(history, schemas=(*history.schemas, *schemas), headers=(*history.headers, *headers))


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
        at = self._before(moment_of(text, argument)) if text[:1].isdigit() else self._block(text, argument)
        return self.offsets[at] if at >= 0 else -1

    def until(self, text: str, argument: str) -> int:
        """Return the last offset of a range that ends with a block or time: a date is the whole day in UTC. It raises
        as `after`."""
        if _DATE.fullmatch(text):
            at = self._before(moment_of(text, argument).plus_ns(86_400_000_000_000 - 1))
            return self.offsets[at] if at >= 0 else -1
        return self.after(text, argument)

    def _before(self, time: Instant) -> int:
        """Return the place of the newest block that could be read at a time, -1 if there is none."""
        number = self.published.newest_at(time, lambda number: Instant.parse(self.times[number]))
        return number if number is not None else -1

    def _block(self, start: str, argument: str) -> int:
        if not _HASH.fullmatch(start):
            raise InvalidInput(f"{argument}: {start!r} is neither a date, a time (2026-05-01T12:00:00Z) nor a block")
        matches = [n for n, block_hash in enumerate(self.hashes) if block_hash.startswith(start)]
        if len(matches) > 1:
            raise InvalidInput(f"{argument}: {len(matches)} blocks start with {start}: give more of the hash")
        if not matches:
            raise DatasetNotFound(f"{argument}: the history has no block {start}")
        return matches[0]


_POSITIONS = PageCache[list[tuple[str, str, int]]]("positions", 2, list[tuple[str, str, int]])
"""Hash, system time and last offset of each block."""


def read_positions(dataset: Dataset, head: str, work_area: Path) -> Positions:
    """Return the blocks up to a head, from the file and the blocks after it.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    folder = pages_folder(dataset, work_area)
    blocks = _POSITIONS.read(folder) or []
    if not blocks or blocks[-1][0] != head:
        blocks = _read_on(dataset, head, blocks)
        if cache_file.make_folder(work_area, folder):
            _POSITIONS.write(folder, blocks)
    hashes = [block_hash for block_hash, _, _ in blocks]
    return Positions(hashes, [time for _, time, _ in blocks], [last for *_, last in blocks], of_blocks(dataset, hashes))


def _read_on(dataset: Dataset, head: str, cached: Sequence[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    known = {block_hash: n for n, (block_hash, *_) in enumerate(cached)}
    new: list[tuple[str, MetadataBlock]] = []
    end = 0
    for block_hash, block in dataset.walk(head):
        if block_hash in known:
            end = known[block_hash] + 1
            break
        new.append((block_hash, block))
    return _with_blocks(cached[:end], new[::-1])


def _positions_at(folder: Path, block_hash: str | None) -> list[tuple[str, str, int]] | None:
    """Return the cached blocks up to one; none if there is no block, None if they do not have it."""
    if block_hash is None:
        return []
    cached = _POSITIONS.read(folder) or []
    at = next((n for n in reversed(range(len(cached))) if cached[n][0] == block_hash), None)
    return cached[: at + 1] if at is not None else None


def _with_blocks(
    known: Sequence[tuple[str, str, int]], new: Iterable[tuple[str, MetadataBlock]]
) -> list[tuple[str, str, int]]:
    """Return blocks followed by others, oldest first."""
    blocks = list(known)
    for block_hash, block in new:
        data = block.event.new_data if isinstance(block.event, model.AddData | model.ExecuteTransform) else None
        last = data.offset_interval.end if data is not None else blocks[-1][2] if blocks else -1
        blocks.append((block_hash, str(block.system_time), last))
    return blocks


def moment_of(text: str, argument: str) -> Instant:
    """Return a time in RFC 3339, or the midnight in UTC of a date.

    :raises InvalidInput: the text is neither.
    """
    try:
        if _DATE.fullmatch(text):
            return Instant.from_datetime(datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC))
        return Instant.parse(text)
    except ValueError as e:
        raise InvalidInput(f"{argument}: {e}") from None

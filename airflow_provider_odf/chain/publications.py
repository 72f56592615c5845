"""When the blocks of a dataset were published, by whom and why, and which block a user names by a time or a hash.

A publication is a file, ``info/publications/TIME.FIRST-LAST.BLOCK_HASH.json``.

A block has the time of its merge. Readers see it once ``head`` has moved to it or to a later block, which may be days
after. So a publication is recorded just before ``head`` moves to its newest block. The name of a file has the time and
the numbers of the blocks that became readable, so that a listing is an index and 10,000 files are not read for a time.

A file counts if the history has its block, and the last of several about one block: a writer that is killed before
``head`` moves leaves a file that means nothing, or that its retry follows. Files are sealed, see `info_files`, and a
damaged one counts as missing. Blocks of no file, such as those of other tools, count with their own time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import info_files
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.replay import block_hashes
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.manifest.model import MetadataBlock


FOLDER = "publications"

PUBLISHED, ACCEPTED, ANYWAY = "published", "accepted", "published anyway"
"""Decisions: by the rules; an input that a person accepted after its rejection; a rejected candidate that a person
published as it was."""

_HASH = re.compile("f[0-9a-f]*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAY_NS = 86_400_000_000_000
_SHOWN = 13
"""Characters of a hash that ``odf log`` shows in a table."""

_NAME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)\.(\d{9})Z\.(\d+)-(\d+)\.(f1620[0-9a-f]{64})")


@dataclass(frozen=True)
class Publication:
    """A move of ``head`` from the block ``base``, or None if it was the first, to ``block_hash``."""

    block_hash: str
    time: Instant
    decision: str
    author: Author
    base: str | None = None


def publication_words(time: object, decision: str, author: Author) -> str:
    """Return when something was published, by which decision, by whom, in which run and why, in one line."""
    said = [decision] if decision != PUBLISHED else []
    words = [str(time), *said, *([f"by {author.who}"] if author.who else []), author.run_name]
    return ", ".join(filter(None, words)) + (f": {author.reason}" if author.reason else "")


@dataclass(frozen=True)
class NewestData:
    """The newest block of data of a history: its number, its own time, and since when it can be read. The publication
    is None if none is recorded."""

    block_hash: str
    number: int
    merged: Instant
    published: Instant
    publication: Publication | None


@dataclass(frozen=True, order=True)
class Entry:
    """What the name of a file says: blocks ``first`` to ``last`` of a history became readable at a time."""

    time: Instant
    first: int
    last: int
    block_hash: str

    @property
    def name(self) -> str:
        """Name of the file, without its suffix."""
        moment = self.time.to_datetime().replace(microsecond=0, tzinfo=None).isoformat()
        text = re.sub("[-:]", "", moment)
        return f"{text}.{self.time.nanosecond:09}Z.{self.first}-{self.last}.{self.block_hash}"

    @classmethod
    def parse(cls, name: str) -> Entry | None:
        """Return the entry of a name without suffix, or None if it is none."""
        if (match := _NAME.fullmatch(name)) is None:
            return None
        year, month, day, hour, minute, second, fraction, first, last, block_hash = match.groups()
        try:
            time = Instant.parse(f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}Z")
        except ValueError:
            return None
        return cls(time, int(first), int(last), block_hash)


@dataclass(frozen=True)
class PublishedHistory:
    """The blocks of a history, oldest first, and the publications that made them readable, by number."""

    dataset: Dataset
    hashes: Sequence[str]
    entries: Sequence[Entry]

    def since(self, number: int, system_time: Instant) -> Instant:
        """Return the time from which a block could be read: that of its publication, else its own, and never before
        that of an earlier block."""
        known = bisect_right(self._firsts, number)
        return max(system_time, self._latest[known - 1]) if known else system_time

    def entry(self, number: int) -> Entry | None:
        """Return the publication that made a block readable, or None if none is recorded."""
        at = bisect_left(self.entries, number, key=lambda entry: entry.last)
        return self.entries[at] if at < len(self.entries) and self.entries[at].first <= number else None

    def newest_at(self, time: Instant, system_time: Callable[[int], Instant]) -> int | None:
        """Return the number of the newest block that could be read at a time, or None if there was none.

        :param system_time: returns the own time of the block of a number.
        """
        later = next((entry for entry in self.entries if entry.time > time), None)
        end = later.first if later is not None else len(self.hashes)
        at = bisect_right(range(end), time, key=system_time) - 1
        for used in (later, self.entry(at) if at >= 0 else None):
            if used is not None and read(self.dataset, used) is None:
                return self._without(used).newest_at(time, system_time)
        return at if at >= 0 else None

    def _without(self, damaged: Entry) -> PublishedHistory:
        return PublishedHistory(self.dataset, self.hashes, [e for e in self.entries if e is not damaged])

    @cached_property
    def _firsts(self) -> list[int]:
        return [entry.first for entry in self.entries]

    @cached_property
    def _latest(self) -> list[Instant]:
        return list(accumulate((entry.time for entry in self.entries), max))


def published_history(dataset: Dataset, ref: str) -> PublishedHistory:
    """Return the history up to a ref or block.

    :raises DatasetNotFound: there is no such ref.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    return of_blocks(dataset, block_hashes(dataset, ref))


def of_blocks(dataset: Dataset, hashes: Sequence[str]) -> PublishedHistory:
    """Return the history of blocks from the seed on."""
    newest: dict[int, Entry] = {}
    for entry in entries(dataset):
        if entry.last < len(hashes) and hashes[entry.last] == entry.block_hash:
            newest[entry.last] = entry
    return PublishedHistory(dataset, hashes, [newest[number] for number in sorted(newest)])


def newest_data(dataset: Dataset, ref: str = HEAD, history: PublishedHistory | None = None) -> NewestData | None:
    """Return the newest block of data up to a ref, or None before the first one.

    :param history: the history up to the ref, if it was just read.
    :raises DatasetNotFound: there is no such ref.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    for block_hash, block in dataset.data_blocks(ref):
        return published_data(history or published_history(dataset, ref), block_hash, block)
    return None


def published_data(history: PublishedHistory, block_hash: str, block: MetadataBlock) -> NewestData:
    """Return when a block of a history was published, and by whom."""
    number, entry = block.sequence_number, history.entry(block.sequence_number)
    publication = read(history.dataset, entry) if entry is not None else None
    return NewestData(block_hash, number, block.system_time, history.since(number, block.system_time), publication)


def newest(history: PublishedHistory, most: int, before: int | None = None) -> list[tuple[Entry, Publication | None]]:
    """Return the newest publications of a history, newest first; the file of the second part is read, None if damaged.

    :param before: number of a block: only publications of earlier blocks.
    """
    known = [entry for entry in history.entries if before is None or entry.last < before]
    return [(entry, read(history.dataset, entry)) for entry in known[: -most - 1 : -1]]


def entries(dataset: Dataset) -> Iterable[Entry]:
    """Yield what the names of all files say, oldest first."""
    for name in info_files.names(dataset, FOLDER):
        if (entry := Entry.parse(name)) is not None:
            yield entry


def read(dataset: Dataset, entry: Entry) -> Publication | None:
    """Return the publication of an entry, or None if its file is missing or damaged."""
    content = info_files.get(dataset, FOLDER, entry.block_hash, entry.name)
    if content is None or content.get("name") != entry.name:
        return None
    author = protocol.from_json(Author, content["author"])
    return Publication(entry.block_hash, entry.time, content["decision"], author, content.get("base"))


def record(dataset: Dataset, publication: Publication) -> Entry:
    """Write the file of a publication that is about to happen, and return its entry. Its time is not before that of its
    block; a reader takes the latest one up to a block, see `PublishedHistory.since`. Only the new blocks are read, and
    no other files about them: a list of 10,000 takes ten requests to an object store."""
    new = [block := dataset.block(publication.block_hash)]
    while block.prev_block_hash not in (publication.base, None):
        new.append(block := dataset.block(block.prev_block_hash))
    first = block.sequence_number
    time = max(publication.time, new[0].system_time)
    entry = Entry(time, first, new[0].sequence_number, publication.block_hash)
    content = {
        "name": entry.name,
        "time": str(time),
        "decision": publication.decision,
        "author": protocol.to_json(publication.author),
        **({"base": publication.base} if publication.base is not None else {}),
    }
    info_files.put(dataset, FOLDER, publication.block_hash, content, entry.name)
    dataset.storage.sync("info")  # which has the folder
    return entry


def withdraw(dataset: Dataset, entry: Entry) -> None:
    """Remove the file of a publication that did not happen."""
    info_files.remove(dataset, FOLDER, entry.name)


def block_as_of(dataset: Dataset, as_of: str | date, argument: str = "as of") -> str:
    """Return the hash of the newest block that could be read at a time, see `publications`, or of the block of a hash.

    :param as_of: a time as datetime or in RFC 3339; a date, also as text, for the end of that day in UTC; or the hash
        of a block, or the start of it.
    :param argument: name of the value in messages; a date that is ``since`` is the beginning of its day.
    :raises InvalidInput: it is none of these, or the history has no such block, or several.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    head = dataset.resolve(HEAD)
    time = time_of(as_of, argument)
    return _named(dataset, head, str(as_of)) if time is None else _newest(dataset, head, time)


def is_before_history(dataset: Dataset, time: str | date, argument: str) -> bool:
    """Return whether a dataset could not be read yet at a time, or text of a time; False for a hash.

    :raises InvalidInput: neither a time nor a hash.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    instant = time_of(time, argument)
    return instant is not None and _newest_at(dataset, HEAD, instant) is None


def last_offset_at(dataset: Dataset, block_hash: str) -> int | None:
    """Return the last offset of the history up to a block, None before the first data.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    for _, block in dataset.walk(block_hash):
        if isinstance(block.event, model.AddData | model.ExecuteTransform):
            new = block.event.new_data
            return new.offset_interval.end if new is not None else block.event.prev_offset
    return None


def data_as_of(dataset: Dataset, as_of: str | date) -> str:
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


def time_of(as_of: str | date, argument: str) -> Instant | None:
    """Return the time that a value names; None for the hash of a block, or the start of it.

    :param argument: name of the value in messages; a date that is ``since`` is the beginning of its day, else its end.
    :raises InvalidInput: neither a time nor a hash.
    """
    if isinstance(as_of, str) and _HASH.fullmatch(as_of):
        return None
    if not isinstance(as_of, str | date):
        raise InvalidInput(f"{argument}: {as_of!r:.80} is {_NO_POSITION}")
    try:
        if isinstance(as_of, str) and _DATE.fullmatch(as_of):
            as_of = date.fromisoformat(as_of)
        if isinstance(as_of, date) and not isinstance(as_of, datetime):
            day = Instant.from_datetime(datetime.combine(as_of, datetime.min.time(), UTC))
            return day if argument == "since" else day.plus_ns(_DAY_NS - 1)
        return Instant.parse(as_of) if isinstance(as_of, str) else Instant.from_datetime(as_of)
    except ValueError as e:
        if not isinstance(as_of, str):
            raise InvalidInput(f"{argument}: {e}") from None
        raise InvalidInput(f"{argument}: {as_of!r} is {_NO_POSITION}{_advice(as_of)}") from None


_NO_POSITION = "no date (2026-05-01), no time with a zone (2026-05-01T08:00:00Z) and no hash of a block (f1620…)"


def _advice(text: str) -> str:
    """Return what a text may have meant: a date without dashes or zeros, a time without its zone."""
    parts = re.fullmatch(r"(\d{4})(-?)(\d{1,2})\2(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}))?Z?)?", text.strip())
    if parts is None or not (parts[2] or len(parts[3]) == len(parts[4]) == 2):  # 202611 has no day
        return ""
    year, month, day, hour, minute, second = (int(parts[n] or 0) for n in (1, 3, 4, 5, 6, 7))
    with suppress(ValueError):
        moment = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a zone is what it lacks
        return f": did you mean {moment.isoformat()}Z?" if parts[5] else f": did you mean {moment.date()}?"
    return ""


def _newest(dataset: Dataset, head: str, time: Instant) -> str:
    found = _newest_at(dataset, head, time)
    if found is not None:
        return found
    *_, (_, first) = dataset.walk(head)
    raise InvalidInput(
        f"dataset {dataset.alias} has no history as of {time}: its first block was published at "
        f"{_published(dataset, first)}"
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
            f"or to an earlier history; `odf state`, `tail` and `log` show it with `--ref {stored[0]}`"
        )
    command = dataset.command("log", "{}")
    raise DatasetNotFound(f"dataset {dataset.alias} has no block {start}: `{command}` lists its blocks")

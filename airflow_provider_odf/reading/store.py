"""``open_store``: the datasets of a store for Python programs, with the current rows, the history and the changes of
each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.publications import block_as_of, data_as_of, is_before_history, last_offset_at
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan

Position: TypeAlias = "str | datetime | int"
"""A place in a history: a block by its hash or the start of it, a system time as datetime or in RFC 3339, or an
offset."""


@dataclass(frozen=True)
class PublishedDataset:
    """A dataset of a store. Each method reads the chain anew; what it returns does not change afterwards."""

    _dataset: Dataset = field(repr=False)

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return str(self._dataset.alias)

    @property
    def uri(self) -> str:
        """URI of the dataset's folder, which is its Airflow asset."""
        return self._dataset.uri

    @property
    def head(self) -> str:
        """Hash of the newest published block."""
        return self._dataset.resolve(HEAD)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the history, empty before they are known."""
        return self.history().schema

    def current(self) -> CurrentScan:
        """Return the current rows, as ``odf state`` shows them: without the columns of offset and operation, sorted
        by key.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        return CurrentScan(self._dataset, replay(self._dataset))

    def as_of(self, point: str | datetime) -> CurrentScan:
        """Return the rows that were current at a block or a system time.

        :param point: a system time, as datetime with time zone or in RFC 3339, for the newest block that is not after
            it; or the hash of a block, or the start of it.
        :raises InvalidInput: ``point`` is none of these, or the dataset had no data yet.
        :raises DatasetNotFound: the dataset has no such block.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        return CurrentScan(self._dataset, replay(self._dataset, data_as_of(self._dataset, point)))

    def history(self) -> HistoryScan:
        """Return all records, in the order of offsets. The operation is a number: 0 is ``+A``, 1 ``-R``, 2 ``-C`` and
        3 ``+C``.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        return HistoryScan(self._dataset, replay(self._dataset))

    def changes(self, since: Position | None = None, until: Position | None = None) -> HistoryScan:
        """Return the records after ``since`` up to and including ``until``, in the order of offsets.

        Keep ``Scan.block`` of the result, and pass it as ``since`` the next time, to read each record once.

        :param since: a block by its hash or the start of it, a system time as datetime or in RFC 3339, or an offset. By
            default the records begin with the first one.
        :param until: likewise, by default the newest block.
        :raises InvalidInput: not such a position, not in the history, or ``until`` is before ``since``.
        :raises DatasetNotFound: the dataset has no such block.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        after = self._since(since)
        block = HEAD if until is None or _offset(until) is not None else self._block(until, "until")
        state = replay(self._dataset, block)
        newest = -1 if state.last_offset is None else state.last_offset
        if after > newest and until is None:
            raise self._beyond("since", after, newest)
        last = newest if until is None else _offset(until)
        if last is not None and last > newest:
            raise self._beyond("until", last, newest)
        last = newest if last is None else last
        if last < after:
            raise InvalidInput(f"dataset {self.name}: until {until} is before since {since}: swap the two")
        offsets = OffsetRange(state.vocab.offset_column, after + 1, last)
        return HistoryScan(self._dataset, state, offsets=offsets)

    def _since(self, since: Position | None) -> int:
        """Return the offset before the first one to read."""
        if since is None:
            return -1
        offset = _offset(since)
        if offset is not None:
            return offset
        assert not isinstance(since, int)  # noqa: S101 - an offset is returned above
        if is_before_history(self._dataset, since, "since"):
            return -1
        last = last_offset_at(self._dataset, self._block(since, "since"))
        return -1 if last is None else last

    def _block(self, point: Position, argument: str) -> str:
        assert not isinstance(point, int)  # noqa: S101 - offsets are no blocks
        return block_as_of(self._dataset, point, argument)

    def _beyond(self, argument: str, offset: int, newest: int) -> InvalidInput:
        has = f"its newest offset is {newest}" if newest >= 0 else "it has no data yet"
        return InvalidInput(
            f"dataset {self.name}: {argument} is offset {offset}, but {has}: if the dataset was reset, "
            "read it from the beginning"
        )


def _offset(position: Position) -> int | None:
    """Return a position that is an offset, also as text, as a number."""
    if isinstance(position, bool) or (isinstance(position, int) and position < -1):
        raise InvalidInput(f"{position!r} is not an offset: offsets are 0 or more, -1 is before the first one")
    if isinstance(position, str) and position.isascii() and position.removeprefix("-").isdigit():
        return _offset(int(position))
    return position if isinstance(position, int) else None


class PublishedStore:
    """The datasets of a store by name: ``store["acme.scooters"]`` is one of them, and iteration yields all names."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def uri(self) -> str:
        """URI of the store."""
        return self._store.uri

    def __getitem__(self, name: str) -> PublishedDataset:
        """Return the dataset of a name, ignoring case.

        :raises DatasetNotFound: the store has no such dataset.
        :raises DatasetGone: the store had the dataset, but it is missing.
        :raises InvalidInput: not a name of a dataset.
        """
        return PublishedDataset(self._store.dataset(name))

    def __iter__(self) -> Iterator[str]:
        return (str(dataset.alias) for dataset in self._store.datasets())

    def __len__(self) -> int:
        return sum(1 for _ in self._store.datasets())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._store.get(name) is not None

    def __repr__(self) -> str:
        return f"open_store({self._store.location!r})"


def open_store(uri: str | os.PathLike[str], *, work_area: str | os.PathLike[str] | None = None) -> PublishedStore:
    """Return the datasets of a store::

        scooters = open_store("file:///data/odf")["acme.scooters"]
        scooters.current().to_pandas()
        scooters.changes(since="2026-05-01T00:00:00Z").to_arrow()

    Only published data is visible.

    :param uri: path or ``file:`` URI of the store.
    :param work_area: folder of disposable caches, by default ``.work`` in the store. It need not be writable.
    :raises InvalidInput: there is no such folder, or the URI has an unknown scheme.
    """
    store = Store.open(os.fspath(uri), Path(work_area) if work_area is not None else None)
    if not store.storage.exists():
        raise InvalidInput(f"no such folder: {store.location} (check the path of the store, and that it is mounted)")
    return PublishedStore(store)

"""Copies of datasets between stores: files first and ``head`` last, each compared with its hash while it is copied.

Nothing of a copy can be seen before ``head`` moves, by compare-and-set. Files have their final names before, so after
an interruption the next copy takes only what is missing. A copy that has an earlier block of the same history gets the
blocks after it; one with another history is refused.

What is copied is what belongs to the history up to ``head``: blocks, slices and checkpoints, and the files about these
blocks, such as publications and reports. Candidates, other refs and caches stay.

A copy is read-only until `promote`: its file ``info/copy-of`` has the location of the original.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeAlias
from urllib.parse import unquote

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import info_files, slices
from airflow_provider_odf.chain.dataset import HEAD, ORIGIN, Dataset
from airflow_provider_odf.chain.replay import block_hashes, extend, replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.messages import Progress, silent
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import (
    ChainCorrupted,
    ChainError,
    CommitConflict,
    DatasetGone,
    DatasetNotFound,
    InvalidInput,
    OdfError,
)
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock
from airflow_provider_odf.manifest.names import DatasetAlias, is_alias
from airflow_provider_odf.source import transfer, work_area
from airflow_provider_odf.source.options import megabytes
from airflow_provider_odf.wording import counted

_AT_ONCE = 8
"""Files that are copied at once."""
_QUEUE, _TOLD = 64, 200
"""Blocks that wait to be written, and between two messages."""
_PIECE = 1 << 20

Part: TypeAlias = model.DataSlice | model.Checkpoint


@dataclass(frozen=True)
class Copied:
    """What a copy added: numbers of blocks, of files of slices and checkpoints, of their bytes, and of files about
    blocks."""

    dataset: Dataset
    blocks: int = 0
    files: int = 0
    size: int = 0
    infos: int = 0

    def __str__(self) -> str:
        words = [counted(self.blocks, "block")] if self.blocks else []
        words += [f"{counted(self.files, 'data file')} of {megabytes(self.size)}"] if self.files else []
        words += [f"{counted(self.infos, 'file')} about blocks"] if self.infos else []
        return f"copied {', '.join(words)}" if words else "up to date"


def original(location: str) -> Dataset:
    """Return the dataset at a path or URI, with the alias that it says itself, else the name of its folder.

    :raises DatasetNotFound: there is none.
    :raises InvalidInput: it has no name that a dataset may have, or the location is not valid.
    """
    storage = open_storage(location)
    stored = (storage.get("info/alias") or b"").decode("utf-8", "replace").strip()
    name = next(filter(is_alias, (stored, unquote(storage.uri).rpartition("/")[2])), None)
    if storage.get_ref(HEAD) is None:
        raise DatasetNotFound(f"{storage.location()}: no dataset is there (refs/head is missing)")
    return Dataset(DatasetAlias.parse(name or "dataset"), storage)


def copy(
    original: Dataset,
    store: Store,
    alias: DatasetAlias | None = None,
    tell: Progress = silent,
    interval: float | None = None,
) -> Copied:
    """Copy a dataset to a store, or bring its copy there up to date.

    :param alias: the name of the copy, by default that of the original.
    :param interval: seconds between messages of progress, by default those of a log.
    :raises ChainCorrupted: a block or file of the original is missing, or is not what its hash says.
    :raises StorageError: the original cannot be read, or the store cannot be written.
    :raises InvalidInput: the store has another history under this name, or the dataset under another name.
    :raises DatasetGone: the store had another dataset under this name.
    :raises CommitConflict: another writer moved the head of the copy.
    """
    return _Copy(original, store, alias or original.alias, tell, interval).run()


def promote(dataset: Dataset) -> str | None:
    """Let a read-only copy go on by itself. Return what it was a copy of, None if it is none."""
    origin = dataset.origin
    if (info := dataset.storage.stat(ORIGIN)) is not None:
        dataset.storage.remove(ORIGIN, info.modified)
    return origin


class _Copy:
    """One copy of a dataset, whose ``target`` exists or will."""

    def __init__(
        self, original: Dataset, store: Store, alias: DatasetAlias, tell: Progress, interval: float | None
    ) -> None:
        self.original, self.store, self.alias, self.tell, self.interval = original, store, alias, tell, interval
        self.existing = store.get(alias)
        self.target = self.existing or Dataset(alias, store.folder(alias))

    def run(self) -> Copied:
        if (head := self.original.head()) is None:
            raise DatasetNotFound(f"{self.original.location}: no dataset is there (refs/head is missing)")
        base = replay(self.target) if self.existing is not None else None
        if base is not None and self._has(base, head):
            self.target.storage.sync("refs")  # neither did a copy that was killed, nor did it do what follows
            self.store.registry.remember(self.alias, base.dataset_id)
            return Copied(self.target, infos=self._copy_infos(base.head))
        if base is None and self.target.origin is None and self.target.storage.names("data"):
            self.store.check_new(self.alias)
        blocks, written = self._copy_blocks(head, base)
        state = extend(self.original, base, blocks, are_new=True)
        if base is None:
            self._begin(state.dataset_id, written)
        files, size = self._copy_files([part for _, block in blocks for part in _parts(block)])
        infos = self._copy_infos(head)
        for folder in ("blocks", "data", "checkpoints", "info"):  # with files of an earlier copy that was killed
            self.target.storage.sync(folder)
        self._move_head(base.head if base is not None else None, head)
        self.store.registry.remember(self.alias, state.dataset_id)
        return Copied(self.target, len(blocks), files, size, infos)

    def _has(self, base: ChainState, head: str) -> bool:
        """Return whether the copy has the newest block of the original.

        :raises InvalidInput: the copy has as many blocks, and others.
        """
        if head == base.head:
            return True
        if self.original.block(head).sequence_number > base.sequence_number:
            return False
        if head not in block_hashes(self.target, base.head):
            raise self._diverged(base)
        return True

    def _copy_blocks(self, head: str, base: ChainState | None) -> tuple[list[tuple[str, MetadataBlock]], list[str]]:
        """Copy the blocks after ``base``. Return them, oldest first, and the names of the files that are new.

        :raises InvalidInput: the history does not continue ``base``.
        """
        held, known = set(self.target.storage.names("blocks")), base.head if base is not None else None
        blocks, written, puts = list[tuple[str, MetadataBlock]](), list[str](), deque[Future[bool]]()
        block_hash: str | None = head
        with ThreadPoolExecutor(_AT_ONCE, "copy") as pool:
            while block_hash is not None and block_hash != known:
                holder = self.target if block_hash in held else self.original
                data = holder.block_data(block_hash)
                block = holder.decode(block_hash, data)
                if base is not None and block.sequence_number <= base.sequence_number:
                    raise self._diverged(base)
                if holder is self.original:
                    written.append(f"blocks/{block_hash}")
                    puts.append(pool.submit(self.target.storage.put_if_absent, written[-1], data))
                while len(puts) > _QUEUE:
                    puts.popleft().result()
                blocks.append((block_hash, block))
                if len(blocks) % _TOLD == 0:
                    self.tell(f"{self.alias}: {len(blocks):,} of {blocks[0][1].sequence_number + 1:,} blocks")
                block_hash = block.prev_block_hash
            for put in puts:
                put.result()
        return blocks[::-1], written

    def _diverged(self, base: ChainState) -> InvalidInput:
        own = set(block_hashes(self.target, base.head))
        common = next((block.sequence_number + 1 for h, block in self.original.walk() if h in own), 0)
        return InvalidInput(
            f"{self.target.location} has another history than {self.original.location}: they share "
            f"{counted(common, 'block')}. Nothing was changed. To replace it, delete the folder "
            f"{self.target.location} and copy again; to keep it, copy under another name into another store"
        )

    def _begin(self, dataset_id: str, written: Sequence[str]) -> None:
        """Make the folder of a new copy. Its mark says that it is unfinished, and later that it is read-only.

        :raises DatasetGone: the store had another dataset under this name.
        :raises InvalidInput: the store has the dataset under another name.
        """
        try:
            self._check_identity(dataset_id)
        except OdfError:
            for name in written:
                self.target.storage.remove(name, math.inf)
            raise
        self.store.create(self.alias)
        self.store.registry.begin_copy(self.alias)
        self.target.storage.put(ORIGIN, self.original.uri.encode())

    def _check_identity(self, dataset_id: str) -> None:
        entry = self.store.registry.get(self.alias)
        if entry is not None and entry.is_of_another(dataset_id):
            forget = self.target.command("forget", "{}")
            raise DatasetGone(
                f"{self.target.location}: the store had the dataset {entry.dataset_id} under this name, and "
                f"{self.original.location} is {dataset_id}: choose another name with --as, or run `{forget}`"
            )
        for dataset in self.store.datasets():
            with suppress(ChainError):  # a damaged one
                if self.store.id_of(dataset) == dataset_id:
                    raise InvalidInput(
                        f"{self.store.location} has the dataset as {dataset.alias}: to bring it up to date, copy with "
                        f"--as {dataset.alias}"
                    )

    def _copy_files(self, parts: Sequence[Part]) -> tuple[int, int]:
        """Copy the slices and checkpoints that are missing, and return how many, and their bytes."""
        storage = self.target.storage
        held = {i.name: i.size for folder in ("data", "checkpoints") for i in storage.files(folder)} if parts else {}
        missing = {slices.name(part): part for part in parts if held.get(slices.name(part)) != part.size}
        if not missing:
            return 0, 0
        total = sum(part.size for part in missing.values())
        self.tell(f"{self.alias}: copying {counted(len(missing), 'file')}, {megabytes(total)}")
        progress = _Received(transfer.Progress(str(self.alias), self.tell, total, self.interval))
        with work_area.scratch(self.store.scratch(self.alias)) as folder:
            pool = ThreadPoolExecutor(_AT_ONCE, "copy")
            try:
                copies = [pool.submit(self._copy_file, part, folder, progress) for part in missing.values()]
                for done in as_completed(copies):
                    done.result()
            finally:
                progress.is_over = True
                pool.shutdown(cancel_futures=True)
        return len(missing), total

    def _copy_file(self, part: Part, folder: Path, progress: _Received) -> None:
        """Copy a slice or checkpoint to a file here, compare it, and hand it to the store.

        :raises ChainCorrupted: it is not what its block records.
        """
        name, file = slices.name(part), folder / part.physical_hash
        digest, size = hashlib.sha3_256(), 0
        with self.original.storage.open(name) as stream, open(file, "wb") as copy:
            while size <= part.size and not progress.is_over and (piece := stream.read(_PIECE)):
                digest.update(piece)
                size += len(piece)
                with storage_errors(file):
                    copy.write(piece)
                progress.add(len(piece))
        if progress.is_over:
            return
        actual = multiformats.multihash(multiformats.SHA3_256, digest.digest())
        if size != part.size or actual != part.physical_hash:
            what = f"has the hash {actual}" if size == part.size else f"has {size:,} bytes instead of {part.size:,}"
            raise ChainCorrupted(
                f"{self.original.storage.location(name)}: checksum mismatch: the file {what}. The copy is "
                "unchanged: repair the original, then copy again"
            )
        self.target.storage.adopt(name, file)
        file.unlink(missing_ok=True)

    def _copy_infos(self, head: str) -> int:
        """Copy the files about blocks up to ``head`` that are missing, and return how many. An altered one counts as
        missing."""
        storage, history, count = self.original.storage, set[str](), 0
        for folder in (f"info/{name}" for name in storage.folder("info").folders()):
            held = set(self.target.storage.names(folder))
            for name in storage.names(folder):
                block_hash = info_files.block_of(name)
                if name in held or block_hash is None:
                    continue
                history = history or set(block_hashes(self.target, head))
                data = storage.get(f"{folder}/{name}") if block_hash in history else None
                if data is not None and info_files.is_intact(name, data):
                    count += self.target.storage.put_if_absent(f"{folder}/{name}", data)
        return count

    def _move_head(self, known: str | None, head: str) -> None:
        try:
            self.target.storage.compare_and_set_ref(HEAD, known, head)
        except CommitConflict:
            if self.target.storage.get_ref(HEAD) != head:  # by another copy
                raise


class _Received:
    """Bytes that several threads have received. They end once it is over, be it by an error of one of them."""

    def __init__(self, progress: transfer.Progress) -> None:
        self.is_over = False
        self._progress, self._size, self._lock = progress, 0, Lock()

    def add(self, size: int) -> None:
        with self._lock:
            self._size += size
            self._progress.reached(self._size)


def _parts(block: MetadataBlock) -> Iterator[Part]:
    """Yield the slice and the checkpoint that a block adds."""
    for name in ("new_data", "new_checkpoint"):
        if (part := getattr(block.event, name, None)) is not None:
            yield part

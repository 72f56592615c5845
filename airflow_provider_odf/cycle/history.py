"""Files of a dataset that the engine reads: its slices, and the state cache, which saves reading most of them.

A cache is named by the block of its state, and compared with its seal before use. Those of a store in an object store
lie in its bucket, so that every machine finds them.

A damaged cache is dropped with everything else in the dataset's cache directory, since the same disk holds it: the
engine reads the history instead, whose slices are then compared with their hashes again. A cache that cannot be read
now stays, and the engine reads the history.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import closed_files, object_stores, protocol
from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.cycle import exchange
from airflow_provider_odf.cycle.messages import Progress
from airflow_provider_odf.error_conversion import storage_error
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.merge_strategies import CACHED_BYTES, CACHED_SLICES
from airflow_provider_odf.seal import SEAL, first_altered, hashes_in, open_json, seal_of, sealed_json
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.storage import Storage
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.cycle import Cycle

NOTE = "unchanged.json"
"""Note that a query over given inputs changes nothing in its derivative. A block must advance something, so such a run
has no block to write; without the note, the next run evaluates the query again."""

NEWEST = "newest.json"
"""Object of the exchange with the blocks of its caches, the newest last, so that a merge lists nothing."""

_MOST_CACHES = 2
"""How many caches are kept: running merges may still read the one before the newest."""


def make_directory(cache: Path) -> None:
    """Make a directory of disposable caches, if this process may."""
    with contextlib.suppress(OSError):
        closed_files.make_folders(cache)


def history(
    store: Store, dataset: Dataset, state: ChainState, progress: Progress, *, passes_objects: bool = False
) -> tuple[protocol.HistorySlice, ...]:
    """Return the slices of a dataset up to a state, in offset order, for the engine to read: paths of this machine,
    compared with their hashes, or URIs of objects, which are compared when they are copied to the machine of a reader.

    :param passes_objects: whether the engine may not see the disk of this machine.
    :raises ChainCorrupted: a slice on this machine is missing, or is not what its physical hash says.
    :raises StorageError: a slice cannot be copied to where the engine reads it.
    """
    if passes_objects and isinstance(dataset.storage, ObjectStorage):
        return tuple(_slice(s, slices.location(dataset, s)) for s in state.slices)
    cache = store.cache_of(dataset)
    make_directory(cache)
    dataset = replace(dataset, cache=cache)
    if passes_objects:
        place = _pass_copies(store, dataset, state, progress)
        return tuple(_slice(s, place.location(slices.name(s))) for s in state.slices)
    slices.check_unrecorded(dataset, state.dataset_id, state.slices, progress)
    return tuple(_slice(s, slices.path(dataset, s)) for s in state.slices)


def _pass_copies(store: Store, dataset: Dataset, state: ChainState, progress: Progress) -> Storage:
    """Upload those slices of a dataset in a folder or on a web server that the exchange does not have, and return their
    folder there."""
    place = store.shared_copies(dataset)
    held = {info.name: info.size for info in place.files("data")}
    missing = [s for s in state.slices if held.get(slices.name(s)) != s.size]
    if missing:
        slices.check_unrecorded(dataset, state.dataset_id, missing, progress)
        size = counted(sum(s.size for s in missing), "byte")
        progress(f"copying {counted(len(missing), 'slice')} of {dataset.alias} to {place.location()}, {size}")
        exchange.hand_over({slices.name(s): Path(slices.path(dataset, s)) for s in missing}, place)
    return place


def history_of(cycle: Cycle, dataset: Dataset, state: ChainState) -> tuple[protocol.HistorySlice, ...]:
    """Return the `history` for the engine of a cycle."""
    return history(cycle.store, dataset, state, cycle.progress, passes_objects=cycle.passes_objects)


def _slice(part: model.DataSlice, path: str) -> protocol.HistorySlice:
    interval = protocol.OffsetInterval(part.offset_interval.start, part.offset_interval.end)
    return protocol.HistorySlice(path, interval, part.size)


def exchanged(storage: Storage) -> list[str]:
    """Return the blocks of the caches in an exchange, the newest last.

    :raises StorageError: they cannot be read now.
    """
    try:
        names = json.loads(storage.get(NEWEST) or b"[]")
    except ValueError:
        return []
    return [name for name in names if is_hash(name)] if isinstance(names, list) else []


@dataclass(frozen=True)
class StateCaches:
    """The caches of a dataset: in a folder of this machine, which may not exist, and those of a store in an object
    store in the exchange too, where all machines find them."""

    dataset: Dataset
    dataset_id: str
    directory: Path
    exchange: Storage | None
    passes_objects: bool
    """Whether the engine reads them in the exchange."""
    progress: Progress

    @classmethod
    def of(cls, cycle: Cycle, dataset: Dataset, dataset_id: str) -> StateCaches:
        store = cycle.store
        exchange = store.shared_cache(dataset.alias) if store.is_remote else None
        return cls(dataset, dataset_id, store.cache(dataset.alias), exchange, cycle.passes_objects, cycle.progress)

    def newest(self, base: ChainState) -> protocol.StateCache | None:
        """Return the newest cache that lies on the chain below a state, None if there is none or it is damaged."""
        names = self._names(base)
        if not names:
            return None
        for block_hash, block in self.dataset.walk(base.head):
            if block_hash in names and isinstance(block.event, model.AddData):
                new = block.event.new_data
                last_offset = new.offset_interval.end if new else block.event.prev_offset
                place = self._intact(block_hash)
                return protocol.StateCache(place, last_offset) if place and last_offset is not None else None
        return None

    def keep(self, state: protocol.StateCache, block_hash: str) -> None:
        """Seal the state that the engine wrote, and move it here under its block. Errors are ignored: caches are
        optional."""
        is_object = object_stores.is_object(state.path)
        with contextlib.suppress(OSError, StorageError):
            source = ObjectStorage.at(state.path) if is_object else LocalStorage(Path(state.path))
            if (hashes := _hashes(source.get(protocol.STATE_FILE))) is None:
                return
            seal = seal_of(hashes, dataset=self.dataset_id, block=block_hash)
            if not is_object:
                self._keep_here(Path(state.path), seal, block_hash)
            if self.exchange is not None:
                here = source.location if is_object else LocalStorage(self.directory / block_hash).location
                places = {name: here(name) if is_object else Path(here(name)) for name in hashes}
                exchange.hand_over({f"{block_hash}/{name}": place for name, place in places.items()}, self.exchange)
                self.exchange.put(f"{block_hash}/{SEAL}", seal)
                names = [*(name for name in exchanged(self.exchange) if name != block_hash), block_hash]
                self.exchange.put(NEWEST, json.dumps(names[-_MOST_CACHES:]).encode())
                for old in names[:-_MOST_CACHES]:
                    self.exchange.remove_folder(old)

    def _keep_here(self, source: Path, seal: bytes, block_hash: str) -> None:
        target = self.directory / block_hash
        (source / SEAL).write_bytes(seal)
        closed_files.make_folders(self.directory)
        closed_files.close(source)  # a cluster may have another umask
        if not target.exists():
            source.rename(target)
        for old in self._here()[:-_MOST_CACHES]:
            shutil.rmtree(old, ignore_errors=True)

    def _names(self, base: ChainState) -> set[str]:
        """Return the blocks that have caches. In the exchange, they are looked for only if a history so long has
        some."""
        names = set() if self.passes_objects else {path.name for path in self._here()}
        is_long = len(base.slices) >= CACHED_SLICES or sum(s.size for s in base.slices) > CACHED_BYTES
        if self.exchange is not None and is_long:
            with contextlib.suppress(StorageError):
                names.update(exchanged(self.exchange))
        return names

    def _intact(self, block_hash: str) -> str | None:
        """Return the place of a cache for the engine, or None if it is damaged or cannot be read now."""
        try:
            if self.passes_objects and self.exchange is not None:
                return self._intact_object(self.exchange, block_hash)
            return self._intact_here(block_hash)
        except (OSError, StorageError) as e:
            reason = e if isinstance(e, StorageError) else storage_error(e)
            self.progress(f"not using the state cache ({reason}); reading the state from the history")
            return None

    def _intact_object(self, storage: Storage, block_hash: str) -> str | None:
        """Compare what a cache says about itself with its seal. Its other files have names made of their hashes, which
        readers compare."""
        hashes = self._sealed(storage, block_hash)
        if hashes is not None and _sha256(storage.get(f"{block_hash}/{protocol.STATE_FILE}")) == hashes.get(
            protocol.STATE_FILE
        ):
            return storage.location(block_hash)
        self._say_damaged(storage.location(block_hash))
        self._drop(storage, block_hash)
        return None

    def _intact_here(self, block_hash: str) -> str | None:
        target, was_here = self.directory / block_hash, (self.directory / block_hash).exists()
        if self.exchange is not None and not (target / SEAL).exists():
            hashes = self._sealed(self.exchange, block_hash)
            if hashes is None:
                self._say_damaged(self.exchange.location(block_hash))
                self._drop(self.exchange, block_hash)
                return None
            for names in (hashes, (SEAL,)):  # with its seal a cache is complete
                exchange.bring(self.exchange, [f"{block_hash}/{name}" for name in names], self.directory)
        altered = first_altered(target, dataset=self.dataset_id, block=block_hash)
        if altered is None:
            return str(target)
        self._say_damaged(altered)
        shutil.rmtree(self.directory, ignore_errors=True)
        if self.exchange is not None and not was_here:
            self._drop(self.exchange, block_hash)
        return None

    def _sealed(self, storage: Storage, block_hash: str) -> dict[str, str] | None:
        hashes = hashes_in(storage.get(f"{block_hash}/{SEAL}"), dataset=self.dataset_id, block=block_hash)
        return hashes if hashes is not None and all(map(exchange.is_inside, hashes)) else None

    def _drop(self, storage: Storage, block_hash: str) -> None:
        storage.put(NEWEST, json.dumps([name for name in exchanged(storage) if name != block_hash]).encode())
        storage.remove_folder(block_hash)

    def _say_damaged(self, place: object) -> None:
        self.progress(f"ignoring the damaged state cache ({place}); reading the state from the history")

    def _here(self) -> list[Path]:
        """Return the caches on this machine, oldest first."""
        with contextlib.suppress(OSError):
            paths = [path for path in self.directory.iterdir() if is_hash(path.name)]
            return sorted(paths, key=lambda path: path.stat().st_mtime)
        return []


def _hashes(about: bytes | None) -> dict[str, str] | None:
    """Return the hashes of the files of a state that the engine wrote, None if it is not complete."""
    try:
        parts = json.loads(about or b"")["files"]
        return {**{name: sha256 for name, (_, _, sha256) in parts.items()}, protocol.STATE_FILE: str(_sha256(about))}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def note_unchanged(cache: Path, key: str) -> None:
    """Note that nothing follows from a `TransformInput.key`. Errors are ignored: the note only saves time."""
    with contextlib.suppress(StorageError):
        LocalStorage(cache).put(NOTE, sealed_json({"key": key}))


def is_unchanged(cache: Path, key: str) -> bool:
    """Return whether it is known that nothing follows from a `TransformInput.key`."""
    content = None
    with contextlib.suppress(StorageError):
        content = open_json(LocalStorage(cache).get(NOTE))
    return content == {"key": key}

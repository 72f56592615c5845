"""Files of a dataset that the engine reads: its slices, and the state cache, which saves reading most of them.

A cache is named by the block of its state, and compared with its seal before use.

A damaged cache is dropped with everything else in the dataset's cache directory, since the same disk holds it: the
engine reads the history instead, whose slices are then compared with their hashes again. A cache that cannot be read
now stays, and the engine reads the history.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import closed_files, protocol
from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.cycle.messages import Progress
from airflow_provider_odf.error_conversion import storage_error
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.seal import first_altered, open_json, seal, sealed_json

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store

NOTE = "unchanged.json"
"""Note that a query over given inputs changes nothing in its derivative. A block must advance something, so such a run
has no block to write; without the note, the next run evaluates the query again."""

_MOST_CACHES = 2
"""How many caches are kept: running merges may still read the one before the newest."""


def make_directory(cache: Path) -> None:
    """Make a directory of disposable caches, if this process may."""
    with contextlib.suppress(OSError):
        closed_files.make_folders(cache)


def history(store: Store, dataset: Dataset, state: ChainState, progress: Progress) -> tuple[protocol.HistorySlice, ...]:
    """Return the slices of a dataset up to a state, in offset order, for the engine to read.

    :raises ChainCorrupted: a slice is missing, or is not what its physical hash says.
    """
    cache = store.cache_of(dataset)
    make_directory(cache)
    dataset = replace(dataset, cache=cache)
    slices.check_unrecorded(dataset, state.dataset_id, state.slices, progress)
    return tuple(
        protocol.HistorySlice(
            slices.path(dataset, s), protocol.OffsetInterval(s.offset_interval.start, s.offset_interval.end)
        )
        for s in state.slices
    )


@dataclass(frozen=True)
class StateCaches:
    """The caches in a directory, which may not exist."""

    directory: Path
    dataset_id: str

    def newest(self, dataset: Dataset, head: str, progress: Progress) -> protocol.StateCache | None:
        """Return the newest cache that lies on the chain below a block, None if there is none or it is damaged."""
        names = {path.name for path in self._paths()}
        if not names:
            return None
        for block_hash, block in dataset.walk(head):
            if block_hash in names and isinstance(block.event, model.AddData):
                new = block.event.new_data
                last_offset = new.offset_interval.end if new else block.event.prev_offset
                if last_offset is None or not self._is_intact(block_hash, progress):
                    return None
                return protocol.StateCache(str(self.directory / block_hash), last_offset)
        return None

    def keep(self, state: protocol.StateCache, block_hash: str) -> None:
        """Seal the state that the engine wrote, and move it here under its block. Errors are ignored: caches are
        optional."""
        source, target = Path(state.path), self.directory / block_hash
        with contextlib.suppress(OSError):
            seal(source, [source], dataset=self.dataset_id, block=block_hash)
            closed_files.make_folders(self.directory)
            closed_files.close(source)  # a cluster may have another umask
            if not target.exists():
                source.rename(target)
            for old in self._paths()[:-_MOST_CACHES]:
                shutil.rmtree(old, ignore_errors=True)

    def _is_intact(self, block_hash: str, progress: Progress) -> bool:
        try:
            altered = first_altered(self.directory / block_hash, dataset=self.dataset_id, block=block_hash)
        except OSError as e:
            progress(f"not using the state cache ({storage_error(e)}); reading the state from the history")
            return False
        if altered is None:
            return True
        progress(f"ignoring the damaged state cache ({altered}); reading the state from the history")
        shutil.rmtree(self.directory, ignore_errors=True)
        return False

    def _paths(self) -> list[Path]:
        """Return the caches, oldest first."""
        with contextlib.suppress(OSError):
            paths = [path for path in self.directory.iterdir() if is_hash(path.name)]
            return sorted(paths, key=lambda path: path.stat().st_mtime)
        return []


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

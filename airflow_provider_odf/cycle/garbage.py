"""Garbage of a store: files of writers that were killed or lost a race, and caches that nobody will read.

It can be collected while writers run: files that an unfinished run may have written stay. A run holds a lock on its
folder in the work area while it polls or merges. Nobody holds a lock on an input that waits for its merge, and some
file systems do not show locks of other machines: such a folder counts as that of a run for `LONGEST` after its last
change, as does one in the exchange of a store in an object store.

Files are listed before refs are read. Writers touch each file that they reuse; a file that a writer touches during its
removal is restored. Of a folder in the exchange, files that were written after the listing stay.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain import info_files, slices, state
from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.object_storage import PACK, ObjectStorage
from airflow_provider_odf.chain.storage import PENDING, FileInfo
from airflow_provider_odf.cycle import candidates, history
from airflow_provider_odf.errors import ChainError, CommitConflict, InvalidInput
from airflow_provider_odf.owned_folders import OWNER, is_owned, was_killed
from airflow_provider_odf.seal import SEAL
from airflow_provider_odf.source import work_area

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.storage import Storage
    from airflow_provider_odf.chain.store import Store

YOUNG = 120.0
"""Seconds for which files stay whatever the grace period: a manifest is applied without a folder in the work area, and
waits for the lock of refs at most half as long."""

_FOLDERS = {"blocks": "block", "data": "slice", "checkpoints": "checkpoint", "info/reports": "report",
            "info/publications": "publication"}  # fmt: skip
_REFS = ("candidate", "earlier history")
_RECORDS = (slices.RECORD, state.FILE, history.NOTE, history.NEWEST, PACK)
"""Files in the cache directory of a dataset beside its state caches."""
_OF_RUNS = ("merge-*", "poll-*", "savepoint-*", ".turn")
_HIDDEN = ("blocks", "data", "checkpoints", "refs", "info", "info/reports", "info/datahub", "info/publications")


@dataclass(frozen=True)
class Garbage:
    """A file or folder that no ref leads to. ``modified`` is its time in seconds since 1970; ``file`` its name in the
    dataset, None in the work area."""

    dataset: str
    kind: str
    path: str
    size: int
    modified: float
    file: str | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass
class _Live:
    """Names of the files that refs lead to."""

    blocks: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)

    def mark(self, dataset: Dataset, block_hash: str) -> None:
        """Mark the files of a chain.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        blocks, files = set(), set()
        for current, block in dataset.walk(block_hash):
            if current in self.blocks:
                break
            blocks.add(current)
            for attribute in ("new_data", "new_checkpoint"):
                if (new := getattr(block.event, attribute, None)) is not None:
                    files.add(new.physical_hash)
        self.blocks |= blocks
        self.files |= files

    def __contains__(self, name: str) -> bool:
        return name in self.files or _hash(name) in self.blocks


def unused(store: Store, dataset: Dataset, older_than: float, *, is_idle: bool = False) -> list[Garbage]:
    """Return the garbage of a dataset that is older than so many seconds, and than `YOUNG`.

    :param is_idle: nothing writes to the store, so files of any age and of unfinished runs are garbage.
    :raises InvalidInput: an unfinished run may have written files that are older.
    :raises ChainCorrupted: the chain of ``head`` or of a rejected candidate is damaged, so nothing is known to be
        garbage.
    """
    alias, cutoff = str(dataset.alias), _cutoff(older_than, is_idle)
    if not is_idle:
        check_no_run(store, alias, cutoff)
    files = [item for folder, kind in _FOLDERS.items() for item in _files(dataset, kind, folder, cutoff)]
    hidden = [
        item for folder in _HIDDEN for item in _files(dataset, "file", folder, cutoff) if item.name.startswith(PENDING)
    ]
    caches, shared = _old(alias, "cache", store.cache(alias), "*", cutoff), _shared_caches(store, alias, cutoff)
    newest = history.exchanged(store.shared_cache(alias)) if shared else []
    folders = (store.cache(alias) / name for name in ("data", "blocks"))
    copies = [item for folder in folders for item in _old(alias, "copy", folder, "*", cutoff)]
    live, candidates = _mark_all(dataset, cutoff)
    unreachable = [item for item in (*files, *caches) if _is_named(item) and item.name not in live]
    unreachable += [i for i in shared if _is_named(i) and (i.name not in live or i.name not in newest)]
    return [*candidates, *unreachable, *hidden, *copies, *_work(store, alias, cutoff, is_idle)]


def find_gone(store: Store, older_than: float, *, is_idle: bool = False) -> list[Garbage]:
    """Return caches and work folders, older than so many seconds, of datasets that the store had and that are gone,
    unfinished entries of the registry, and copies in the exchange of slices of other stores."""
    cutoff = _cutoff(older_than, is_idle)
    shared = _exchanged("copy", "", store.exchange.folder(".cache"))
    items = [item for item in shared if item.name.startswith("+") and item.modified < cutoff]
    if isinstance(registry := store.registry.storage, LocalStorage):
        items += _old("", "file", registry.root, f"{PENDING}*", cutoff)
    for alias in map(str, filter(lambda alias: store.get(alias) is None, store.registry.aliases())):
        caches = [*_old(alias, "cache", store.cache(alias), "*", cutoff), *_shared_caches(store, alias, cutoff)]
        items += filter(lambda item: _is_named(item) or item.name in _RECORDS, caches)
        items += (item for name in _OF_RUNS for item in _old(alias, "work folder", store.scratch(alias), name, cutoff))
        items += (item for item in _passed(store, alias) if item.modified < cutoff)
    return items


def remove(item: Garbage, dataset: Dataset | None) -> bool:
    """Remove garbage of a dataset, or of one that is gone; return False if a writer needs it by now."""
    if item.kind in _REFS and dataset is not None:
        with suppress(CommitConflict):
            dataset.storage.compare_and_set_ref(item.name, dataset.storage.get_ref(item.name), None)
            return True
        return False
    if item.file is not None and dataset is not None:
        return dataset.storage.remove(item.file, item.modified)
    if object_stores.is_object(item.path):
        folder = ObjectStorage.at(item.path.removesuffix(f"/{item.name}"))
        folder.remove_folder(item.name, item.modified)
        folder.remove(item.name, item.modified)
        return not folder.folder(item.name).exists()
    path = Path(item.path)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return not path.exists()
    return LocalStorage(path.parent).remove(path.name, item.modified)


def _cutoff(older_than: float, is_idle: bool) -> float:
    return time.time() - (older_than if is_idle else max(older_than, YOUNG))


def _mark_all(dataset: Dataset, cutoff: float) -> tuple[_Live, list[Garbage]]:
    """Return the files that refs lead to, and old refs that nobody needs any more: candidates that nobody can publish,
    and histories before a reset."""
    live, garbage = _Live(), list[Garbage]()
    old_refs = {item.name: item for item in _files(dataset, "candidate", "refs", cutoff)}
    head = dataset.resolve("head")
    live.mark(dataset, head)
    for ref in dataset.storage.refs():
        old = old_refs.get(ref)
        if ref.startswith(candidates.REPLACED) and old is not None:
            garbage.append(replace(old, kind="earlier history"))
        elif not _mark(live, dataset, ref, head, is_old=old is not None) and old is not None:
            garbage.append(old)
    # A candidate that was published meanwhile has no ref of its own any more.
    live.mark(dataset, dataset.resolve("head"))
    return live, garbage


def _mark(live: _Live, dataset: Dataset, ref: str, head: str, *, is_old: bool) -> bool:
    """Mark the files of a ref, unless it is old and waits for no decision; return False for a candidate without use.

    :raises ChainCorrupted: the chain is damaged, and the ref is not that of a candidate.
    :raises StorageError: a block cannot be read now.
    """
    try:
        block_hash = dataset.head(ref)
        if block_hash is None or (is_old and candidates.is_settled(dataset, ref, block_hash, head)):
            return False
        live.mark(dataset, block_hash)
    except ChainError:
        if not ref.startswith(candidates.CANDIDATE):
            raise
        return False  # Its blocks are damaged: nobody can publish it.
    return True


def _work(store: Store, alias: str, cutoff: float, is_idle: bool) -> Iterator[Garbage]:
    """Yield folders of merges and polls that were killed, and of those that nobody retried."""
    now, passed = time.time(), list(_passed(store, alias))
    abandoned = cutoff if is_idle else min(cutoff, now - work_area.ABANDONED)
    for pattern, oldest in (("merge-*", cutoff), ("poll-*", abandoned), ("savepoint-*", abandoned)):
        for item in _old(alias, "work folder", store.scratch(alias), pattern, now):
            if was_killed(Path(item.path)) or item.modified < oldest:
                yield item
        yield from (item for item in passed if fnmatch(item.name, pattern) and item.modified < oldest)


def _shared_caches(store: Store, alias: str, cutoff: float) -> list[Garbage]:
    """Return caches in the exchange that are older than a time."""
    return [item for item in _exchanged("cache", alias, store.shared_cache(alias)) if item.modified < cutoff]


def _passed(store: Store, alias: str) -> Iterator[Garbage]:
    """Yield the inputs and the files of steps in an exchange that is not a folder of this machine."""
    for item in _exchanged("work folder", alias, store.inputs(alias)):
        if any(fnmatch(item.name, pattern) for pattern in _OF_RUNS):
            yield item


def _exchanged(kind: str, alias: str, storage: Storage) -> Iterator[Garbage]:
    """Yield the folders and files of a storage that is not a folder of this machine; a folder is as new as the newest
    file below it."""
    if not isinstance(storage, ObjectStorage):
        return
    found: dict[str, list[FileInfo]] = {}
    for info in storage.every_file():
        found.setdefault(info.name.partition("/")[0], []).append(info)
    for name, infos in found.items():
        size, modified = sum(info.size for info in infos), max(info.modified for info in infos)
        yield Garbage(alias, kind, storage.location(name), size, modified)


def _is_named(item: Garbage) -> bool:
    """Whether a file is named by a hash, as ODF tools name files. Other files are left alone."""
    return is_hash(_hash(item.name))


def _hash(name: str) -> str:
    """Return the hash that a name has: of a slice, of a block, or of the block that a file is about."""
    return info_files.block_of(name) or name.partition(".")[0]


def _files(dataset: Dataset, kind: str, folder: str, cutoff: float) -> list[Garbage]:
    """Return the files in a folder of a dataset that are older than a time."""
    alias, location = str(dataset.alias), dataset.storage.location
    return [
        Garbage(alias, kind, location(info.name), info.size, info.modified, info.name)
        for info in dataset.storage.files(folder)
        if info.modified < cutoff
    ]


def _old(alias: str, kind: str, folder: Path, pattern: str, cutoff: float) -> list[Garbage]:
    items = []
    for path in sorted(folder.glob(pattern)):
        with suppress(FileNotFoundError):
            modified = path.stat().st_mtime
            if modified < cutoff:
                items.append(Garbage(alias, kind, str(path), _size(path), modified))
    return items


def _size(path: Path) -> int:
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size


LONGEST = 24 * 3600.0
"""Seconds after which a folder without a visible lock is no longer that of a run: the default grace period."""


@dataclass(frozen=True)
class Run:
    """An unfinished run. Its files are not older than ``since``. From ``until`` on it no longer counts; that is None
    while it holds its lock. Times are seconds since 1970."""

    since: float
    until: float | None


def check_no_run(store: Store, alias: str, cutoff: float) -> None:
    """Check that no unfinished run of a dataset may have files that are older than a time.

    :raises InvalidInput: there is one; the message says until when.
    """
    passed = (item for item in _passed(store, alias) if not item.name.endswith(".json"))
    elsewhere = (Run(item.modified, item.modified + LONGEST) for item in passed)
    runs = [*_runs(store.scratch(alias)), *(run for run in elsewhere if (run.until or 0) > time.time())]
    for run in sorted(runs, key=lambda run: run.since):
        if run.since >= cutoff:
            continue
        what = f"a run has been writing to it since {_text(run.since)}"
        wait = "wait until it has ended"
        if run.until is not None:
            what = f"a run that began at {_text(run.since)} may still write to it"
            wait = f"wait until it has ended, or until {_text(run.until)}"
        hours = (time.time() - run.since) / 3600
        raise InvalidInput(
            f"{what}, and no ref leads to its new files yet: {wait}, or keep its files with "
            f"--older-than {hours + 0.1:.1f} or more; if no run is alive, use --idle"
        )


def _runs(work: Path) -> Iterator[Run]:
    for folder in (*work.glob(f"{work_area.SCRATCH}*"), *work.glob(f"{work_area.INPUT}*")):
        times = list(_times(folder))
        if not times:
            continue  # It has just ended.
        if is_owned(folder):
            yield Run(min(times), None)
        elif not was_killed(folder) and times[0] + LONGEST > time.time():
            yield Run(min(times), times[0] + LONGEST)


def _times(folder: Path) -> Iterator[float]:
    """Yield when a folder of a run changed, and when the files were written that its first steps write."""
    for path in (folder, folder / OWNER, folder / SEAL):
        with suppress(OSError):
            yield path.stat().st_mtime


def _text(time_: float) -> str:
    return datetime.fromtimestamp(time_, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

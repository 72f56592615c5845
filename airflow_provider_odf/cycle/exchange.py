"""Files on their way: inputs from the task that fetched them to the task that merges them, which may run on another
machine, and the files of a step to the engine and back.

A store in a folder has its exchange there: the files are where both sides look for them. In an object store, an input
is passed by an upload of its files, then of their seal, then of its description. Whoever receives it copies the files
that this machine does not have, and the merge compares them with their seal. An engine that does not see the disk of
this machine gets inputs by their URIs, and uploads what it writes.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import durable_files
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import ChainCorrupted, OdfError, StorageError
from airflow_provider_odf.owned_folders import OWNER
from airflow_provider_odf.seal import SEAL
from airflow_provider_odf.source import work_area

if TYPE_CHECKING:
    from airflow_provider_odf.chain.storage import Storage
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Input, InputFile

_AT_ONCE = 8
"""Objects that are copied at once."""

_KEPT = 3600.0
"""Seconds for which the machine that passed an input keeps its own files of it."""

_SHARED_COPY = re.compile(r"\+[0-9a-f]{16}/data/f1620[0-9a-f]{64}")
"""Names of the objects of `Store.shared_copies`, below the caches in the exchange."""


def put(store: Store, new_input: Input, description: bytes) -> None:
    """Pass an input on. All its files lie in its directory on this machine.

    :raises StorageError: a file cannot be written.
    """
    work, name = store.scratch(new_input.dataset), str(new_input.directory)
    _remove_passed(work, store.is_remote)
    if store.is_remote:
        exchange, files = store.inputs(new_input.dataset), [path for path in (work / name).rglob("*") if path.is_file()]
        for is_seal in (False, True):
            chosen = [path for path in files if (path.name == SEAL) == is_seal and path.name != OWNER]
            hand_over({path.relative_to(work).as_posix(): path for path in chosen}, exchange)
        durable_files.write(work / f"{name}.json", description)
    store.inputs(new_input.dataset).put(f"{name}.json", description)


def description(store: Store, dataset: str, name: str) -> tuple[bytes | None, str]:
    """Return the description of an input, None if the exchange has none, and its path or URI."""
    inputs = store.inputs(dataset)
    return inputs.get(f"{name}.json"), inputs.location(f"{name}.json")


def fetch(store: Store, new_input: Input) -> None:
    """Bring the files of an input to this machine, as far as they are not here. Those of one that was merged are gone;
    the merge of any other one finds what is missing or damaged.

    :raises StorageError: a file cannot be read or written.
    """
    exchange, work = store.inputs(new_input.dataset), store.scratch(new_input.dataset)
    directory = sealed_folder(store, new_input)
    if not store.is_remote or directory is None:
        return
    folder = directory.relative_to(work).as_posix()
    if (names := _sealed_names(exchange.get(f"{folder}/{SEAL}"))) is not None:
        bring(exchange, [f"{folder}/{name}" for name in (*names, SEAL)], work)


def bring(source: Storage, names: Iterable[str], folder: Path) -> None:
    """Copy files that a folder of this machine does not have, under the same names.

    :raises StorageError: a file cannot be read or written.
    """

    def copy(name: str) -> None:
        target = folder / name
        with storage_errors(target):
            if not target.exists():
                with source.open(name) as stream, durable_files.pending(target, stream) as finished:
                    finished.replace(target)

    _all(copy, names)


def hand_over(files: Mapping[str, Path | str], target: Storage) -> None:
    """Let a storage take files of this machine, or objects of its bucket, under new names.

    :raises StorageError: a file cannot be read or written.
    """
    _all(lambda name: target.adopt(name, files[name]), files)


def without_shared_copy(store: Store, error: ChainCorrupted) -> OdfError:
    """Return the error for a file that the engine found damaged or missing. A copy in the exchange of a slice of
    another store is removed, so that the next run makes a new one."""
    copies, uri = store.exchange.folder(".cache"), str(error).partition(": ")[0]
    name = uri.removeprefix(f"{copies.location()}/")
    if not _SHARED_COPY.fullmatch(name):
        return error
    copies.remove(name, inf)
    return StorageError(f"{error}; it is a copy of a slice of another store: run again to make a new one")


@dataclass(frozen=True)
class Workplace:
    """Files of one step: a folder of this machine, and where the engine finds and leaves its own, which is the same
    folder, or one of the exchange."""

    scratch: Path
    engine: Storage
    store: Store

    @property
    def passes_objects(self) -> bool:
        return not isinstance(self.engine, LocalStorage)

    def located(self, new_input: Input, files: Iterable[InputFile]) -> tuple[InputFile, ...]:
        """Return files with paths or URIs for the engine. Files that no other task has passed on are uploaded.

        :raises StorageError: a file cannot be read or uploaded.
        """
        if not self.passes_objects:
            return tuple(files)
        exchange, work = self.store.inputs(new_input.dataset), self.store.scratch(new_input.dataset)
        passed = work / new_input.directory if new_input.is_passed and new_input.directory else None
        uploads: dict[str, Path | str] = {}

        def located(path: Path, place: str) -> str:
            if passed is not None and passed in path.parents:
                return exchange.location(path.relative_to(work).as_posix())
            uploads[f"{place}/{path.name}"] = path
            return self.engine.location(f"{place}/{path.name}")

        result = tuple(
            replace(file, paths=tuple(located(path, f"in/{i}-{j}") for j, path in enumerate(_parts(file.paths))))
            for i, file in enumerate(files)
        )
        hand_over(uploads, self.engine)
        return result


def _parts(paths: Iterable[str]) -> Iterator[Path]:
    """Yield files, in place of folders their files: an object store has no folders."""
    for path in map(Path, paths):
        yield from sorted(p for p in path.iterdir() if p.name[0] not in "._") if path.is_dir() else [path]


@contextmanager
def workplace(store: Store, dataset: str, *, passes_objects: bool) -> Iterator[Workplace]:
    """Yield the files of a step, which are removed at its end.

    :param passes_objects: whether the engine may not see the disk of this machine.
    """
    with work_area.scratch(store.scratch(dataset)) as scratch:
        if not passes_objects:
            yield Workplace(scratch, LocalStorage(scratch), store)
            return
        exchange = store.inputs(dataset)
        try:
            yield Workplace(scratch, exchange.folder(scratch.name), store)
        finally:
            with suppress(StorageError):  # what is left is for `odf gc`: the step itself is done
                exchange.remove_folder(scratch.name)


def sealed_folder(store: Store, new_input: Input) -> Path | None:
    """Return the folder of an input's seal on this machine, or None if it has none. Files that were read ahead of the
    merge have a folder of their own."""
    if new_input.is_read:
        return next((Path(path).parent for file in new_input.files for path in file.paths), None)
    return store.scratch(new_input.dataset) / new_input.directory if new_input.directory else None


def discard(store: Store, new_input: Input) -> None:
    """Remove the files of an input that was merged or cannot be merged, and what polls kept for retries. Its
    description stays, for a task that runs again."""
    if new_input.directory is not None:
        work_area.discard(store.scratch(new_input.dataset) / new_input.directory)
        if store.is_remote and new_input.is_passed:
            store.inputs(new_input.dataset).remove_folder(new_input.directory)


def _sealed_names(seal: bytes | None) -> list[str] | None:
    """Return the names in a seal, or None if there is no seal, or one of them is not that of a file below its folder.
    The merge compares hash and subject."""
    try:
        names = list(json.loads(seal or b"")["files"])
    except (ValueError, KeyError, TypeError):
        return None
    return names if all(map(is_inside, names)) else None


def is_inside(name: str) -> bool:
    """Return whether a relative name is that of a file below its folder."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _remove_passed(work: Path, is_remote: bool) -> None:
    """Remove what this machine still has of inputs that were passed some time ago."""
    for path in work.glob(f"{work_area.INPUT}*.json"):
        with suppress(FileNotFoundError):
            age = time.time() - path.stat().st_mtime
            if is_remote and age > _KEPT:
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            if age > work_area.ABANDONED:
                path.unlink()


def _all(step: Callable[..., None], items: Iterable[object]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(step, items))

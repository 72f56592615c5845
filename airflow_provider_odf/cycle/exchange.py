"""Inputs on their way from the task that fetched them to the task that merges them, which may run on another machine.

A store in a folder has its exchange there: the files are where both tasks look for them. In an object store, an input
is passed by an upload of its files, then of their seal, then of its description. Whoever receives it copies the files
that this machine does not have, and the merge compares them with their seal.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import durable_files
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.owned_folders import OWNER
from airflow_provider_odf.seal import SEAL
from airflow_provider_odf.source import work_area

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Input

_AT_ONCE = 8
"""Objects that are copied at once."""

_KEPT = 3600.0
"""Seconds for which the machine that passed an input keeps its own files of it."""


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
            _all(lambda path: exchange.adopt(path.relative_to(work).as_posix(), path), chosen)
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

    def bring(name: str) -> None:
        target = work / name
        with storage_errors(target):
            if not target.exists():
                with exchange.open(name) as source, durable_files.pending(target, source) as finished:
                    finished.replace(target)

    if (names := _sealed_names(exchange.get(f"{folder}/{SEAL}"))) is not None:
        _all(bring, [f"{folder}/{name}" for name in (*names, SEAL)])


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

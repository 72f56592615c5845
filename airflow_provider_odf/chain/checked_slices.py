"""Record of the slices whose physical hash was checked, so that each is checked again only after the file changes.

The record lies with the other disposable caches. It has the size and the version (`FileInfo.version`) of each file at
its check. Any write to the file changes them, as does replacing the file by a copy. Only ``verify``, which reads every
file, detects bit rot of a disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.seal import open_json, sealed_json
from airflow_provider_odf.wording import counted

RECORD = "checked-slices.json"

_THREADS = os.cpu_count() or 1


def check(
    dataset: Dataset,
    dataset_id: str,
    data_slices: Sequence[DataSlice],
    cache: Path | None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Compare slices with their physical hash, except those that are unchanged by the record in the directory
    ``cache``. Without the directory there is no record.

    :raises ChainCorrupted: a slice is missing or has other bytes.
    :raises StorageError: a slice cannot be read.
    """
    record = _read(cache, dataset_id)
    stamps = {s.physical_hash: _stamp(dataset, s) for s in data_slices}
    changed = [s for s in data_slices if record.get(s.physical_hash) != stamps[s.physical_hash]]
    if not changed:
        return
    progress(f"checking {counted(len(changed), 'slice')}, {counted(sum(s.size for s in changed), 'byte')}")
    with ThreadPoolExecutor(min(_THREADS, len(changed))) as pool:
        list(pool.map(lambda s: slices.check(dataset, s), changed))
    if cache is not None:
        _write(cache, dataset_id, record | stamps)


def _stamp(dataset: Dataset, data_slice: DataSlice) -> list[int | str]:
    info = slices.stat(dataset, data_slice)
    return [info.size, *info.version]


def _read(cache: Path | None, dataset_id: str) -> dict[str, list[int | str]]:
    if cache is None:
        return {}
    try:
        content = open_json((cache / RECORD).read_bytes(), dataset=dataset_id)
    except OSError:
        return {}
    return content["slices"] if content else {}


def _write(cache: Path, dataset_id: str, record: dict[str, list[int | str]]) -> None:
    """Write the record, if the directory exists and is writable; otherwise slices are checked again the next time.

    A reader of a dataset creates no directories, because its writers might not be able to use them.
    """
    if not cache.is_dir():
        return
    with contextlib.suppress(OdfError):
        LocalStorage(cache).put(RECORD, sealed_json({"dataset": dataset_id, "slices": record}))

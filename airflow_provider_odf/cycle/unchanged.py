"""Note that a query over given inputs changes nothing in its derivative.

A block must advance something, so a run whose result is the same may have no block to write. The note lies with the
disposable caches of the derivative. Without it, the next run evaluates the query again.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.seal import open_json, sealed_json

NOTE = "unchanged.json"


def keep(cache: Path, key: str) -> None:
    """Note that nothing follows from a `TransformInput.key`. Errors are ignored: the note only saves time."""
    with contextlib.suppress(StorageError):
        LocalStorage(cache).put(NOTE, sealed_json({"key": key}))


def is_known(cache: Path, key: str) -> bool:
    """Return whether it is known that nothing follows from a `TransformInput.key`."""
    content = None
    with contextlib.suppress(StorageError):
        content = open_json(LocalStorage(cache).get(NOTE))
    return content == {"key": key}

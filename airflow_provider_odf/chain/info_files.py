"""Files about blocks beside the chain: ``info/FOLDER/BLOCK_HASH.json``, such as reports of contract tests.

Each file has the hash of its content and that of its block, which depends on the dataset's seed. An altered file counts
as missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_odf.chain.dataset import Dataset, is_hash
from airflow_provider_odf.seal import is_unsealed, open_json, sealed_json


def put(dataset: Dataset, folder: str, block_hash: str, content: Mapping[str, Any]) -> None:
    """Write a file about a block; replace the previous one."""
    dataset.storage.put(_path(folder, block_hash), sealed_json({"block": block_hash, **content}))


def get(dataset: Dataset, folder: str, block_hash: str) -> dict[str, Any] | None:
    """Return the file about a block, or None if there is none, or it is damaged or of another block."""
    content = open_json(dataset.storage.get(_path(folder, block_hash)), block=block_hash)
    if content is not None:
        del content["block"]
    return content


def exists(dataset: Dataset, folder: str, block_hash: str) -> bool:
    """Return whether a block has a file, even if it is damaged."""
    return dataset.storage.get(_path(folder, block_hash)) is not None


def damaged(dataset: Dataset) -> Iterator[str]:
    """Yield the locations of altered files. Those of version 0.1.0 have no hash and must be JSON objects."""
    storage = dataset.storage
    for folder in storage.folder("info").folders():
        blocks = (name.removesuffix(".json") for name in storage.names(f"info/{folder}") if name.endswith(".json"))
        for block_hash in filter(is_hash, blocks):
            data = storage.get(_path(folder, block_hash))
            if open_json(data, block=block_hash) is None and not is_unsealed(data):
                yield storage.location(_path(folder, block_hash))


def _path(folder: str, block_hash: str) -> str:
    return f"info/{folder}/{block_hash}.json"

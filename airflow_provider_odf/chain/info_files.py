"""Files about blocks beside the chain: ``info/FOLDER/BLOCK_HASH.json``, such as reports of contract tests, or
``info/FOLDER/NAME.BLOCK_HASH.json`` where a block may have several.

Each file has the hash of its content and that of its block, which depends on the dataset's seed. An altered file counts
as missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from airflow_provider_odf.chain.dataset import Dataset, is_hash
from airflow_provider_odf.seal import is_unsealed, open_json, sealed_json

REPORTS = "reports"
"""Folder of contract tests, and of what was held back."""

_SUFFIX = ".json"


def put(dataset: Dataset, folder: str, block_hash: str, content: Mapping[str, Any], name: str | None = None) -> None:
    """Write a file about a block; replace the previous one.

    :param name: of a file of which a block may have several; it ends with ``.BLOCK_HASH``.
    """
    dataset.storage.put(_path(folder, name or block_hash), sealed_json({"block": block_hash, **content}))


def get(dataset: Dataset, folder: str, block_hash: str, name: str | None = None) -> dict[str, Any] | None:
    """Return the file about a block, or None if there is none, or it is damaged or of another block."""
    content = open_json(dataset.storage.get(_path(folder, name or block_hash)), block=block_hash)
    if content is not None:
        del content["block"]
    return content


def exists(dataset: Dataset, folder: str, block_hash: str) -> bool:
    """Return whether a block has a file, even if it is damaged."""
    return dataset.storage.get(_path(folder, block_hash)) is not None


def names(dataset: Dataset, folder: str) -> list[str]:
    """Return the names of the files in a folder, sorted, without their suffix."""
    stored = dataset.storage.names(f"info/{folder}")
    return [name.removesuffix(_SUFFIX) for name in stored if name.endswith(_SUFFIX)]


def remove(dataset: Dataset, folder: str, name: str) -> None:
    """Remove a file, if it is there."""
    info = dataset.storage.stat(_path(folder, name))
    if info is not None:
        dataset.storage.remove(info.name, info.modified)


def block_of(file_name: str) -> str | None:
    """Return the hash of the block that a file is about, or None if its name has none."""
    block_hash = file_name.removesuffix(_SUFFIX).rpartition(".")[2]
    return block_hash if is_hash(block_hash) else None


def damaged(dataset: Dataset, blocks: Collection[str] | None = None) -> Iterator[str]:
    """Yield the locations of altered files. Those of the first version have no hash and must be JSON objects.

    :param blocks: only files about these blocks.
    """
    storage = dataset.storage
    for folder in storage.folder("info").folders():
        for name in names(dataset, folder):
            if (blocks is None or block_of(name) in blocks) and not is_intact(name, storage.get(_path(folder, name))):
                yield storage.location(_path(folder, name))


def is_intact(name: str, data: bytes | None) -> bool:
    """Return whether a file has the content that its writer gave it, as far as the file can show it."""
    if (block_hash := block_of(name)) is None:
        return True
    content = open_json(data, block=block_hash)
    is_own = content is not None and content.get("name", name.removesuffix(_SUFFIX)) == name.removesuffix(_SUFFIX)
    return is_own or is_unsealed(data, "block")


def _path(folder: str, name: str) -> str:
    return f"info/{folder}/{name}{_SUFFIX}"

"""What pages show of a dataset's chain, kept in a file, so that a chain of 10,000 blocks is not read for each page.

The file lies in ``.pages`` of the work area, which only readers use: they may be other users of the machine than the
writers of the dataset. It can be deleted at any time. It has the hash of its content, and the block that it stands for:
blocks after it are read and checked, and a chain that no longer has this block is read from its seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import blocks_after, extend
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock

FOLDER = ".pages"
HEADERS = "headers"
"""Folder of files about blocks whose input had columns that were matched by position."""
_FILE = "history"
_FORMAT = "history 2"


@dataclass(frozen=True)
class SchemaBlock:
    """A block that set the schema."""

    block_hash: str
    system_time: Instant
    event: model.SetDataSchema


@dataclass(frozen=True)
class DataBlock:
    """A block that added data, or that says that there was nothing to add."""

    block_hash: str
    system_time: Instant
    records: int


@dataclass(frozen=True)
class History:
    """State of a chain at its head, the blocks that set its schema, and the newest block of data."""

    state: ChainState
    schemas: tuple[SchemaBlock, ...] = ()
    newest_data: DataBlock | None = None
    headers: tuple[str, ...] = ()
    """Hashes of the blocks with a file about headers by position, oldest first."""


def read_history(dataset: Dataset, work_area: Path) -> History:
    """Return the history at the head, from its file and the blocks after it.

    :raises DatasetNotFound: the dataset has no head.
    :raises ChainCorrupted: a block is missing, damaged, or violates a rule.
    """
    folder = pages_folder(dataset, work_area)
    kept = _read(folder / _FILE)
    blocks, is_continued = blocks_after(dataset, kept.state.head if kept is not None else None)
    if kept is not None and not blocks:
        return kept
    history = _extended(dataset, kept if is_continued else None, blocks)
    if cache_file.make_folder(work_area, folder):
        cache_file.write(folder / _FILE, _FORMAT, _adapter().dump_json(history))
    return history


def pages_folder(dataset: Dataset, work_area: Path) -> Path:
    """Return the folder of what pages keep about a dataset. It may not exist."""
    name = f"{str(dataset.alias).lower().replace('/', '+')}-{sha256(dataset.uri.encode()).hexdigest()[:16]}"
    return work_area / FOLDER / name


def _extended(dataset: Dataset, base: History | None, blocks: Sequence[tuple[str, MetadataBlock]]) -> History:
    state = extend(dataset, base.state if base is not None else None, blocks)
    history = replace(base, state=state) if base is not None else History(state)
    schemas, newest = list(history.schemas), history.newest_data
    positional = {name.removesuffix(".json") for name in dataset.storage.names(f"info/{HEADERS}")}
    headers = [block_hash for block_hash, _ in blocks if block_hash in positional]
    for block_hash, block in blocks:
        event = block.event
        if isinstance(event, model.SetDataSchema):
            schemas.append(SchemaBlock(block_hash, block.system_time, event))
        elif isinstance(event, model.AddData | model.ExecuteTransform):
            new = event.new_data.offset_interval if event.new_data is not None else None
            newest = DataBlock(block_hash, block.system_time, new.end - new.start + 1 if new is not None else 0)
    return replace(history, schemas=tuple(schemas), newest_data=newest, headers=(*history.headers, *headers))


@cache
def _adapter() -> TypeAdapter[History]:
    return TypeAdapter(History)


def _read(file: Path) -> History | None:
    content = cache_file.read(file, _FORMAT)
    try:
        return _adapter().validate_json(content) if content is not None else None
    except ValidationError:
        return None

"""``ChainState``: the state of a metadata chain at one of its blocks, and the cache of that of a long chain, so that a
poll does not read 10,000 blocks to learn what it knows.

The cache lies with the other disposable caches of a dataset, and is never trusted over the chain. It has the hash of
its content, and of the sizes and times of change of all blocks that it stands for. After any write to one of them it no
longer counts: the chain is read and checked from its seed, which also finds what is wrong. Only ``verify``, which reads
every block, detects bit rot of a disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, overload

from pydantic import TypeAdapter

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.protocol import DatasetVocabulary

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.chain.dataset import Dataset


@dataclass(frozen=True)
class InputPosition:
    """Position up to which a derivative has read an input: its block, and its last record, None before the first."""

    block_hash: str | None
    offset: int | None


@dataclass(frozen=True)
class ChainState:
    """State of a chain from the seed to ``head``. Of events that replace each other it has the last."""

    head: str
    sequence_number: int
    system_time: Instant
    dataset_id: str
    kind: str
    polling_source: model.SetPollingSource | None = None
    push_sources: Mapping[str, model.AddPushSource] = field(default_factory=dict)
    transform: model.SetTransform | None = None
    set_vocab: model.SetVocab | None = None
    schema: model.SetDataSchema | None = None
    info: model.SetInfo | None = None
    license: model.SetLicense | None = None
    attachments: model.SetAttachments | None = None
    merge: model.MergeStrategy | None = None
    """Strategy of the newest source, even if it is disabled: it defines the current rows of the history."""
    last_offset: int | None = None
    """None before the first data."""
    watermark: Instant | None = None
    last_checkpoint: str | None = None
    """Physical hash of the newest checkpoint."""
    polling_state: model.SourceState | None = None
    """Source state of the polling source, even if it is disabled."""
    polling_fetch: model.FetchStep | None = None
    """Fetch step that this source state belongs to."""
    push_states: Mapping[str, model.SourceState] = field(default_factory=dict)
    """Source states by push source name. They are stored separately from ``polling_state``, because a push source may
    have the same name as the polling source has in blocks."""
    query_inputs: Mapping[str, InputPosition] = field(default_factory=dict)
    """Positions by dataset id."""
    is_transform_new: bool = False
    """Whether the transform is not the one that made the newest records."""
    slices: Sequence[model.DataSlice] = ()

    @property
    def has_data(self) -> bool:
        return self.last_offset is not None

    @property
    def next_offset(self) -> int:
        """The offset of the next record, which is the number of records so far."""
        return 0 if self.last_offset is None else self.last_offset + 1

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The key of the current rows; empty if records have none."""
        return self.merge.primary_key if self.merge else ()

    @cached_property
    def vocab(self) -> DatasetVocabulary:
        """Names of the system columns."""
        return ddl.vocabulary(self.set_vocab)

    def source_state(self, name: str) -> model.SourceState | None:
        """Return the state of the polling source if there is one, else of the push source of that name."""
        return self.polling_state if self.polling_source is not None else self.push_states.get(name)

    def arrow_schema(self) -> pa.Schema | None:
        """Return the dataset's columns as Arrow, or None if they are not known yet."""
        from airflow_provider_odf.chain import schema

        return schema.arrow_schema(self.schema) if self.schema else None

    def row_schema(self) -> pa.Schema | None:
        """Return the columns of the dataset's rows as readers get them, or None if they are not known yet."""
        from airflow_provider_odf.chain import schema

        stored = self.arrow_schema()
        return None if stored is None else schema.plain(stored)


FILE = "chain-state"
LEAST_BLOCKS = 64
"""A state is cached once a chain has so many blocks more than the cached one: reading them takes a few milliseconds."""

_FORMAT = "chain-state 1"


def least_blocks(dataset: Dataset) -> int:
    """Return how many new blocks a state must have to be cached: one where each block is a request to a server."""
    return LEAST_BLOCKS if isinstance(dataset.storage, LocalStorage) else 1


_SECTION = b"\n\n"


class CachedSlices(Sequence[model.DataSlice]):
    """Slices of a state in the form of `slice_lines`, parsed at their first use: most polls and pages need none."""

    def __init__(self, lines: bytes) -> None:
        self._lines = lines

    @cached_property
    def _slices(self) -> tuple[model.DataSlice, ...]:
        return tuple(map(_slice, self._lines.decode().split("\n"))) if self._lines else ()

    @overload
    def __getitem__(self, index: int) -> model.DataSlice: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[model.DataSlice, ...]: ...

    def __getitem__(self, index: int | slice) -> model.DataSlice | tuple[model.DataSlice, ...]:
        return self._slices[index]

    def __len__(self) -> int:
        return self._lines.count(b"\n") + 1 if self._lines else 0

    def __iter__(self) -> Iterator[model.DataSlice]:
        return iter(self._slices)

    def __eq__(self, other: object) -> bool:
        return self._slices == (other._slices if isinstance(other, CachedSlices) else other)

    def __hash__(self) -> int:
        return hash(self._slices)


@dataclass(frozen=True)
class CachedState:
    """A state, and the blocks from the seed to its head."""

    state: ChainState
    blocks: list[str]


def read_cached(dataset: Dataset) -> CachedState | None:
    """Return the cached state of a dataset, or None if there is none, it is damaged, or one of its blocks was written
    to."""
    if dataset.cache is None:
        return None
    try:
        content = cache_file.read(dataset.cache / FILE, _FORMAT)
        if content is None:
            return None
        state, slices, names, versions = content.split(_SECTION)
        blocks = names.decode().split("\n")
        if versions != _versions(dataset, blocks):
            return None
        return CachedState(replace(_adapter().validate_json(state), slices=CachedSlices(slices)), blocks)
    except (OdfError, ValueError):
        return None


def cache_state(dataset: Dataset, state: ChainState, blocks: Sequence[str]) -> None:
    """Cache the state after all blocks of a chain, if the dataset has a cache that this process may write to."""
    if dataset.cache is None or not dataset.cache.is_dir():
        return
    text = _adapter().dump_json(state, exclude={"slices"})
    if _adapter().validate_json(text) != replace(state, slices=()):
        return  # Another tool wrote values that change on their way through JSON.
    with contextlib.suppress(OdfError):
        slices, names = slice_lines(state.slices), "\n".join(blocks).encode()
        content = _SECTION.join((text, slices, names, _versions(dataset, blocks)))
        cache_file.write(dataset.cache / FILE, _FORMAT, content)


def _versions(dataset: Dataset, blocks: Sequence[str]) -> bytes:
    return sha256(dataset.storage.versions("blocks", blocks).encode()).hexdigest().encode()


def slice_lines(slices: Sequence[model.DataSlice]) -> bytes:
    """Return a line for each slice."""
    return "\n".join(map(_line, slices)).encode()


def _line(data_slice: model.DataSlice) -> str:
    interval = data_slice.offset_interval
    return f"{data_slice.logical_hash} {data_slice.physical_hash} {interval.start} {interval.end} {data_slice.size}"


def _slice(line: str) -> model.DataSlice:
    logical, physical, start, end, size = line.split(" ")
    interval = model.OffsetInterval.model_construct(start=int(start), end=int(end))
    return model.DataSlice.model_construct(
        logical_hash=logical, physical_hash=physical, offset_interval=interval, size=int(size)
    )


@cache
def _adapter() -> TypeAdapter[ChainState]:
    return TypeAdapter(ChainState)

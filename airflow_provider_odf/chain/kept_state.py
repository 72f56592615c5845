"""The state of a long chain, kept in a file, so that a poll does not read 10,000 blocks to learn what it knows.

The file lies with the other disposable caches of a dataset, and is never trusted over the chain. It has the hash of its
content, and of the sizes and times of change of all blocks that it stands for. After any write to one of them it no
longer counts: the chain is read and checked from its seed, which also finds what is wrong. Only ``verify``, which reads
every block, detects bit rot of a disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, overload

from pydantic import TypeAdapter

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset

FILE = "chain-state"
LEAST_BLOCKS = 64
"""A state is kept once a chain has so many blocks more than the kept one: reading them takes a few milliseconds."""

_FORMAT = "chain-state 1"
_SECTION = b"\n\n"


class KeptSlices(Sequence[model.DataSlice]):
    """Slices of a state, parsed at their first use: most polls need none of them."""

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


@dataclass(frozen=True)
class KeptState:
    """A state, and the blocks from the seed to its head."""

    state: ChainState
    blocks: list[str]


def read(dataset: Dataset) -> KeptState | None:
    """Return the kept state of a dataset, or None if there is none, it is damaged, or one of its blocks was written
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
        return KeptState(replace(_adapter().validate_json(state), slices=KeptSlices(slices)), blocks)
    except (OdfError, ValueError):
        return None


def keep(dataset: Dataset, state: ChainState, blocks: Sequence[str]) -> None:
    """Keep the state after all blocks of a chain, if the dataset has a cache directory that this process may write to.

    A reader of a dataset creates no directories, because its writers might not be able to use them.
    """
    if dataset.cache is None or not dataset.cache.is_dir():
        return
    text = _adapter().dump_json(state, exclude={"slices"})
    if _adapter().validate_json(text) != replace(state, slices=()):
        return  # Another tool wrote values that change on their way through JSON.
    with contextlib.suppress(OdfError):
        slices, names = "\n".join(map(_line, state.slices)).encode(), "\n".join(blocks).encode()
        content = _SECTION.join((text, slices, names, _versions(dataset, blocks)))
        cache_file.write(dataset.cache / FILE, _FORMAT, content)


def _versions(dataset: Dataset, blocks: Sequence[str]) -> bytes:
    return sha256(dataset.storage.versions("blocks", blocks).encode()).hexdigest().encode()


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

"""``verify``: check a dataset against its hashes, from the head down to the values in its slices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from airflow_provider_odf.chain import info_files, slices
from airflow_provider_odf.chain.dataset import HEAD, RESTORE, Dataset
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.chain.replay import replay_all
from airflow_provider_odf.errors import ChainCorrupted, TypeUnsupported
from airflow_provider_odf.manifest import model
from airflow_provider_odf.wording import counted


@dataclass(frozen=True)
class Verified:
    """Numbers of intact blocks, slices and records."""

    blocks: int
    slices: int
    records: int


@dataclass(frozen=True)
class Step:
    """What is checked next: a block or a slice, by its number. The size of a slice is in bytes."""

    kind: Literal["block", "slice"]
    number: int
    total: int
    size: int | None = None

    def __str__(self) -> str:
        size = "" if self.size is None else f": {self.size} bytes"
        return f"{self.kind} {self.number} of {self.total}{size}"


Progress = Callable[[Step], None]


def verify(dataset: Dataset, ref: str = HEAD, progress: Progress | None = None, *, is_quick: bool = False) -> Verified:
    """Check the bytes, links and rules of every block, and the size, physical hash, records and logical hash of every
    slice. Then check the refs and the files about blocks.

    :param progress: called after each block, and before each slice.
    :param is_quick: do not read the records of slices: their bytes are those of their writer, which may have written
        other records than it says.
    :raises ChainCorrupted: the first fault; the message names the file.
    :raises DatasetNotFound: there is no such ref.
    """
    if isinstance(dataset.storage, ObjectStorage):
        dataset.storage.forget_copies()
    tell = None if progress is None else lambda number, total: progress(Step("block", number, total))
    state = replay_all(dataset, ref, tell)
    _check_slices(dataset, state.slices, progress, is_quick=is_quick)
    for _, block in dataset.walk(state.head):
        checkpoint = getattr(block.event, "new_checkpoint", None)
        if checkpoint is not None:
            slices.check(dataset, checkpoint)
    for file in info_files.damaged(dataset):
        raise ChainCorrupted(
            f"{file} is damaged: restore it from a backup or remove it. After removal, the next run writes a new "
            "report, the next file whose columns are matched by position is held back, and a publication counts from "
            "the time of its block"
        )
    for name, text in dataset.storage.targets().items():
        dataset.target(name, text)
    return Verified(state.sequence_number + 1, len(state.slices), sum(_count(s) for s in state.slices))


def _count(data_slice: model.DataSlice) -> int:
    return data_slice.offset_interval.end - data_slice.offset_interval.start + 1


def _check_slices(
    dataset: Dataset,
    data_slices: Sequence[model.DataSlice],
    progress: Progress | None,
    *,
    is_quick: bool,
) -> None:
    """Check slices in order. Bytes of the next ones are hashed while the records of one are, and never after them:
    Arrow must not read damaged files."""
    pool = ThreadPoolExecutor(os.cpu_count(), "verify")
    try:
        checks = [pool.submit(slices.check, dataset, data_slice) for data_slice in data_slices]
        for number, (data_slice, check) in enumerate(zip(data_slices, checks, strict=True), 1):
            if progress is not None:
                progress(Step("slice", number, len(data_slices), data_slice.size))
            check.result()
            if not is_quick:
                _check_records(dataset, data_slice)
    finally:
        pool.shutdown(cancel_futures=True)


def _check_records(dataset: Dataset, data_slice: model.DataSlice) -> None:
    file = slices.location(dataset, data_slice)
    from airflow_provider_odf.records.files import open_parquet
    from airflow_provider_odf.records.logical_hash import logical_hash

    try:
        with slices.read_errors(file):
            copy = slices.path(dataset, data_slice)
            with open_parquet(copy) as parquet:
                records = parquet.metadata.num_rows
            if records != _count(data_slice):
                interval = data_slice.offset_interval
                raise ChainCorrupted(
                    f"{file}: has {counted(records, 'record')}, but its block records the offsets {interval.start} to "
                    f"{interval.end}; the file is damaged: {RESTORE}"
                )
            actual = logical_hash(copy)
    except TypeUnsupported as e:
        raise ChainCorrupted(f"{file}: {e}") from e
    if actual != data_slice.logical_hash:
        raise ChainCorrupted(
            f"{file}: logical hash mismatch: the rows have {actual}, but the block records {data_slice.logical_hash}; "
            f"the file is damaged: {RESTORE}"
        )

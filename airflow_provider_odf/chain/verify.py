"""``verify``: check a dataset against its hashes, from the head down to the values in its slices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import info_files, slices, verified_heads
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.dataset_registry import DAMAGED, FOLDER
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.chain.replay import blocks_after, extend, replay_all
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.verified_heads import VerifiedHead
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput, StorageError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.records.stored_file import MISSING, records_fault
from airflow_provider_odf.wording import counted


@dataclass(frozen=True)
class Verified:
    """Numbers of intact blocks, slices and records: of all blocks, or of those after ``base``."""

    blocks: int
    slices: int
    records: int
    base: VerifiedHead | None = None
    """The head up to which everything was taken as verified before."""
    lost: VerifiedHead | None = None
    """A head that was verified before, but is no longer in the history of the head."""

    @property
    def numbers(self) -> dict[str, int]:
        return {"blocks": self.blocks, "slices": self.slices, "records": self.records}

    @property
    def notice(self) -> str:
        """What a user should know beside the numbers, or an empty text."""
        if self.base is not None:
            blocks = f"{counted(self.base.blocks, 'block')} up to {self.base.head[:13]}"
            return f"{blocks} were verified {self.base}, and are not read again"
        if self.lost is None:
            return ""
        return (
            f"the history no longer has block {self.lost.head[:13]}, the head that was verified {self.lost}: the "
            "dataset was reset or replaced, or its head moved back to an earlier block; everything was verified"
        )


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


NOTHING_BEFORE = "nothing was verified here before: everything was verified"
"""The notice of what was to begin after a verified head, and found none."""
Progress = Callable[[Step], None]
Ask = Callable[[protocol.Request], protocol.Success]
"""Sends a request to the engine and waits for its success."""
Part: TypeAlias = "model.DataSlice | model.Checkpoint"


def verify(
    dataset: Dataset,
    ref: str = HEAD,
    progress: Progress | None = None,
    *,
    is_quick: bool = False,
    only_new: bool = False,
    ask: Ask | None = None,
) -> Verified:
    """Check the bytes, links and rules of every block, and the size, physical hash, records and logical hash of every
    slice and checkpoint; also of those that other refs lead to. Then check the files about blocks.

    :param progress: called after each block, and before each slice.
    :param is_quick: do not read the records of slices: their bytes are those of their writer, which may have written
        other records than it says.
    :raises ChainCorrupted: the first fault; the message names the file.
    :raises DatasetGone: the folder has another dataset than the registry says.
    :raises DatasetNotFound: there is no such ref.
    """
    if isinstance(dataset.storage, ObjectStorage):
        dataset.storage.forget_copies()
    known = verified_heads.read(dataset)
    base, state = _start(dataset, ref, known if only_new else None, progress)
    dataset.check_identity(state.dataset_id)
    if dataset.entry is not None and dataset.entry.dataset_id == DAMAGED:
        place = f"{dataset.location[: -len(str(dataset.alias))]}{FOLDER}"
        raise ChainCorrupted(f"{place}: the entry of {dataset.alias} is damaged: the next run of it writes a new one")
    seen, last = (set[str](), -1) if base is None else ({base.head}, base.blocks - 1)
    checkpoints = _parts(dataset, state.head, seen, last)[len(state.slices) :]
    refs = {name: dataset.target(name, text) for name, text in dataset.storage.targets().items()}
    is_head = state.head == refs.get(HEAD)
    is_lost = is_head and known is not None and known[0].head not in seen
    unpublished = [part for target in refs.values() for part in _parts(dataset, target, seen, last)]
    parts = [*state.slices, *checkpoints, *unpublished]
    if ask is None:
        _check_parts(dataset, parts, progress, is_quick=is_quick)
    elif parts:
        _ask_spark(dataset, parts, ask, is_quick=is_quick)
    for file in info_files.damaged(dataset, seen if base is not None else None):
        raise ChainCorrupted(
            f"{file} is damaged: restore it from a backup or remove it. After removal, the next run writes a new "
            "report, the next file whose columns are matched by position is held back, and a publication counts from "
            "the time of its block"
        )
    if is_head and not is_quick:
        verified_heads.keep(dataset, state, base)
    blocks, records = state.sequence_number - last, sum(_count(s) for s in state.slices)
    return Verified(blocks, len(state.slices), records, base, known[0] if known is not None and is_lost else None)


def _start(
    dataset: Dataset, ref: str, known: tuple[VerifiedHead, ChainState] | None, progress: Progress | None
) -> tuple[VerifiedHead | None, ChainState]:
    """Replay the blocks after a verified head, or all if it is None or not in the history. Return it in the first case,
    and the state with the slices of these blocks."""
    if known is not None:
        blocks, is_continued = blocks_after(dataset, known[1].head, ref)
        if is_continued:
            return known[0], extend(dataset, known[1], blocks, are_new=True)
    tell = None if progress is None else lambda number, total: progress(Step("block", number, total))
    return None, replay_all(dataset, ref, tell)


def _count(data_slice: model.DataSlice) -> int:
    return data_slice.offset_interval.end - data_slice.offset_interval.start + 1


def _parts(dataset: Dataset, block_hash: str, seen: set[str], last: int) -> list[Part]:
    """Return the slices of a history, oldest first, then its checkpoints: of the blocks that were not seen before and
    have a greater number than ``last``."""
    data_slices, checkpoints = list[Part](), list[Part]()
    for current, block in dataset.walk(block_hash):
        if current in seen or block.sequence_number <= last:
            break
        seen.add(current)
        for parts, name in ((data_slices, "new_data"), (checkpoints, "new_checkpoint")):
            if (part := getattr(block.event, name, None)) is not None:
                parts.append(part)
    return data_slices[::-1] + checkpoints[::-1]


def _check_parts(dataset: Dataset, parts: Sequence[Part], progress: Progress | None, *, is_quick: bool) -> None:
    """Check slices and checkpoints in order. Bytes of the next ones are hashed while the records of one are, and never
    after them: Arrow must not read damaged files."""
    pool = ThreadPoolExecutor(os.cpu_count(), "verify")
    try:
        checks = [pool.submit(slices.check, dataset, part) for part in parts]
        for number, (part, check) in enumerate(zip(parts, checks, strict=True), 1):
            if progress is not None:
                progress(Step("slice", number, len(parts), part.size))
            check.result()
            file = slices.stored_file(dataset, part)
            if not is_quick and (fault := records_fault(file, slices.path(dataset, part))) is not None:
                raise slices.damaged(dataset, file, fault)
    finally:
        pool.shutdown(cancel_futures=True)


def _ask_spark(dataset: Dataset, parts: Sequence[Part], ask: Ask, *, is_quick: bool) -> None:
    """Check slices and checkpoints in tasks of Spark.

    :raises InvalidInput: executors cannot read the store.
    :raises StorageError: they do not see its folder.
    """
    if not dataset.storage.is_listed:  # a web server
        raise InvalidInput(f"{dataset.location}: Spark reads no store on a web server: verify it without Spark")
    files = tuple(slices.stored_file(dataset, part) for part in parts)
    answer = cast(protocol.VerifySuccess, ask(protocol.VerifyRequest(str(dataset.alias), files, is_quick)))
    for found in answer.faults:
        if found.fault == MISSING and dataset.storage.stat(slices.name(parts[found.number])) is not None:
            raise StorageError(
                f"{files[found.number].path}: the executors of Spark do not see this file: share the store with them "
                "under the same path, or verify it without Spark"
            )
        raise slices.damaged(dataset, files[found.number], found.fault)

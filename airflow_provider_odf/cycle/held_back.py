"""Inputs that are held back: the candidate is kept, like one that a contract rejects, until somebody decides.

An input is held back if it looks like an error of its source rather than a change of the data: it has no rows, it
retracts more rows than ``odf.yaml`` allows, or its columns are matched by position and its header changed.

Where the names of a header are not those of the schema, columns are matched by position. The first such header of a
dataset without records settles the order of its columns: it is kept as ``info/headers/BLOCK_HASH.json``, under the hash
of the block that was merged from it. It counts as soon as that block is part of the chain and no sooner, so no second
write can be lost after ``head`` has moved. Where there are records and no such header, the names of the schema are the
header before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import info_files
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.messages import Limits
from airflow_provider_odf.cycle.sources import POLLING_SOURCE
from airflow_provider_odf.errors import ChainCorrupted, InputHeldBack
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.protocol import PositionalHeader
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.messages import Candidate, Input
    from airflow_provider_odf.protocol import NewSlice

HEADERS = "headers"
"""Folder of files about blocks whose input had columns that were matched by position."""


def retractions(inputs: Iterable[tuple[str, Sequence[NewSlice]]], limits: Limits) -> Iterator[str]:
    """Yield why inputs, each a label and its slices, retract more than the limits allow. Each is compared with the rows
    after the input before it."""
    for label, slices in inputs:
        if not slices or not (new := slices[0]).rows_before:
            continue
        removed = sum(one.changes.removed for one in slices)
        share = removed / new.rows_before
        if new.is_input_empty and not limits.allow_empty_input:
            yield (
                f"{label} has no rows, which retracts all {counted(new.rows_before, 'row')} "
                "(`allow_empty_input: true` in odf.yaml allows that)"
            )
        elif not new.is_input_empty and limits.max_retracted_share is not None and share > limits.max_retracted_share:
            yield (
                f"{label} retracts {removed} of {counted(new.rows_before, 'row')}, more than "
                f"`max_retracted_share: {limits.max_retracted_share:g}` in odf.yaml allows"
            )


def check(dataset: Dataset, candidate: Candidate, record: candidates.Record | None) -> Candidate:
    """Return a candidate, unless its record says that it is held back, and nobody accepted its input.

    :raises InputHeldBack: it is held back; it is kept under a rejected ref.
    """
    if record is None or not record.held:
        return candidate
    reasons = "; ".join(record.held)
    if candidates.is_accepted(dataset, record):
        notice = f"publishing this input once, although it was held back: {reasons}"
        return dataclasses.replace(candidate, notices=(*candidate.notices, notice))
    publish = dataset.command("rejected", "publish", "{}", candidates.reject(dataset, candidate))
    raise InputHeldBack(
        f"input of {candidate.dataset} was held back: {reasons}. The dataset is unchanged. "
        f"To inspect the input: {candidates.show_command(dataset)}; to publish it anyway: {publish}",
        candidate,
        candidate.notices,
    )


def reasons(
    dataset: Dataset,
    new_input: Input,
    candidate: str,
    slices: Sequence[tuple[str, Sequence[NewSlice]]],
    headers: Sequence[PositionalHeader],
    limits: Limits,
) -> tuple[str, ...]:
    """Return why an input is held back. The newest header by position is kept with its candidate.

    :param slices: what each file changes, with its label.
    :param headers: those that the merge has read.
    """
    headers = (*new_input.headers, *headers)
    source_name = new_input.source_name or POLLING_SOURCE
    changed: Iterable[str] = ()
    if positional := [header for header in headers if not header.is_by_name]:
        before = previous_header(dataset, new_input.base, source_name, positional[-1].columns)
        if not is_same_header(before, positional[-1]):
            keep_header(dataset, candidate, source_name, positional[-1])
        changed = header_changes(before, headers)
    return (*changed, *retractions(slices, limits))


def newest_header(dataset: Dataset, head: str, source_name: str) -> PositionalHeader | None:
    """Return the header by which the columns of a source were last matched, or None.

    :raises ChainCorrupted: its file is damaged.
    """
    block_hashes = {name.removesuffix(".json") for name in dataset.storage.names(f"info/{HEADERS}")}
    if not block_hashes:
        return None
    for block_hash, _ in dataset.walk(head):
        if block_hash in block_hashes:
            content = info_files.get(dataset, HEADERS, block_hash)
            if content is None:
                raise ChainCorrupted(
                    f"{dataset.storage.location(f'info/{HEADERS}/{block_hash}.json')} is damaged: it records the "
                    "header by which columns were matched. Restore the file, or remove it; after removal, the next "
                    "file whose columns are matched by position is held back"
                )
            if content["source"] == source_name:
                return protocol.from_json(PositionalHeader, content["header"])
    return None


def previous_header(dataset: Dataset, head: str, source_name: str, columns: Sequence[str]) -> PositionalHeader | None:
    """Return the header to compare with a header by position for these columns: the one by which they were matched,
    else the names of the schema if the newest records of the source were read with these columns. None where there are
    no records, and after an edit of the schema: its author has checked the columns.

    :raises ChainCorrupted: the file of that header is damaged.
    """
    header = newest_header(dataset, head, source_name)
    if header is not None and _key(header.columns) == _key(columns):
        return header
    names = _newest_schema(dataset, head, source_name)
    return PositionalHeader("", names, names) if _key(names) == _key(columns) else None


def _newest_schema(dataset: Dataset, head: str, source_name: str) -> tuple[str, ...]:
    """Return the columns of the read schema of the newest records of a source. Records whose block names no source, as
    those of pushes without an id, may be of any source."""
    has_records = False
    for _, block in dataset.walk(head):
        event = block.event
        if isinstance(event, model.AddData):
            state = event.new_source_state
            has_records |= event.new_data is not None and (state is None or state.source_name == source_name)
        elif isinstance(event, model.SetPollingSource | model.AddPushSource):
            name = event.source_name if isinstance(event, model.AddPushSource) else POLLING_SOURCE
            if has_records and name == source_name:
                return tuple(column.name for column in ddl.columns(event.read) or ())
    return ()


def header_of_block(dataset: Dataset, block_hash: str) -> PositionalHeader | None:
    """Return the header that a block settled; None if it settled none, or the file is damaged."""
    content = info_files.get(dataset, HEADERS, block_hash)
    return protocol.from_json(PositionalHeader, content["header"]) if content is not None else None


def keep_header(dataset: Dataset, block_hash: str, source_name: str, header: PositionalHeader) -> None:
    """Settle the columns of a source on a header once the block is part of the chain."""
    info_files.put(dataset, HEADERS, block_hash, {"source": source_name, "header": protocol.to_json(header)})


def header_changes(before: PositionalHeader | None, headers: Sequence[PositionalHeader]) -> Iterator[str]:
    """Yield a message for each header by position that differs from the one before it. A header by name changes
    nothing; the first one counts as the header before where there is none."""
    for header in headers:
        if header.is_by_name:
            before = before or header
            continue
        if before is not None and not is_same_header(before, header):
            yield (
                f"{header.label}: the header changed from {_list(before.names)} to {_list(header.names)}, but columns "
                f"are matched by position to the schema {_list(header.columns)}: correct the read schema, or publish "
                "the input if columns were only renamed"
            )
        before = header


def header_explanation(header: PositionalHeader) -> str:
    """Return by which header the columns of a source were matched, for messages about values that do not fit."""
    return (
        f"columns were matched by position, the header {_list(header.names)} to the schema "
        f"{_list(header.columns)}: if values are in the wrong columns, check whether the header changed"
    )


def is_same_header(one: PositionalHeader | None, other: PositionalHeader) -> bool:
    """Whether two headers settle the same columns."""
    return one is not None and (_key(one.columns), _key(one.names)) == (_key(other.columns), _key(other.names))


def distinct_headers(headers: Iterable[PositionalHeader]) -> tuple[PositionalHeader, ...]:
    """Return headers in order, without repetitions of the one before."""
    changed: list[PositionalHeader] = []
    for header in headers:
        if not changed or not is_same_header(changed[-1], header):
            changed.append(header)
    return tuple(changed)


def _key(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def _list(names: Sequence[str]) -> str:
    return f"({', '.join(names)})"

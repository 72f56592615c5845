"""Inputs, candidates and outcomes of a cycle. Tasks pass them as XComs, in JSON by `protocol.to_json`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf import multiformats
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.protocol import Changes, ContractReport, OffsetInterval, PositionalHeader
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.evolution.inputs import InputState
    from airflow_provider_odf.instant import Instant

Progress: TypeAlias = Callable[[str], None]


def silent(_message: str) -> None:
    """Discard a progress message."""


@dataclass(frozen=True)
class SourceState:
    """State of a source after an input was read: the ODF SourceState without the source's name."""

    kind: str
    value: str


@dataclass(frozen=True)
class InputFile:
    """Files of one input that are read together. ``event_time`` (RFC 3339) is the source's time of the data. Without
    paths only the source's state has moved. ``stamp`` changes with a file of a glob, whose state is only its name."""

    paths: tuple[str, ...]
    event_time: str
    label: str
    state: SourceState | None = None
    stamp: str | None = None


@dataclass(frozen=True)
class Pushed:
    """Origin of a pushed input: paths and URIs without secrets, none for records and standard input.

    ``is_records`` says that the files are NdJson, whatever the format of the source; ``media_type`` is set where their
    format is not the source's."""

    origins: tuple[str, ...] = ()
    is_records: bool = False
    media_type: str | None = None


@dataclass(frozen=True)
class Input:
    """New input in the work area, to be merged onto the block ``base``."""

    dataset: str
    base: str
    system_time: str
    files: tuple[InputFile, ...]
    source_name: str | None = None
    """Name of the push source, None for the polling source."""
    head: str | None = None
    """Head of the dataset, if ``base`` is an unpublished block: ``base`` then adds a source and is published together
    with this input."""
    directory: str | None = None
    """Name of their directory in the dataset's part of the work area; None for files elsewhere."""
    has_more: bool = False
    """Whether the source has more for the next poll."""
    warnings: tuple[str, ...] = ()
    is_read: bool = False
    """Whether the files are typed Parquet, read and preprocessed already."""
    headers: tuple[PositionalHeader, ...] = ()
    """Headers whose columns were matched by position, of files that were read already."""
    pushed: Pushed | None = None
    """Origin of pushed input; None for polled input."""
    is_passed: bool = False
    """Whether another task passed it on."""

    @property
    def key(self) -> str:
        """The name of this input on this base at this time. Equal keys give equal candidates, on whatever machine."""
        inputs = [
            [f.label, [f.state.kind, f.state.value] if f.state else self._names(f), f.event_time, *_stamp(f)]
            for f in self.files
        ]
        content = json.dumps([self.base, self.system_time, self.source_name, inputs])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def _names(self, file: InputFile) -> list[str]:
        """Return the paths of a file, those in the directory of this input from there on."""
        folder = f"/{self.directory}/"
        return [path[path.rindex(folder) :] if folder in path else path for path in file.paths]

    @property
    def content(self) -> str | None:
        """Name of the content, whatever head it is merged onto; None if unknown. It is made of the source's states for
        polled files, and of the bytes for others."""
        parts: list[object] = [self.source_name]
        for file in self.files:
            if self.pushed is None and file.state is not None:
                parts.append([file.label, file.state.kind, file.state.value, *_stamp(file)])
            elif all(map(os.path.isfile, file.paths)):
                parts.append(list(map(multiformats.hash_file, file.paths)))
            else:
                return None
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _stamp(file: InputFile) -> tuple[str, ...]:
    return (file.stamp,) if file.stamp is not None else ()


@dataclass(frozen=True)
class TransformInput:
    """What is new for a derivative in a state: its inputs, in the order of its transform. Only one task has it."""

    dataset: str
    state: ChainState
    inputs: tuple[InputState, ...]
    system_time: Instant
    warnings: tuple[str, ...] = ()
    directory: None = None
    source_name: None = None

    @property
    def base(self) -> str:
        """The head of the derivative."""
        return self.state.head

    @property
    def key(self) -> str:
        """The name of the heads of the inputs on this base. Equal keys give equal candidates."""
        return hashlib.sha256(json.dumps([self.base, self.content]).encode()).hexdigest()[:16]

    @property
    def content(self) -> str:
        """Name of what is read, whatever head it is added to."""
        content = json.dumps([[i.state.dataset_id, i.state.head] for i in self.inputs])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


NewInput: TypeAlias = Input | TransformInput


@dataclass(frozen=True)
class Limits:
    """Limits of what an input of a Snapshot dataset may retract: all rows, by an empty input, and a share of the
    rows."""

    allow_empty_input: bool = False
    max_retracted_share: float | None = None


@dataclass(frozen=True)
class UpToDate:
    """Nothing to do. ``reason`` and ``notices`` are for the user."""

    reason: str = "up to date"
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """Blocks on top of ``base`` that wait to be published; ``records`` is 0 where only the source's state moved."""

    dataset: str
    base: str
    candidate: str
    ref: str
    records: int = 0
    offsets: OffsetInterval | None = None
    watermark: str | None = None
    size: int = 0
    """Bytes of the new slices."""
    notices: tuple[str, ...] = ()
    changes: Changes | None = None
    """None where an earlier run made the candidate."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one cycle; ``error`` is set where it failed."""

    dataset: str
    candidate: Candidate | None = None
    report: ContractReport | None = None
    up_to_date: str | None = None
    error: OdfError | None = None
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.error is not None:
            return str(self.error)
        if self.candidate is not None and self.candidate.offsets is not None:
            offsets = self.candidate.offsets
            changes = self.candidate.changes
            # Without corrections and removals the changes only repeat the number of records.
            what = f": {changes}" if changes and changes.added < self.candidate.records else ""
            records = counted(self.candidate.records, "record")
            return f"published {records} (offsets {offsets.start}..{offsets.end}){what}"
        return self.up_to_date or "up to date"

"""New files of a source in the work area, each with the state of the source after it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import SourceState


@dataclass(frozen=True)
class SourceFile:
    """One input. ``paths`` are read together (an archive may give several) and do not change until they are discarded.

    ``event_time`` is the source's time of these data, ``state`` what the chain records once they are in it, ``label``
    what messages call the input: the URL as the manifest has it, or the path. Without paths only the state has
    moved."""

    paths: tuple[Path, ...]
    event_time: Instant
    state: SourceState | None
    label: str


@dataclass(frozen=True)
class SourceFiles:
    """New inputs, in the order in which they are to be merged.

    ``directory`` holds their files; hand it to `savepoint.discard` once they are merged or can never be. ``late`` are
    files that came too late for the order of a glob and were left out. ``has_more`` says that the source has yet more
    for the next poll."""

    files: tuple[SourceFile, ...]
    directory: Path
    warnings: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    has_more: bool = False

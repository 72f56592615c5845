"""New files of a source in the work area, each with its source state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import SourceState


@dataclass(frozen=True)
class SourceFile:
    """One input. ``paths`` are read together (an archive may have several) and do not change until they are discarded.

    ``event_time`` is the time that the source has for the data, ``state`` the source state that the chain records with
    it, ``label`` the name of the input in messages: the URL as the manifest spells it, or the path. ``stamp`` is that
    of a file of a glob. Without paths only the state has moved."""

    paths: tuple[Path, ...]
    event_time: Instant
    state: SourceState | None
    label: str
    stamp: str | None = None


@dataclass(frozen=True)
class SourceFiles:
    """New inputs, in merge order.

    ``directory`` holds their files; pass it to `savepoint.discard` once they are merged or cannot be merged.
    ``has_more`` is whether the source has more data for the next poll."""

    files: tuple[SourceFile, ...]
    directory: Path
    warnings: tuple[str, ...] = ()
    has_more: bool = False

"""Values that the fetch steps of one poll share, and their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import SourceState
    from airflow_provider_odf.manifest.template import Environment


@dataclass(frozen=True)
class FetchedFile:
    """One input before any prepare step. Without a path only the source state has moved."""

    path: Path | None
    event_time: Instant
    state: SourceState | None
    label: str
    stamp: str | None = None
    """Modification time and size of the file of a glob, see `local.stamp`."""


@dataclass(frozen=True)
class FetchResult:
    """The result of a fetch step. Without files the dataset is up to date."""

    files: tuple[FetchedFile, ...] = ()
    warnings: tuple[str, ...] = ()
    has_more: bool = False


@dataclass(frozen=True)
class Context:
    """Everything that a poll needs besides the steps of the source."""

    base: Path
    """Folder to which paths are relative."""
    state: SourceState | None
    """Last source state."""
    system_time: Instant
    directory: Path
    """Folder for files. The caller of `poll` passes a folder of the dataset, the same for each poll; the steps of a
    poll have a new folder in it."""
    environment: Environment
    """Variables for templates."""
    tell: Callable[[str], None]
    """Receives messages about long transfers."""
    options: Options = field(default_factory=Options)
    warn: Callable[[str], None] | None = None
    """Receives warnings of a poll without new data; without it ``tell`` receives the warnings of all polls."""
    dataset_id: str | None = None
    """The dataset for which files are sealed. Without it they are neither sealed nor kept for retries."""
    discarded: Mapping[str, str] = field(default_factory=dict)
    """Stamps by path of files of a glob that somebody discarded: they are not fetched again until they change."""
    past_states: Callable[[], Collection[str]] | None = None
    """Returns the values of all states of the source in the chain, with repetitions. It is called only if a glob
    matches files that sort before ingested ones."""
    allows: Callable[[str], bool] | None = None
    """Whether a redirect may lead to a URL; None if the author of the manifest chose the source."""
    unpacks_gzip: bool = False
    """Whether the first prepare step decompresses gzip."""

"""Values that the fetch steps of one poll share, and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import SourceState
    from airflow_provider_odf.manifest.template import Environment
    from airflow_provider_odf.source.options import Options


@dataclass(frozen=True)
class FetchedFile:
    """One input as the source has it, before any prepare step; without a path only the source's state has moved."""

    path: Path | None
    event_time: Instant
    state: SourceState | None
    label: str


@dataclass(frozen=True)
class FetchResult:
    """The result of a fetch step. Without files the dataset is up to date."""

    files: tuple[FetchedFile, ...] = ()
    warnings: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    has_more: bool = False


@dataclass(frozen=True)
class Context:
    """``state`` is the source's state before; what is fetched goes into ``directory``."""

    base: Path
    state: SourceState | None
    system_time: Instant
    directory: Path
    environment: Environment
    tell: Callable[[str], None]
    options: Options
    unpacks_gzip: bool = False
    """Whether the first prepare step takes gzip."""
    allows: Callable[[str], bool] | None = None
    """Whether a redirect may lead to a URL; None where the author of the manifest named the source."""

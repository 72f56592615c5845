"""What the fetch steps of one poll get, and what they return: new inputs as files in the work area."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf.manifest import fetch_kinds
from airflow_provider_odf.source import event_time, source_state
from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import FetchStepUrl, SourceState
    from airflow_provider_odf.manifest.template import Environment

Headers: TypeAlias = tuple[tuple[str, str], ...]

UNKNOWN = "unknown"
"""Version of a source that only a poll can compare: containers, FTP, long content without validators."""


@dataclass(frozen=True)
class SourceFile:
    """One input. ``paths`` are read together (an archive may have several) and do not change until they are discarded.

    ``event_time`` is the time that the source has for the data, ``state`` the source state that the chain records with
    it, ``label`` the name of the input in messages: the URL as the manifest spells it, or the path. ``stamp`` is that
    of a file of a glob, see `local.stamp`. Without paths only the state has moved."""

    paths: tuple[Path, ...]
    event_time: Instant
    state: SourceState | None
    label: str
    stamp: str | None = None


@dataclass(frozen=True, order=True)
class Entry:
    """A file that a glob matches, or an object by its URI: size in bytes, time of change, and a stamp that differs when
    it has changed."""

    path: str
    size: int
    modified: Instant
    stamp: str


@dataclass(frozen=True)
class SourceFiles:
    """New inputs, in merge order. Without files the dataset is up to date.

    ``directory`` holds their files; pass it to `work_area.discard` once they are merged or cannot be merged.
    ``has_more`` is whether the source has more data for the next poll."""

    directory: Path
    files: tuple[SourceFile, ...] = ()
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
    is_published: bool = True
    """Whether a published block has the state; else a rejected candidate."""
    allows: Callable[[str], bool] | None = None
    """Whether a redirect may lead to a URL; None if the author of the manifest chose the source."""
    unpacks_gzip: bool = False
    """Whether the first prepare step decompresses gzip."""

    def result(self, *files: SourceFile, warnings: tuple[str, ...] = (), has_more: bool = False) -> SourceFiles:
        return SourceFiles(self.directory, files, warnings, has_more)


@dataclass(frozen=True)
class Fetch:
    """How to fetch a step. ``texts`` are its texts with templates filled, ``has_savepoint`` whether its files are worth
    their space until they are merged, and ``comparable_states`` the kinds of states that the source can compare."""

    run: Callable[[Context], SourceFiles]
    texts: object = None
    has_savepoint: bool = False
    comparable_states: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Watched:
    """A source that is checked for a change, and how far it was read. ``rejected`` and ``discarded`` are stamps by path
    of files of a glob that are not new."""

    base: Path
    state: SourceState | None
    environment: Environment
    options: Options
    client: httpx.AsyncClient | None
    rejected: Mapping[str, str]
    discarded: Mapping[str, str]


@dataclass(frozen=True)
class Address:
    """The URL of a step and its headers with their templates filled, and the URL for messages: as written, without user
    and password."""

    step: FetchStepUrl
    url: str
    headers: Headers
    label: str

    def new_input(
        self, context: Context, path: Path, state: SourceState, place: str, modified: Instant | None
    ) -> SourceFiles:
        """Return a fetched file as new input, or none if its state is that of the context. ``place`` is the path in
        which event times are looked for, ``modified`` the time of change that the source says."""
        if source_state.is_same(state, context.state):
            return context.result()
        time = event_time.of(
            fetch_kinds.event_time(self.step), paths=(place,), modified=modified, system_time=context.system_time
        )
        return context.result(SourceFile((path,), time, state, self.label))

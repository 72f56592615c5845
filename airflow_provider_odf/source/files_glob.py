"""FetchStep::FilesGlob: every new file of a folder, or object of a bucket, is an input of its own, in order.

ByName (the default) orders by base name, byte by byte; the state is the base name of the last file. ByEventTime orders
by event time, then base name. Either way a file that sorts before the state is skipped. A warning names it if it was
never ingested, such as a second file with the name of an ingested file. A change of an ingested file is not noticed.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import multiformats, object_stores
from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import EventTimeSourceFromMetadata, EventTimeSourceFromSystemTime
from airflow_provider_odf.source import event_time, local, objects, source_state
from airflow_provider_odf.source.fetching import Context, Entry, Fetch, SourceFile, SourceFiles, Watched
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStepFilesGlob, SourceState


@dataclass(frozen=True)
class _Place:
    """How files of a place are listed and copied. ``copy`` returns a file as it was when it had the copied bytes,
    ``stamps`` those by path of files that are not gone; ``concurrent`` files are copied at the same time."""

    entries: Callable[[str, Path, Options], list[Entry]]
    entries_async: Callable[[str, Path, Options], Awaitable[list[Entry]]]
    copy: Callable[[Entry, Path, Context], Entry]
    stamps: Callable[[Collection[str], Path], dict[str, str]]
    concurrent: int = 1


_FOLDERS = _Place(local.entries, local.entries_async, local.copy_entry, local.stamps)
_BUCKETS = _Place(objects.entries, objects.entries_async, objects.copy_entry, objects.stamps, concurrent=8)


def _place(path: str) -> _Place:
    return _BUCKETS if object_stores.is_object(path) else _FOLDERS


@dataclass(frozen=True, order=True)
class _Match:
    """A matching file; sorts in the order of its glob."""

    time: Instant | None
    name: str
    entry: Entry

    @property
    def path(self) -> str:
        return self.entry.path

    @property
    def state(self) -> SourceState:
        return source_state.etag(self.name) if self.time is None else source_state.event_time(self.time, self.name)

    def is_new(self, state: SourceState | None) -> bool:
        """Return whether the file sorts after the state."""
        if self.time is None:
            last = source_state.value_of(state, source_state.ETAG)
            return last is None or self.name > last
        last = source_state.value_of(state, source_state.EVENT_TIME)
        if last is None:
            return True
        time, _, name = last.partition(" ")
        return (self.time, self.name) > (Instant.parse(time), name)


def prepare(step: FetchStepFilesGlob, _context: Context) -> Fetch:
    """Return how to fetch a step; a glob has no templates."""
    return Fetch(lambda context: _fetch(step, context))


async def check(step: FetchStepFilesGlob, watched: Watched) -> str | None:
    """Return the version of new files. It includes their stamps, so it changes while a file is being written."""
    entries = await _place(step.path).entries_async(step.path, watched.base, watched.options)
    new, _ = _new(_ordered(entries, step, Instant.now()), watched.state, watched.discarded)
    if _stamps(new) in ({}, watched.rejected):
        return None
    return multiformats.sha3_256(json.dumps(list(_stamps(new).items())).encode())


def _fetch(step: FetchStepFilesGlob, context: Context) -> SourceFiles:
    """Return copies of the new files."""
    place = _place(step.path)
    files = _ordered(place.entries(step.path, context.base, context.options), step, context.system_time)
    if not files and context.state is None:
        where = f" in {context.base}" if place is _FOLDERS else ""
        raise SourceError(f"{step.path}: no file matches{where}", at=("path",))
    new, warnings = _new(files, context.state, context.discarded)
    skipped = _skipped([f for f in files if not f.is_new(context.state)], context.past_states)
    fetched, unfinished = _copies(new, step, context, place)
    late = (_warning(step.path, skipped),) if skipped else ()
    return context.result(*fetched, warnings=(*late, *warnings, *unfinished))


def stamps(
    step: FetchStepFilesGlob,
    base: Path,
    state: SourceState | None,
    options: Options,
    *,
    system_time: Instant,
    discarded: Mapping[str, str],
) -> dict[str, str]:
    """Return the stamps by path of the files that the next poll would fetch, without opening them.

    :raises InvalidInput: the order needs event times, and the step has none.
    :raises SourceError: a link leads out of the folder, or the bucket cannot be read.
    """
    entries = _place(step.path).entries(step.path, base, options)
    new, _ = _new(_ordered(entries, step, system_time), state, discarded)
    return _stamps(new)


def changed(base: Path, known: Mapping[str, str]) -> list[str]:
    """Return the paths of files whose stamps are no longer the known ones, without files that are gone."""
    if not known:
        return []
    current = _place(next(iter(known))).stamps(known, base)
    return [path for path, stamp in known.items() if current.get(path, stamp) != stamp]


def _stamps(files: Iterable[_Match]) -> dict[str, str]:
    return {file.path: file.entry.stamp for file in files}


def _new(
    files: list[_Match], state: SourceState | None, discarded: Mapping[str, str]
) -> tuple[list[_Match], tuple[str, ...]]:
    """Return the files after a state that are neither discarded nor empty at the end, with warnings about empty ones.

    Many writers create a file before they fill it. An empty file is thus not ingested while it is the last: otherwise
    the source state would pass it, and its content would never be read.
    """
    new = [file for file in files if file.is_new(state) and discarded.get(file.path) != file.entry.stamp]
    count = next((i for i in range(len(new), 0, -1) if new[i - 1].entry.size), 0)
    warnings = []
    if passed := [file.path for file in new[:count] if not file.entry.size]:
        warnings.append(
            f"empty files that sort before other files count as ingested: {listed(passed)}. "
            "Later polls do not read them, even if they are no longer empty"
        )
    if last := [file.path for file in new[count:]]:
        warnings.append(f"skipped empty files: {listed(last)}. A later poll reads them when they are no longer empty")
    return new[:count], tuple(warnings)


def _ordered(entries: Iterable[Entry], step: FetchStepFilesGlob, system_time: Instant) -> list[_Match]:
    """Return the files in order."""
    source = step.event_time or EventTimeSourceFromSystemTime()
    by_time = step.order == "ByEventTime"
    if by_time and isinstance(source, EventTimeSourceFromSystemTime):
        raise InvalidInput(f"{step.path}: order ByEventTime needs eventTime FromPath or FromMetadata")
    return sorted(
        _Match(_time(step, entry, system_time) if by_time else None, _name(entry.path), entry) for entry in entries
    )


def _copies(
    new: list[_Match], step: FetchStepFilesGlob, context: Context, place: _Place
) -> tuple[tuple[SourceFile, ...], tuple[str, ...]]:
    """Copy files up to the first one that cannot be read now, to keep the order."""

    def copy(index: int) -> SourceFile:
        file, target = new[index], context.directory / f"file-{index:05}"
        copied = place.copy(file.entry, target, context)
        time = file.time or _time(step, copied, context.system_time)
        return SourceFile((target,), time, file.state, file.path, copied.stamp)

    fetched: list[SourceFile] = []
    with ThreadPoolExecutor(place.concurrent) as pool:
        try:
            for file in pool.map(copy, range(len(new))):
                fetched.append(file)
        except SourceUnavailable as e:
            if not fetched:
                raise
            return tuple(fetched), (f"{e} (this file and those after it wait for the next poll)",)
    return tuple(fetched), ()


def _time(step: FetchStepFilesGlob, entry: Entry, system_time: Instant) -> Instant:
    modified = entry.modified if isinstance(step.event_time, EventTimeSourceFromMetadata) else None
    return event_time.of(
        step.event_time, paths=(_name(entry.path), entry.path), modified=modified, system_time=system_time
    )


def _name(path: str) -> str:
    name = path.rpartition("/")[2]
    try:
        path.encode()
    except UnicodeEncodeError:
        raise SourceError(f"{path!r}: the file's path is not UTF-8: rename the file or its folder") from None
    return name


def _skipped(old: list[_Match], past_states: Callable[[], Collection[str]] | None) -> list[str]:
    """Return the files that were never ingested. Of files with the same base name, the oldest were ingested: as many as
    the chain has states with that name."""
    if not old or past_states is None:
        return []
    counts, skipped = Counter(past_states()), list[_Match]()
    for value, same in itertools.groupby(old, key=lambda file: file.state.value):
        skipped += sorted(same, key=lambda file: file.entry.modified)[counts[value] :]
    return [file.path for file in sorted(skipped)]


def _warning(pattern: str, skipped: list[str]) -> str:
    files = listed(skipped)
    advice = "ingest them with `odf push`, then move them to another folder"
    return f"{pattern}: skipped files that sort before ingested ones: {files} ({advice})"

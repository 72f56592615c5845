"""FetchStep::FilesGlob: every new file is an input of its own, in order.

ByName (the default) orders by base name, byte by byte; the state is the base name of the last file. ByEventTime orders
by event time, then base name. Either way a file that sorts before the state is skipped. A warning names it if it was
never ingested, such as a second file with the name of an ingested file. A change of an ingested file is not noticed.
"""

from __future__ import annotations

import asyncio
import errno
import fnmatch
import functools
import glob
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import multiformats
from airflow_provider_odf.error_conversion import storage_error
from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.file_status import ABSENT, is_file, is_folder, status
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import EventTimeSourceFromMetadata, EventTimeSourceFromSystemTime
from airflow_provider_odf.source import event_time, local, source_state
from airflow_provider_odf.source.fetching import Context, Fetch, SourceFile, SourceFiles, Watched
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStepFilesGlob, SourceState
    from airflow_provider_odf.source.options import Options


_MAGIC = re.compile(r"[*?[]")
_OF_SOURCE = (errno.EACCES, errno.EPERM)


@dataclass(frozen=True, order=True)
class _Match:
    """A matching file; sorts in the order of its glob."""

    time: Instant | None
    name: str
    path: str

    @property
    def state(self) -> SourceState:
        return source_state.etag(self.name) if self.time is None else source_state.event_time(self.time, self.name)


def prepare(step: FetchStepFilesGlob, _context: Context) -> Fetch:
    """Return how to fetch a step; a glob has no templates."""
    return Fetch(lambda context: _fetch(step, context))


async def check(step: FetchStepFilesGlob, watched: Watched) -> str | None:
    """Return the version of new files. It includes size and time, so it changes while a file is being written."""
    new = await asyncio.to_thread(
        stamps,
        step,
        watched.base,
        watched.state,
        watched.options,
        system_time=Instant.now(),
        discarded=watched.discarded,
    )
    if new in ({}, watched.rejected):
        return None
    return multiformats.sha3_256(json.dumps(list(new.items())).encode())


def _fetch(step: FetchStepFilesGlob, context: Context) -> SourceFiles:
    """Return copies of the new files."""
    files = _listing(step, context.base, context.system_time, context.options)
    if not files and context.state is None:
        raise SourceError(f"{step.path}: no file matches in {context.base}", at=("path",))
    new, warnings = _new(files, context.base, context.state, context.discarded)
    skipped = _skipped([f for f in files if not _is_new(f, context.state)], context.base, context.past_states)
    fetched, unfinished = _copies(new, step, context)
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
    :raises SourceError: a link leads out of the folder.
    """
    new, _ = _new(_listing(step, base, system_time, options), base, state, discarded)
    return {file.path: stamp for file in new if (stamp := _stamp(base, file.path)) is not None}


def changed(base: Path, known: Mapping[str, str]) -> list[str]:
    """Return the paths of files whose stamps are no longer the known ones, without files that are gone."""
    return [path for path, stamp in known.items() if _stamp(base, path) not in (stamp, None)]


def _new(
    files: list[_Match], base: Path, state: SourceState | None, discarded: Mapping[str, str]
) -> tuple[list[_Match], tuple[str, ...]]:
    """Return the files after a state that are neither discarded nor empty at the end, with warnings about empty ones.

    Many writers create a file before they fill it. An empty file is thus not ingested while it is the last: otherwise
    the source state would pass it, and its content would never be read.
    """
    new = [file for file in files if _is_new(file, state) and discarded.get(file.path) != _stamp(base, file.path)]
    empty = [_is_empty(base, file.path) for file in new]
    count = next((i for i in range(len(new), 0, -1) if not empty[i - 1]), 0)
    passed = [file.path for file, is_empty in zip(new[:count], empty, strict=False) if is_empty]
    warnings = []
    if passed:
        warnings.append(
            f"empty files that sort before other files count as ingested: {listed(passed)}. "
            "Later polls do not read them, even if they are no longer empty"
        )
    if last := [file.path for file in new[count:]]:
        warnings.append(f"skipped empty files: {listed(last)}. A later poll reads them when they are no longer empty")
    return new[:count], tuple(warnings)


def _listing(step: FetchStepFilesGlob, base: Path, system_time: Instant, options: Options) -> list[_Match]:
    """Return the matching files in order."""
    by_time = step.order == "ByEventTime"
    if by_time and isinstance(step.event_time or EventTimeSourceFromSystemTime(), EventTimeSourceFromSystemTime):
        raise InvalidInput(f"{step.path}: order ByEventTime needs eventTime FromPath or FromMetadata")
    with _refusals(step.path):
        paths = _paths(step.path, base)
    if not options.outside_links:
        _refuse_outside(step.path, base, paths, options)
    return sorted(_Match(_time(step, base, p, system_time) if by_time else None, _name(p), p) for p in paths)


def _paths(pattern: str, base: Path) -> list[str]:
    """Return the matching files, each once: ``**`` reaches a file on several ways, and links form circles."""
    folder: Callable[[str], str] = functools.cache(os.path.realpath)
    paths: dict[tuple[str, str], str] = {}
    for path in sorted(matching(pattern, base), key=lambda path: (path.count(os.sep), path)):
        parent, name = os.path.split(os.path.join(base, path))
        paths.setdefault((folder(parent), name), path)
    return list(paths.values())


@contextmanager
def _refusals(pattern: str) -> Iterator[None]:
    """Raise each OSError as an error of the source, or of this machine if that lacks resources."""
    try:
        yield
    except OSError as e:
        if e.errno not in _OF_SOURCE:
            raise storage_error(e) from e
        raise SourceError(
            f"{pattern}: {e.filename} cannot be read: {e.strerror}: correct its permissions", at=("path",)
        ) from None


def _refuse_outside(pattern: str, base: Path, paths: list[str], options: Options) -> None:
    """Refuse links to files elsewhere: who may write to the folder could read all files of the worker by a link."""
    if not glob.has_magic(pattern):
        return
    folder = pattern[: _MAGIC.search(pattern).start()].rpartition("/")  # type: ignore[union-attr]
    root = os.path.realpath(base / f"{folder[0]}{folder[1]}")
    for path in paths:
        if not Path(os.path.realpath(base / path)).is_relative_to(root):
            raise SourceError(
                f"{path}: a symbolic link points outside {root}, which is refused: remove the link, or set "
                f"{options.where('outside_links')} = follow"
            )


def _is_new(file: _Match, state: SourceState | None) -> bool:
    """Return whether a file sorts after the state."""
    if file.time is None:
        last = source_state.value_of(state, source_state.ETAG)
        return last is None or file.name > last
    last = source_state.value_of(state, source_state.EVENT_TIME)
    if last is None:
        return True
    time, _, name = last.partition(" ")
    return (file.time, file.name) > (Instant.parse(time), name)


def _copies(
    new: list[_Match], step: FetchStepFilesGlob, context: Context
) -> tuple[tuple[SourceFile, ...], tuple[str, ...]]:
    """Copy files up to the first one that is still being written, to keep the order."""
    fetched: list[SourceFile] = []
    for file in new:
        try:
            fetched.append(_copy(file, step, context, len(fetched)))
        except SourceUnavailable:
            if not fetched:
                raise
            return tuple(fetched), (f"{file.path} is still being written: the next poll fetches it",)
    return tuple(fetched), ()


def _copy(file: _Match, step: FetchStepFilesGlob, context: Context, index: int) -> SourceFile:
    target = context.directory / f"file-{index:05}"
    copied = local.copy(context.base / file.path, target, file.path)
    time = file.time or event_time.of(
        step.event_time, paths=(file.name, file.path), modified=local.modified(copied), system_time=context.system_time
    )
    return SourceFile((target,), time, file.state, file.path, local.stamp(copied))


def _time(step: FetchStepFilesGlob, base: Path, path: str, system_time: Instant) -> Instant:
    is_metadata = isinstance(step.event_time, EventTimeSourceFromMetadata)
    modified = local.modified(local.stat(base / path, path)) if is_metadata else None
    return event_time.of(step.event_time, paths=(_name(path), path), modified=modified, system_time=system_time)


def _stat(base: Path, path: str) -> os.stat_result | None:
    """Return the status of a file, or None if it is gone: its copy then says so."""
    with _refusals(path):
        return status(base / path)


def _stamp(base: Path, path: str) -> str | None:
    stat = _stat(base, path)
    return local.stamp(stat) if stat is not None else None


def _is_empty(base: Path, path: str) -> bool:
    stat = _stat(base, path)
    return stat is not None and stat.st_size == 0


def _name(path: str) -> str:
    name = Path(path).name
    try:
        path.encode()
    except UnicodeEncodeError:
        raise SourceError(f"{path!r}: the file's path is not UTF-8: rename the file or its folder") from None
    return name


def _skipped(old: list[_Match], base: Path, past_states: Callable[[], Collection[str]] | None) -> list[str]:
    """Return the files that were never ingested. Of files with the same base name, the oldest were ingested: as many as
    the chain has states with that name."""
    if not old or past_states is None:
        return []
    counts, skipped = Counter(past_states()), list[_Match]()
    for value, same in itertools.groupby(old, key=lambda file: file.state.value):
        files = list(same)
        if counts[value] and len(files) > counts[value]:
            files.sort(key=lambda file: local.stat(base / file.path, file.path).st_mtime_ns)
        skipped += files[counts[value] :]
    return [file.path for file in skipped]


def _warning(pattern: str, skipped: list[str]) -> str:
    files = listed(skipped)
    advice = "ingest them with `odf push`, then move them to another folder"
    return f"{pattern}: skipped files that sort before ingested ones: {files} ({advice})"


_ANY_DEPTH = "**"


def matching(pattern: str, base: str | os.PathLike[str]) -> list[str]:
    """Return the paths of matching files, relative to the base if the pattern is. A path can occur several times.

    ``**`` matches folders at any depth, without hidden ones, and follows links unless they lead back.

    :raises OSError: a folder or a file cannot be read.
    """
    if glob.has_magic(pattern):
        root, parts = ("/" if pattern.startswith("/") else ""), [part for part in pattern.split("/") if part]
        paths: Iterator[str] = _expand(os.fspath(base), root, parts) if not pattern.endswith("/") else iter(())
    else:
        paths = iter((pattern,))
    return [path for path in paths if is_file(os.path.join(base, path))]


def _expand(base: str, folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the paths below a folder that match the parts of a pattern. Paths of missing files can be among them."""
    part, rest = parts[0], parts[1:]
    if part == _ANY_DEPTH:
        for below in _folders(base, folder, ()):
            yield from _expand(base, below, rest or ["*"])
        return
    for name in _names(base, folder, part) if glob.has_magic(part) else [part]:
        path = os.path.join(folder, name)
        if rest:
            yield from _expand(base, path, rest)
        else:
            yield path


def _folders(base: str, folder: str, above: tuple[str, ...]) -> Iterator[str]:
    """Yield a folder and those below it, except links to a folder above them."""
    real = os.path.realpath(os.path.join(base, folder))
    if real in above:
        return
    yield folder
    for name in _names(base, folder, "*"):
        path = os.path.join(folder, name)
        if is_folder(os.path.join(base, path)):
            yield from _folders(base, path, (*above, real))


def _names(base: str, folder: str, part: str) -> list[str]:
    """Return the names in a folder that match a part of a pattern, none if there is no folder. Hidden ones match only
    a part that begins with a dot."""
    try:
        names = os.listdir(os.path.join(base, folder) or ".")
    except OSError as e:
        if e.errno not in ABSENT:
            raise
        return []
    matches = re.compile(fnmatch.translate(part)).match
    return [name for name in names if matches(name) and (part.startswith(".") or not name.startswith("."))]

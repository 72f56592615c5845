"""Local files: ``file://`` URLs, and copies that do not change with their originals."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import time as clock
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.error_conversion import storage_error
from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.file_status import status
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import fetch_kinds
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.source import matching, source_state
from airflow_provider_odf.source.fetching import Address, Context, Entry, Fetch, SourceFiles, Watched
from airflow_provider_odf.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_odf.source.options import Options

_PIECE = 1 << 20
_MILLISECOND = 1_000_000
_SECOND = 1_000_000_000
_TICK = 20 * _MILLISECOND
_ATTEMPTS = 3
_PAUSE = 0.3
_OF_SOURCE = (errno.EACCES, errno.EPERM)


def prepare(address: Address, context: Context) -> Fetch:
    """Return how to fetch a path or ``file://`` URL."""
    return Fetch(lambda context: _fetch(address, context))


async def check(address: Address, watched: Watched) -> str | None:
    """Return the stamp of a changed file, or None if it has not changed."""
    return await in_thread(_check, address, watched)


def _check(address: Address, watched: Watched) -> str | None:
    path, label = path_of(address.url, watched.base), address.label
    try:
        stat = status(path)
    except OSError as e:
        raise SourceError(f"{label}: {e.strerror}: {path}") from None
    if stat is None:
        raise SourceUnavailable(f"{label}: no such file")
    return None if source_state.is_same(source_state.last_modified(modified(stat)), watched.state) else stamp(stat)


def _fetch(address: Address, context: Context) -> SourceFiles:
    """Copy the file if its modification time differs from the state."""
    path, label = path_of(address.url, context.base), address.label
    if source_state.is_same(source_state.last_modified(modified(stat(path, label))), context.state):
        return context.result()
    target = context.directory / "file"
    read = modified(copy(path, target, label))
    return address.new_input(context, target, source_state.last_modified(read), str(path), read)


def entries(pattern: str, base: Path, options: Options) -> list[Entry]:
    """Return the files that match, each once: ``**`` reaches a file on several ways, and links form circles.

    :raises SourceError: a folder or file cannot be read, or a link leads out of the folder.
    """
    folder: Callable[[str], str] = functools.cache(os.path.realpath)
    found: dict[tuple[str, str], Entry] = {}
    with _refusals(pattern):
        for path in sorted(matching.paths(pattern, base), key=lambda path: (path.count(os.sep), path)):
            parent, name = os.path.split(os.path.join(base, path))
            info = status(base / path)
            if info is not None and S_ISREG(info.st_mode):
                found.setdefault((folder(parent), name), _entry(path, info))
    if not options.outside_links:
        _refuse_outside(pattern, base, [entry.path for entry in found.values()], options)
    return list(found.values())


async def entries_async(pattern: str, base: Path, options: Options) -> list[Entry]:
    """Return the same from a thread."""
    return await in_thread(entries, pattern, base, options)


def copy_entry(entry: Entry, target: Path, context: Context) -> Entry:
    """Copy a file of a glob, and return it as it was when it had the copied bytes."""
    return _entry(entry.path, copy(context.base / entry.path, target, entry.path))


def stamps(paths: Collection[str], base: Path) -> dict[str, str]:
    """Return the stamps by path of files, without those that are gone."""
    infos = {path: _status(base, path) for path in paths}
    return {path: stamp(info) for path, info in infos.items() if info is not None}


def _entry(path: str, info: os.stat_result) -> Entry:
    return Entry(path, info.st_size, modified(info), stamp(info))


def _status(base: Path, path: str) -> os.stat_result | None:
    with _refusals(path):
        return status(base / path)


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
    if (fixed := matching.fixed(pattern)) == pattern:
        return
    root = os.path.realpath(base / fixed[: fixed.rfind("/") + 1])
    for path in paths:
        if not Path(os.path.realpath(base / path)).is_relative_to(root):
            raise SourceError(
                f"{path}: a symbolic link points outside {root}, which is refused: remove the link, or set "
                f"{options.where('outside_links')} = follow"
            )


def is_local(url: str) -> bool:
    """Return whether a URL is a ``file://`` URL or a path."""
    scheme = urlsplit(url).scheme
    return scheme == "file" or not ("://" in url or scheme in fetch_kinds.REMOTE)


def path_of(url: str, base: Path) -> Path:
    """Return the path of a ``file://`` URL or of a path relative to ``base``.

    >>> str(path_of("file:///data/a%20b.csv", Path("/dags")))
    '/data/a b.csv'
    >>> str(path_of("data/a.csv", Path("/dags")))
    '/dags/data/a.csv'
    """
    parts = urlsplit(url)
    if parts.scheme != "file":
        return base / url
    host = "" if parts.netloc == "localhost" else parts.netloc
    return base / unquote(host + parts.path)


def modified(stat: os.stat_result) -> Instant:
    """Return the modification time, rounded to milliseconds like the reference implementation."""
    return Instant((stat.st_mtime_ns + _MILLISECOND // 2) // _MILLISECOND * _MILLISECOND)


def stamp(stat: os.stat_result) -> str:
    """Return a text that differs when a file has changed: its modification time and size."""
    return f"{stat.st_mtime_ns} {stat.st_size}"


def stat(path: Path, label: str) -> os.stat_result:
    """Return the status of a file.

    :raises SourceError: there is no such file, or it is a directory, a pipe or a device.
    :raises InvalidInput: the path is not valid.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError(f"{path}: not found: correct the path, or put the file there", at=("url",)) from None
    except ValueError:
        raise urls.invalid(label) from None
    except OSError as e:
        raise SourceError(f"{label}: {e.strerror}: {path}") from None
    if S_ISDIR(status.st_mode):
        raise SourceError(f"{label}: is a folder: use FilesGlob for its files")
    if not S_ISREG(status.st_mode):
        raise SourceError(f"{label}: is a pipe or a device, not a file")
    return status


def copy(source: Path, target: Path, label: str) -> os.stat_result:
    """Copy a file and return its status when it had the copied bytes.

    A file that changes meanwhile is copied again. After a very recent change it waits, since the next change could have
    the same time.

    :raises SourceError: the file cannot be read.
    :raises SourceUnavailable: the file keeps changing.
    """
    for attempt in range(_ATTEMPTS):
        clock.sleep(_PAUSE * attempt)
        stat(source, label)
        if (status := _copy(source, target, label)) is not None:
            return status
    raise SourceUnavailable(f"{label}: the file changed while it was read: retry later")


def _copy(source: Path, target: Path, label: str) -> os.stat_result | None:
    try:
        with source.open("rb") as file:
            before = os.fstat(file.fileno())
            _wait_until_settled(before)
            with target.open("wb") as copy:
                shutil.copyfileobj(file, copy, _PIECE)
                size = copy.tell()
            after = os.fstat(file.fileno())
    except FileNotFoundError:
        return None  # just replaced or deleted: the next attempt decides
    except PermissionError:
        raise SourceError(f"{label}: no permission to read {source}") from None
    is_stable = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and size == after.st_size
    return after if is_stable else None


def _wait_until_settled(stat: os.stat_result) -> None:
    """Wait until a further change of the file would show in its modification time."""
    granularity = _TICK if stat.st_mtime_ns % _SECOND else _SECOND
    remaining = stat.st_mtime_ns + granularity - clock.time_ns()
    if 0 < remaining <= granularity:
        clock.sleep(remaining / _SECOND)

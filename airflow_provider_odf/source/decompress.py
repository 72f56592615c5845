"""PrepStep::Decompress: gzip (all members) and zip, streamed, with limits against decompression bombs.

The files of a zip that match ``subPath`` are one input, in the order of their names. ``*`` also matches ``/``. Without
``subPath`` the archive must hold one file. Entries are never written under their own names.
"""

from __future__ import annotations

import fnmatch
import gzip
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from airflow_provider_odf.error_conversion import system_error
from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.source.options import megabytes
from airflow_provider_odf.source.transfer import Progress

if TYPE_CHECKING:
    from airflow_provider_odf.source.fetching import Context
    from airflow_provider_odf.source.options import Options

_PIECE = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_NO_MEMBER = "Not a gzipped file"
_ENCRYPTED = 0x1
_MAX_LISTED = 10

ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, struct.error)
"""Errors of the library for a damaged zip file."""


def is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


def decode(raw: Path, encoding: str, label: str, context: Context) -> Path:
    """Return a downloaded file without the content encoding that its server declares.

    :raises SourceError: the encoding is not gzip, or the content is not of that encoding.
    """
    path = raw.with_name("download")
    if encoding in ("", "identity"):
        return raw.rename(path)
    if encoding not in ("gzip", "x-gzip"):
        raise SourceError(f"{label}: the server sent content encoding {encoding!r} instead of gzip")
    if not is_gzip(raw):
        if not raw.stat().st_size:
            return raw.rename(path)
        raise SourceError(f"{label}: the server declares content encoding gzip, but the content is not gzip")
    gunzip(raw, path, label, context.options, context.tell)
    if context.unpacks_gzip and not is_gzip(path):
        # Some servers declare .gz files as an encoding: then the gzip of the manifest is what came over the wire.
        return raw.replace(path)
    raw.unlink()
    return path


def gunzip(source: Path, target: Path, label: str, options: Options, tell: Callable[[str], None]) -> None:
    """Unpack all members of a gzip file.

    :raises SourceError: it is not gzip, is truncated or damaged, or exceeds a limit.
    """
    if not is_gzip(source):
        raise SourceError(f"{label}: not a gzip file: remove the Decompress step, or correct its format")
    try:
        with gzip.open(source, "rb") as packed, target.open("wb") as file:
            _Unpacking(label, source.stat().st_size, options, tell).copy(iter(lambda: packed.read(_PIECE), b""), file)
    except EOFError:
        raise SourceError(f"{label}: the gzip file is truncated: check that the file is complete") from None
    except (gzip.BadGzipFile, zlib.error) as e:
        if str(e).startswith(_NO_MEMBER):
            raise SourceError(
                f"{label}: unexpected data after the end of the gzip file: check that the file is complete"
            ) from None
        raise SourceError(f"{label}: the gzip file is damaged: {e}") from None


def unzip(
    source: Path, target: Path, sub_path: str | None, label: str, options: Options, tell: Callable[[str], None]
) -> tuple[Path, ...]:
    """Unpack the files that match ``subPath`` to numbered names that begin with ``target``, and return these.

    :raises SourceError: it is not a zip, is damaged or encrypted, has unsafe names, exceeds a limit, or has no matching
        file.
    """
    with _zip_errors(label):
        archive = zipfile.ZipFile(source)
    with archive:
        entries = _select(archive, sub_path, label)
        unpacking = _Unpacking(label, source.stat().st_size, options, tell)
        return tuple(
            _extract(archive, entry, target.with_name(f"{target.name}-{index:05}"), unpacking)
            for index, entry in enumerate(entries)
        )


@contextmanager
def _zip_errors(label: str) -> Iterator[None]:
    """Turn errors of the library into `SourceError`. Only for reading: a damaged position raises `OSError`, too."""
    try:
        yield
    except NotImplementedError as e:
        raise SourceError(f"{label}: the zip file cannot be decompressed: {e}") from None
    except ZIP_ERRORS as e:
        if system_error(e) is not None:
            raise
        raise SourceError(f"{label}: not a zip file, or damaged or truncated: {zip_problem(e)}") from None


def is_file(entry: zipfile.ZipInfo) -> bool:
    """Return whether an entry is a file; a damaged one may have no name."""
    return bool(entry.filename) and not entry.is_dir()


def zip_problem(error: Exception) -> str:
    """Return what is wrong with a zip file."""
    return "a name in it is not UTF-8" if isinstance(error, UnicodeError) else str(error)


def _select(archive: zipfile.ZipFile, sub_path: str | None, label: str) -> list[zipfile.ZipInfo]:
    for entry in archive.infolist():
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise SourceError(f"{label}: the zip file has an entry with an unsafe name: {entry.filename!r}")
    files = {e.filename: e for e in archive.infolist() if is_file(e) and not e.filename.startswith("__MACOSX/")}
    chosen = sorted(files) if sub_path is None else _matching(sorted(files), sub_path)
    if not chosen:
        raise SourceError(f"{label}: the zip file has no {sub_path or 'file'}; {_listing(files)}")
    if sub_path is None and len(chosen) > 1:
        raise SourceError(f"{label}: the zip file has several files: choose one with subPath; {_listing(files)}")
    if locked := [name for name in chosen if files[name].flag_bits & _ENCRYPTED]:
        raise SourceError(f"{label}: {locked[0]} in the zip file is encrypted")
    if links := [name for name in chosen if stat.S_ISLNK(files[name].external_attr >> 16)]:
        raise SourceError(f"{label}: {links[0]} in the zip file is a link, not a file")
    return [files[name] for name in chosen]


def _matching(names: list[str], sub_path: str) -> list[str]:
    sub_path = sub_path.removeprefix("./")
    return [sub_path] if sub_path in names else [name for name in names if fnmatch.fnmatchcase(name, sub_path)]


def _listing(names: dict[str, zipfile.ZipInfo]) -> str:
    shown = ", ".join(sorted(names)[:_MAX_LISTED]) or "nothing"
    return f"it has {shown}" + (f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else "")


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, unpacking: _Unpacking) -> Path:
    with _zip_errors(unpacking.label):
        packed = archive.open(entry)
    with packed, target.open("wb") as file:
        unpacking.copy(_pieces(packed, unpacking.label), file)
    return target


def _pieces(packed: IO[bytes], label: str) -> Iterator[bytes]:
    while True:
        with _zip_errors(label):
            piece = packed.read(_PIECE)
        if not piece:
            return
        yield piece


class _Unpacking:
    """Copies decompressed data of one file of ``packed_size`` bytes, and stops at the limits."""

    def __init__(self, label: str, packed_size: int, options: Options, tell: Callable[[str], None]) -> None:
        self.label, self._packed_size, self._options = label, packed_size, options
        self._progress = Progress(f"{label}: decompressed", tell)
        self._size = 0

    def copy(self, pieces: Iterator[bytes], file: IO[bytes]) -> None:
        for piece in pieces:
            self._size += len(piece)
            self._check()
            file.write(piece)
            self._progress.reached(self._size)

    def _check(self) -> None:
        if self._size > self._options.largest_file:
            limit = megabytes(self._options.largest_file)
            raise SourceError(
                f"{self.label}: decompresses to more than {limit}, the limit for decompressed files: "
                f"increase {self._options.where('largest_file')}, or split the file"
            )
        if self._size > max(self._options.ratio_free, self._options.largest_ratio * self._packed_size):
            raise SourceError(
                f"{self.label}: decompresses to more than {self._options.largest_ratio} times its size: refused as a "
                "decompression bomb"
            )

"""Exceptions of the operating system, and faults of this package, as errors of the package.

Whoever runs several datasets turns every exception of one of them into an `OdfError` here, so that it stops no other.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_provider_odf.errors import OdfError, StorageError, UnexpectedError

_LONGEST_TEXT = 300
_PERMISSIONS = "check the permissions of the store"
_HINTS = {
    errno.ENOSPC: "free space on this file system and run again",
    errno.EDQUOT: "the disk quota is used up: free space and run again",
    errno.EFBIG: "raise the limit for the size of files (ulimit -f) and run again",
    errno.EMFILE: "raise the limit for open files (ulimit -n) and run again",
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: "the file system is read-only",
    errno.ENAMETOOLONG: "shorten the name of the dataset or file",
    errno.ENOTDIR: "a file lies where a folder should be: move it away",
    errno.EEXIST: "a file lies where a folder should be: move it away",
    errno.EISDIR: "a folder lies where a file should be: move it away",
    errno.EIO: "check the disk",
}


def storage_error(error: OSError, path: Path | None = None) -> StorageError:
    """Return what the operating system refused, with the file and what to do. ``path`` is the file that was wanted; the
    error may name a folder above it."""
    place = Path(error.filename) if isinstance(error.filename, str) else path
    if path is not None and place not in (path, *path.parents):
        place = path
    hint = _HINTS.get(error.errno or 0)
    return StorageError(f"{place or 'store or work area'}: {error.strerror or error}" + (f" ({hint})" if hint else ""))


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise what the operating system refuses as a StorageError that names the file.

    :raises StorageError: any OSError within.
    """
    try:
        yield
    except OSError as e:
        raise storage_error(e, path) from e


def as_odf_error(error: Exception) -> OdfError:
    """Return an exception as an error of the package: itself if it is one, a StorageError for what the operating system
    refused, else an UnexpectedError with the class, the text and the place, whose cause is the exception."""
    if isinstance(error, OdfError):
        return error
    converted = storage_error(error) if isinstance(error, OSError) else _unexpected(error)
    converted.__cause__ = error
    return converted


def _unexpected(error: Exception) -> UnexpectedError:
    text = " ".join(str(error).split())
    shown = f": {text[:_LONGEST_TEXT]}" + ("…" if len(text) > _LONGEST_TEXT else "") if text else ""
    return UnexpectedError(
        f"unexpected {type(error).__name__}{shown} (in {_place(error)}); this is a fault of the provider: "
        "please report it with the traceback (-v prints it)"
    )


def _place(error: Exception) -> str:
    """``cycle/merge.py:65``: the last line of this package on the way to an exception."""
    package = Path(__file__).parent
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    own = [(file, line) for file, line in frames if file.is_relative_to(package)]
    if not own:
        return "another library"
    file, line = own[-1]
    return f"{file.relative_to(package)}:{line}"

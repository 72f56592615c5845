"""Conversion of exceptions of the operating system, and of bugs of this package, to `OdfError`.

Code that runs several datasets converts each exception of one of them here, so that it does not stop the others.
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
    errno.EROFS: "mount the file system writable",
    errno.ENAMETOOLONG: "shorten the name of the dataset or file",
    errno.ENOTDIR: "a file exists where a folder is expected: move it",
    errno.EEXIST: "a file exists where a folder is expected: move it",
    errno.EISDIR: "a folder exists where a file is expected: move it",
    errno.EIO: "check the disk",
}


def storage_error(error: OSError, path: Path | None = None) -> StorageError:
    """Return the StorageError of an OSError, with the file and the next step. ``path`` is the file of the operation;
    the OSError may name a folder above it."""
    place = Path(error.filename) if isinstance(error.filename, str) else path
    if path is not None and place not in (path, *path.parents):
        place = path
    hint = _HINTS.get(error.errno or 0)
    return StorageError(f"{place or 'store or work area'}: {error.strerror or error}" + (f" ({hint})" if hint else ""))


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise each OSError within the context as a StorageError that names the file.

    :raises StorageError: the operating system reported an error.
    """
    try:
        yield
    except OSError as e:
        raise storage_error(e, path) from e


def as_odf_error(error: Exception) -> OdfError:
    """Return an exception as an `OdfError`.

    An OSError becomes a StorageError, any other exception an UnexpectedError with its class, text and place. The
    exception is the ``__cause__``.
    """
    if isinstance(error, OdfError):
        return error
    converted = storage_error(error) if isinstance(error, OSError) else _unexpected(error)
    converted.__cause__ = error
    return converted


def _unexpected(error: Exception) -> UnexpectedError:
    text = " ".join(str(error).split())
    message = f": {text[:_LONGEST_TEXT]}" + ("…" if len(text) > _LONGEST_TEXT else "") if text else ""
    return UnexpectedError(
        f"unexpected {type(error).__name__}{message} (in {_place(error)}); this is a bug of the provider: "
        "report it with the traceback (-v prints it)"
    )


def _place(error: Exception) -> str:
    """Return the innermost line of this package in a traceback, such as ``cycle/merge.py:65``."""
    package = Path(__file__).parent
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    own = [(file, line) for file, line in frames if file.is_relative_to(package)]
    if not own:
        return "another library"
    file, line = own[-1]
    return f"{file.relative_to(package)}:{line}"

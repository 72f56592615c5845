"""Conversion of exceptions of the operating system, and of bugs of this package, to `OdfError`.

Code that runs several datasets converts each exception of one of them here, so that it does not stop the others.
"""

from __future__ import annotations

import errno
import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_provider_odf.errors import InvalidInput, OdfError, StorageError, UnexpectedError

_LONGEST_TEXT = 300
_PERMISSIONS = "check the permissions of the store"
_HINTS = {
    errno.ENOSPC: "free space on this file system and run again",
    errno.EDQUOT: "the disk quota is used up: free space and run again",
    errno.EFBIG: "raise the limit for the size of files (ulimit -f) and run again",
    errno.EMFILE: "raise the limit for open files (ulimit -n) and run again",
    errno.ENFILE: "too many files are open on this machine: close some and run again",
    errno.ENOMEM: "free memory and run again",
    errno.ESTALE: "the network file system lost the file: check its mount and run again",
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: "mount the file system writable",
    errno.ENAMETOOLONG: "shorten the name of the dataset or file",
    errno.ENOTDIR: "a file exists where a folder is expected: move it",
    errno.EEXIST: "a file exists where a folder is expected: move it",
    errno.EISDIR: "a folder exists where a file is expected: move it",
    errno.EIO: "check the disk",
}


_FOR_TASKS = re.compile(r"(airflow\.providers\.apache|datafusion|pandas|pyarrow|pyspark)\b")
"""Modules of packages that `airflow-provider-odf-core` does not need."""
_BY_TEXT = {os.strerror(number).lower(): number for number in _HINTS}
_TEXTS = "|".join(map(re.escape, _BY_TEXT))
_QUOTED = re.compile(
    rf"(?:\[errno \d+\]|\bjava\.n?io\.[\w.$]+:|SparkOutOfMemoryError:)[^\n]*?({_TEXTS})|({_TEXTS}) \(os error \d+\)",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:^|[\s'\"(])(/[^\s'\":()]+)")


def system_error(error: BaseException) -> OSError | None:
    """Return what the operating system refused, None if an exception has another cause.

    Lack of memory counts as ``ENOMEM``. An OSError without a number is an error of a library.
    """
    if isinstance(error, OSError) and error.errno in _HINTS:
        return error
    if isinstance(error, MemoryError):
        return OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    return None


def quoted_system_error(text: str) -> OSError | None:
    """Return the error of the operating system that a message of Python, Arrow, Java or Rust quotes, with its file if
    the message names one."""
    match = _QUOTED.search(text)
    if match is None:
        return None
    number = _BY_TEXT[(match[1] or match[2]).lower()]
    line = text[match.start() :].partition("\n")[0]
    path = _PATH.search(line)
    return OSError(number, os.strerror(number), path[1] if path else None)


def storage_error(error: OSError, path: Path | None = None) -> StorageError:
    """Return the StorageError of an OSError, with the file and the next step. ``path`` is the file of the operation;
    the OSError may name a folder above it."""
    place = Path(error.filename) if isinstance(error.filename, str) else path
    if path is not None and place not in (path, *path.parents):
        place = path
    hint = _HINTS.get(error.errno or 0)
    # Arrow puts its own words around the text of the operating system.
    text = os.strerror(error.errno) if hint and error.errno else error.strerror or error
    place = place or Path("memory" if error.errno == errno.ENOMEM else "store or work area")
    return StorageError(f"{place}: {text}" + (f" ({hint})" if hint else ""))


@contextmanager
def storage_errors(path: Path | str) -> Iterator[None]:
    """Raise each OSError within the context as a StorageError that names the file.

    :raises StorageError: the operating system reported an error.
    """
    try:
        yield
    except OSError as e:
        raise storage_error(e, Path(path)) from e


def missing_package(error: BaseException) -> str | None:
    """Return the module of a package that only tasks need, if an import failed without it."""
    is_missing = isinstance(error, ModuleNotFoundError) and _FOR_TASKS.match(error.name or "")
    return is_missing[0] if is_missing else None


def extra_not_installed(package: str, extra: str) -> InvalidInput:
    """Return the error that a package of an extra is missing."""
    return InvalidInput(f"{package} is not installed: `pip install 'airflow-provider-odf[{extra}]'`")


def not_installed(package: str) -> InvalidInput:
    """Return the error that a package is missing that only tasks need."""
    return InvalidInput(
        f"{package} is not installed, since airflow-provider-odf-core is for components that run no tasks: "
        "`pip install airflow-provider-odf` on workers, and where `odf` runs"
    )


def as_odf_error(error: Exception) -> OdfError:
    """Return an exception as an `OdfError`.

    An OSError and a lack of memory become a StorageError, a package that only tasks need an InvalidInput, any other
    exception an UnexpectedError with its class, text and place. The exception is the ``__cause__``.
    """
    if isinstance(error, OdfError):
        return error
    converted = _converted(error)
    converted.__cause__ = error
    return converted


def _converted(error: Exception) -> OdfError:
    if package := missing_package(error):
        return not_installed(package)
    refused = error if isinstance(error, OSError) else system_error(error)
    return storage_error(refused) if refused is not None else _unexpected(error)


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

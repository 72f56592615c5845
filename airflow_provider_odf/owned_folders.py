"""Temporary directories owned by a running process. The next process of the same kind removes those of killed ones.

The owner holds a lock on a file in its directory, and the kernel drops the lock of a killed process. The file names the
owner's machine, because some file systems do not show the locks of other machines.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

OWNER = ".owner"
"""Name of the file in a directory that its owner holds a lock on."""
_PREFIX = "odf-"


class TemporaryDirectory:
    """Directory for temporary files of this process, until `remove`. Creating it removes those of killed processes.

    :param kind: part of its name, which starts with ``odf-``.
    :param parent: its parent directory, by default the system's directory for temporary files.
    """

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        sweep(parent, f"{_PREFIX}*")
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=parent))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove the directory. It stays locked meanwhile; after an interruption the next process removes the rest."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


@contextmanager
def owned_directory(directory: Path) -> Iterator[None]:
    """Own a directory within the context. After an error the next process may remove it, like one of a killed
    process."""
    with _locked(directory) as lock:
        yield
        # Empty before it is free: another process may have opened it already.
        os.truncate(lock.fileno(), 0)
        (directory / OWNER).unlink(missing_ok=True)


def was_killed(directory: Path) -> bool:
    """Return whether the owner of a directory was a process of this machine that was killed."""
    with suppress(OSError):  # another user's, one without a lock, or one that is just being made or removed
        lock = os.open(directory / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(lock, "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file.read() == socket.gethostname().encode()
    return False


def is_owned(directory: Path) -> bool:
    """Return whether a running process owns a directory, as far as the file system shows its lock."""
    try:
        lock = os.open(directory / OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # nobody's, or another user's
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(lock)
    return False


def sweep(parent: Path, pattern: str) -> None:
    """Remove the directories of killed processes."""
    for directory in filter(was_killed, parent.glob(pattern)):
        shutil.rmtree(directory, ignore_errors=True)


def _locked(directory: Path) -> IO[bytes]:
    lock = (directory / OWNER).open("wb", buffering=0)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.write(socket.gethostname().encode())
    return lock

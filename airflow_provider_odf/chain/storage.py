"""Files of one dataset: blocks, data, checkpoints and refs in the ODF layout.

Two promises carry everything else. A file is seen whole or not at all, under a name that is never given twice; and
of several writers that move a ref from the same value, exactly one succeeds. Both hold when a process is killed at any
moment: what it leaves behind (``.pending-…`` files) nobody reads.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.failures import storage_errors

LOCK_TIMEOUT = 60.0
"""Seconds that a writer waits for another one that is moving a ref, which takes milliseconds."""

PENDING = ".pending-"
"""Beginning of the names of unfinished files."""
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Storage(Protocol):
    """Where the files of one dataset lie. Paths are relative to the dataset: ``blocks/f1620…``."""

    @property
    def uri(self) -> str:
        """URI of the dataset's directory."""
        ...

    def read(self, path: str) -> bytes:
        """:raises StorageError: it is not there or cannot be read."""
        ...

    def get(self, path: str) -> bytes | None:
        """The content of a file, None if there is none."""
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write a file whole, in place of the one that may be there."""
        ...

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file whole unless it is there already; whether it was written."""
        ...

    def adopt(self, path: str, source: Path) -> None:
        """Move a finished local file in under a name made of its hash; ``source`` is gone afterwards."""
        ...

    def local_path(self, path: str) -> Path:
        """Where engines read a file."""
        ...

    def get_ref(self, name: str) -> str | None:
        """The block hash that a ref points at, None if there is no such ref."""
        ...

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        """Move a ref from ``expected`` (None: it does not exist) to ``new`` (None: remove it).

        :raises CommitConflict: it is not at ``expected``; nothing was changed.
        """
        ...

    def refs(self) -> list[str]:
        """Names of all refs, sorted."""
        ...

    def names(self, folder: str) -> list[str]:
        """Names of the files in a folder, sorted; none where there is no such folder."""
        ...


@dataclass(frozen=True)
class LocalStorage:
    """A dataset in a directory, also one that several machines share."""

    root: Path

    @property
    def uri(self) -> str:
        return self.root.as_uri()

    def local_path(self, path: str) -> Path:
        return self.root / path

    def read(self, path: str) -> bytes:
        with storage_errors(self.root / path):
            return (self.root / path).read_bytes()

    def get(self, path: str) -> bytes | None:
        with storage_errors(self.root / path):
            try:
                return (self.root / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def put(self, path: str, data: bytes) -> None:
        target = self.root / path
        with storage_errors(target), _pending(target, data) as pending:
            pending.replace(target)
            _sync_directory(target.parent)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        target = self.root / path
        with storage_errors(target):
            if _touch(target):
                return False
            with _pending(target, data) as pending:
                return _link(pending, target)

    def adopt(self, path: str, source: Path) -> None:
        target = self.root / path
        with storage_errors(target):
            _make_directory(target.parent)
            if not _touch(target) and not _move(source, target):
                with _pending(target, source) as pending:
                    _link(pending, target)
            _touch(target)
            source.unlink(missing_ok=True)

    def get_ref(self, name: str) -> str | None:
        data = self.get(_ref_path(name))
        return None if data is None else data.decode("ascii", "replace").strip()

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        path = _ref_path(name)
        with self._lock():
            current = self.get_ref(name)
            if current != expected:
                raise CommitConflict(f"{self.root / path} is at {current}, not at {expected}: another writer moved it")
            if new is not None:
                self.put(path, new.encode("ascii"))
            elif current is not None:
                with storage_errors(self.root / path):
                    (self.root / path).unlink()
                    _sync_directory(self.root / "refs")

    def refs(self) -> list[str]:
        return self.names("refs")

    def names(self, folder: str) -> list[str]:
        with storage_errors(self.root / folder):
            try:
                names = os.listdir(self.root / folder)
            except FileNotFoundError:
                return []
        return sorted(name for name in names if _REF.fullmatch(name))

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """One writer of refs at a time, among all processes; the kernel frees the lock of one that dies."""
        path = self.root / "refs" / ".lock"
        with storage_errors(path):
            _make_directory(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _acquire(descriptor, path)
            yield
        finally:
            os.close(descriptor)


def _ref_path(name: str) -> str:
    if not _REF.fullmatch(name):
        raise InvalidInput(f"{name!r} is not the name of a ref: letters, digits, '.', '_' and '-' are allowed")
    return f"refs/{name}"


def _acquire(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT
    pause = 0.001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StorageError(f"{path}: another process has held the lock for {LOCK_TIMEOUT:.0f} s") from None
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        except OSError as e:
            raise StorageError(f"{path}: the file system cannot lock files: {e.strerror}") from e
        else:
            return


@contextlib.contextmanager
def _pending(target: Path, content: bytes | Path) -> Iterator[Path]:
    """A finished file beside ``target``, safely on the disk; removed again if it was not moved."""
    _make_directory(target.parent)
    pending = target.parent / f"{PENDING}{secrets.token_hex(8)}"
    try:
        # Not tempfile: its files are private, but those of a store are shared as the umask says.
        with open(os.open(pending, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            if isinstance(content, Path):
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield pending
    finally:
        pending.unlink(missing_ok=True)


def _touch(path: Path) -> bool:
    """Whether a file is there; if so it counts as new, so that nobody removes it as left behind by somebody else."""
    try:
        os.utime(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:  # another user's
        return path.exists()
    return True


def _link(finished: Path, target: Path) -> bool:
    """Give a finished file its name unless somebody else has it; whether it was given."""
    try:
        os.link(finished, target)
    except FileExistsError:
        return False
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # No hard links here. Two writers of one name write the same bytes: names are hashes of contents.
        finished.replace(target)
    _sync_directory(target.parent)
    return True


def _move(source: Path, target: Path) -> bool:
    """Link a file in from the same file system; False if it lies on another one."""
    descriptor = os.open(source, os.O_RDONLY)
    try:
        if os.fstat(descriptor).st_dev != target.parent.stat().st_dev:
            return False
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _link(source, target)
    return True


def _make_directory(path: Path) -> None:
    if path.is_dir():
        return
    _make_directory(path.parent)
    path.mkdir(exist_ok=True)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    """Make names in a directory survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

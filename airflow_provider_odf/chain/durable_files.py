"""Files on a local disk that survive crashes and power failures: written under a temporary name, synced, then
linked."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from airflow_provider_odf import closed_files
from airflow_provider_odf.chain.storage import PENDING
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.fsync import fsync

LOCK_TIMEOUT = 60.0
"""Seconds that a writer waits for another one that is moving a ref; a move takes milliseconds."""


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock file among all processes; the kernel frees the lock of a process that dies.

    :raises StorageError: another process holds it for longer than `LOCK_TIMEOUT`, or the file system has no locks.
    """
    with storage_errors(path):
        make_directory(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, closed_files.FILE)
    try:
        _acquire(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT
    pause = 0.001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StorageError(
                    f"{path}: locked by another process for more than {LOCK_TIMEOUT:.0f} s; "
                    "check for a stuck process that uses this store, then run again"
                ) from None
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        except OSError as e:
            raise StorageError(
                f"{path}: the file system does not support file locks ({e.strerror}); move the store to one that does"
            ) from e
        else:
            return


@contextlib.contextmanager
def pending(target: Path, content: bytes | Path | BinaryIO, *, is_synced: bool = True) -> Iterator[Path]:
    """Write a finished file beside ``target``; remove it afterwards if it was not moved.

    :param is_synced: as in `write`.
    """
    make_directory(target.parent)
    pending = target.parent / f"{PENDING}{secrets.token_hex(8)}"
    try:
        # Not tempfile: its files are private, but those of a store are shared with the group as the umask says.
        with open(os.open(pending, os.O_WRONLY | os.O_CREAT | os.O_EXCL, closed_files.FILE), "wb") as file:
            if isinstance(content, Path):
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
            elif isinstance(content, bytes):
                file.write(content)
            else:
                shutil.copyfileobj(content, file, 1 << 20)
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        yield pending
    finally:
        pending.unlink(missing_ok=True)


def write(path: Path, data: bytes, *, is_synced: bool = True) -> None:
    """Write a whole file, which readers see completely or not at all; replace an existing one.

    :param is_synced: whether the file is on the disk afterwards; without it, a loss of power may damage the file.
    :raises StorageError: the file cannot be written.
    """
    with storage_errors(path), pending(path, data, is_synced=is_synced) as finished:
        finished.replace(path)
        if is_synced:
            fsync(path.parent)


def link(finished: Path, target: Path) -> bool:
    """Move a finished file to its name unless that exists; return whether it was moved."""
    try:
        os.link(finished, target)
    except FileExistsError:
        return False
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # No hard links here. Two writers of one name write the same bytes: names are hashes of contents.
        finished.replace(target)
    fsync(target.parent)
    return True


def move(source: Path, target: Path) -> bool:
    """Link a file of the same file system to its name; return False if it is on another file system."""
    if source.stat().st_dev != target.parent.stat().st_dev:
        return False
    closed_files.close(source)
    fsync(source)
    link(source, target)
    return True


def make_directory(path: Path) -> None:
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(closed_files.FOLDER, exist_ok=True)
    fsync(path.parent)

"""Storage of the files of a dataset: the operations that a store needs of a file system or an object store.

Two promises carry everything else. Readers see a file completely or not at all, and its name is never used for other
content. If several writers move a ref from the same value, exactly one succeeds. Both hold when a process is killed at
any moment: nobody reads the ``.pending-…`` files that it leaves behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from airflow_provider_odf.errors import InvalidInput

PENDING = ".pending-"
"""Prefix of the names of unfinished files."""

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class FileInfo:
    """Properties of a file: size in bytes, time in seconds since 1970, and numbers that change with every write to
    it."""

    name: str
    size: int
    modified: float
    version: tuple[int | str, ...]


class Storage(Protocol):
    """A folder of a store. Names of files are relative to it: ``blocks/f1620…``."""

    @property
    def is_listed(self) -> bool:
        """Whether folders and files can be listed; if not, each folder looks empty."""
        ...

    @property
    def uri(self) -> str:
        """URI of the folder."""
        ...

    def location(self, name: str = "") -> str:
        """Return the path of a file on this machine, or its URI, for engines and users."""
        ...

    def exists(self) -> bool:
        """Return whether the folder exists."""
        ...

    def folder(self, name: str) -> Storage:
        """Return a folder in this one, which may not exist."""
        ...

    def folders(self) -> list[str]:
        """Return the names of the folders in this one, except those that start with a dot."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted, except those that start with a dot."""
        ...

    def files(self, folder: str) -> list[FileInfo]:
        """Return the files in a folder by name, unfinished ones included."""
        ...

    def stat(self, name: str) -> FileInfo | None:
        """Return the properties of a file, or None if there is no such file."""
        ...

    def versions(self, folder: str, names: Sequence[str]) -> str:
        """Return a text that changes with every write to one of the files of a folder.

        :raises StorageError: one of them is missing.
        """
        ...

    def get(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file."""
        ...

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for sequential reading.

        :raises StorageError: the file is missing, or a read fails while it is open.
        """
        ...

    def put(self, name: str, data: bytes) -> None:
        """Write a whole file; replace an existing one."""
        ...

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write a whole file unless it exists; return whether it was written."""
        ...

    def adopt(self, name: str, source: Path | str) -> None:
        """Take a finished file of this machine, or the URI of an object in the same bucket, under a name made of its
        hash. It may be moved."""
        ...

    def sync(self, folder: str = "") -> None:
        """Make the names of the files in a folder survive a loss of power, also those that a process has written that
        was killed before it did so. Nothing builds on a file of another process before."""
        ...

    def remove(self, name: str, modified: float) -> bool:
        """Remove a file unless a writer used it after ``modified``; return whether it was removed."""
        ...

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all files below it, if it is there."""
        ...

    def get_ref(self, name: str) -> str | None:
        """Return the block hash of a ref, or None if there is no such ref."""
        ...

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        """Move a ref from ``expected`` (None: it does not exist) to ``new`` (None: remove it).

        :raises CommitConflict: the ref is not at ``expected``; nothing was changed.
        """
        ...

    def refs(self, beginnings: str | tuple[str, ...] = "") -> list[str]:
        """Return the names of all refs that begin with a text, or one of several, sorted."""
        ...

    def targets(self, beginnings: str | tuple[str, ...] = "") -> dict[str, str]:
        """Return these refs with their block hashes."""
        ...


def is_ref(name: str) -> bool:
    """Return whether a file of ``refs/`` is a ref."""
    return bool(_REF.fullmatch(name))


def ref_file(name: str) -> str:
    """Return the file of a ref.

    :raises InvalidInput: ``name`` is not the name of a ref.
    """
    if not is_ref(name):
        raise InvalidInput(f"{name!r} is not the name of a ref: letters, digits, '.', '_' and '-' are allowed")
    return f"refs/{name}"

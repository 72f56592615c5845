"""Where the files of a dataset lie: the operations that a store needs of a file system or an object store.

Two promises carry everything else. A file is seen whole or not at all, and its name is never used for other content;
and of several writers that move a ref from the same value, exactly one succeeds. Both hold when a process is killed at
any moment: nobody reads the ``.pending-…`` files that it leaves behind.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from airflow_provider_odf.errors import InvalidInput

PENDING = ".pending-"
"""Beginning of the names of unfinished files."""

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class FileInfo:
    """A file: its size in bytes, its time in seconds since 1970, and numbers that change with every write to it."""

    name: str
    size: int
    modified: float
    version: tuple[int | str, ...]


class Storage(Protocol):
    """A folder of a store. Names of files are relative to it: ``blocks/f1620…``."""

    @property
    def uri(self) -> str:
        """URI of the folder."""
        ...

    def location(self, name: str = "") -> str:
        """Return where engines and people find a file: its path on this machine, or its URI."""
        ...

    def exists(self) -> bool:
        """Return whether the folder is there."""
        ...

    def folder(self, name: str) -> Storage:
        """Return a folder in this one, which may not exist."""
        ...

    def folders(self) -> list[str]:
        """Return the names of the folders in this one, but for those that begin with a dot."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted, but for those that begin with a dot."""
        ...

    def files(self, folder: str) -> list[FileInfo]:
        """Return the files in a folder by name, unfinished ones included."""
        ...

    def stat(self, name: str) -> FileInfo | None:
        """Return what is known of a file, or None if there is no such file."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file."""
        ...

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading from its start to its end.

        :raises StorageError: it is missing, or a read fails while it is open.
        """
        ...

    def put(self, name: str, data: bytes) -> None:
        """Write a whole file; replace the one that may be there."""
        ...

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write a whole file unless it is there already; return whether it was written."""
        ...

    def adopt(self, name: str, source: Path) -> None:
        """Move a finished file of the work area to a name made of its hash; ``source`` is gone afterwards."""
        ...

    def remove(self, name: str, modified: float) -> bool:
        """Remove a file unless a writer needed it after ``modified``; return whether it was removed."""
        ...

    def get_ref(self, name: str) -> str | None:
        """Return the block hash that a ref points at, or None if there is no such ref."""
        ...

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        """Move a ref from ``expected`` (None: it does not exist) to ``new`` (None: remove it).

        :raises CommitConflict: it is not at ``expected``; nothing was changed.
        """
        ...

    def refs(self) -> list[str]:
        """Return the names of all refs, sorted."""
        ...


def is_ref(name: str) -> bool:
    """Return whether a file of ``refs/`` is a ref."""
    return bool(_REF.fullmatch(name))


def ref_file(name: str) -> str:
    """Return the file of a ref.

    :raises InvalidInput: not the name of a ref.
    """
    if not is_ref(name):
        raise InvalidInput(f"{name!r} is not the name of a ref: letters, digits, '.', '_' and '-' are allowed")
    return f"refs/{name}"

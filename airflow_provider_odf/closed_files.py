"""Files of a store and its work area are closed to users who are neither their owner nor in their group.

They hold fetched data, which may be personal. The umask decides on the rights of the group, and the set-group-ID bit of
a folder on the group itself. Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = 0o660
FOLDER = 0o770
_OTHERS = 0o007


def close_to_others() -> int:
    """Close all files that this process and its children make from now on, and return the umask before."""
    before = os.umask(0o077)
    os.umask(before | _OTHERS)
    return before


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Close the files that this process makes within the context. A umask belongs to the process: this is for tasks,
    which have one of their own, not for servers."""
    before = close_to_others()
    try:
        yield
    finally:
        os.umask(before)


def make_folders(path: Path) -> None:
    """Make a folder and those above it that do not exist. ``Path.mkdir`` gives its mode to the last alone."""
    if not path.is_dir():
        make_folders(path.parent)
        path.mkdir(FOLDER, exist_ok=True)


def close_file(path: Path) -> None:
    """Take the rights of others from a file that another program made."""
    mode = path.stat().st_mode
    if mode & _OTHERS:
        path.chmod(mode & 0o777 & ~_OTHERS)

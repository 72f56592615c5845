"""Whether a file is there, where an answer "no" leaves data or a contract out, or has it written again.

``os.path.exists`` and its kin answer "no" also if the operating system refuses to tell, for example for lack of
permissions. Standard library only.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""Errors of paths at which there is no file. A link that leads to itself leads nowhere, like one to a missing file."""


def status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the status of a file or folder, following links, or None if there is none.

    :raises OSError: the operating system does not tell.
    """
    try:
        return os.stat(path)
    except OSError as e:
        if e.errno in ABSENT:
            return None
        raise


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a regular file.

    :raises OSError: the operating system does not tell.
    """
    info = status(path)
    return info is not None and stat.S_ISREG(info.st_mode)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a folder.

    :raises OSError: the operating system does not tell.
    """
    info = status(path)
    return info is not None and stat.S_ISDIR(info.st_mode)


def touch(path: Path) -> bool:
    """Return whether a file exists, and set its time to now, so that garbage collection keeps it."""
    try:
        os.utime(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:  # another user's
        return path.exists()
    return True

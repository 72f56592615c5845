"""Files of a store and its work area are closed to users who are neither their owner nor in their group.

They hold fetched data, which may be personal. The umask decides on the rights of the group, and the set-group-ID bit of
a folder on the group itself. Standard library only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = 0o660
FOLDER = 0o770
_OTHERS = 0o007

_umask_of_user: int | None = None
"""The umask before this process closed its files, None while it has not."""


def close_to_others() -> None:
    """Close all files that this process and its children make from now on."""
    global _umask_of_user
    _umask_of_user = _umask()
    os.umask(_umask_of_user | _OTHERS)


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Close the files that this process makes within the context. A umask belongs to the process: this is for tasks,
    which have one of their own, not for servers."""
    global _umask_of_user
    before = _umask(), _umask_of_user
    close_to_others()
    try:
        yield
    finally:
        os.umask(before[0])
        _umask_of_user = before[1]


def as_user(path: Path) -> None:
    """Give a file that the user named, outside of the store, the mode that the user's umask says."""
    if _umask_of_user is not None:
        path.chmod(0o666 & ~_umask_of_user)


def spark_settings() -> dict[str, str]:
    """Return the setting of Spark that closes its files. Hadoop sets their modes itself, by default as umask 022."""
    umask = _umask() if _umask_of_user is None else _umask_of_user
    return {"spark.hadoop.fs.permissions.umask-mode": f"{umask | _OTHERS:03o}"}


def make_folders(path: Path) -> None:
    """Make a folder and those above it that do not exist. ``Path.mkdir`` gives its mode to the last alone."""
    if not path.is_dir():
        make_folders(path.parent)
        path.mkdir(FOLDER, exist_ok=True)


def user_cache() -> Path:
    """Return the user's folder of disposable files, which may not exist: ``ODF_CACHE_DIR``, by default
    ``~/.cache/airflow-provider-odf``; in a container of YARN, which has no home, a folder that the containers of its
    application on this machine share."""
    if "CONTAINER_ID" in os.environ and (folders := os.environ.get("LOCAL_DIRS")):
        return Path(os.environ.get("ODF_CACHE_DIR") or os.path.join(folders.split(",")[0], "airflow-provider-odf"))
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("ODF_CACHE_DIR") or os.path.join(home, "airflow-provider-odf"))


def close(path: Path) -> None:
    """Take the rights of others from a file or folder that another program made."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        path.chmod(mode & ~_OTHERS)


def _umask() -> int:
    """Return the umask of this process, which only a change shows."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask

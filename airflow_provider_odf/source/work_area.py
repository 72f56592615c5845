"""Folders of a dataset in the work area, each kind with its own life.

| name | what | life |
| --- | --- | --- |
| ``INPUT`` | what tasks exchange: files of a poll or push | until they were merged or cannot be merged |
| ``SCRATCH`` | files of one process, such as slices that a merge is writing | until its end, or the next one |
| ``SAVEPOINT`` | cache of fetched files, see `savepoint` | at any time, since the source still has its data |
| ``SPOOL`` | messages that their source no longer has, see `spool` | until a published block records them |
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.owned_folders import owned_directory, sweep, was_killed

INPUT, SCRATCH, SAVEPOINT, SPOOL = "poll-", "merge-", "savepoint-", "spool-"
"""Prefixes of the names of folders."""

ABANDONED = 7 * 24 * 3600
"""Seconds after which an input is removed."""


def new_input(work: Path) -> Path:
    """Return a new folder for the files of one poll or push. Those of killed polls, and those older than a week, are
    removed."""
    for old in work.glob(f"{INPUT}*"):
        if _age(old) > ABANDONED or was_killed(old):
            shutil.rmtree(old, ignore_errors=True)
    new = work / f"{INPUT}{uuid.uuid4().hex[:16]}"
    make_folders(new)
    return new


@contextmanager
def polling(work: Path) -> Iterator[Path]:
    """Yield a new folder for a poll. It is removed if the poll fails, or by the next poll if this one is killed."""
    new = new_input(work)
    try:
        with owned_directory(new):
            yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


@contextmanager
def scratch(work: Path) -> Iterator[Path]:
    """Yield a new folder for a merge. It is removed at the end, or by the next merge if this one is killed."""
    sweep(work, f"{SCRATCH}*")
    new = work / f"{SCRATCH}{uuid.uuid4().hex[:12]}"
    make_folders(new)
    try:
        with owned_directory(new):
            yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def discard(directory: Path) -> None:
    """Remove the files of a poll (`SourceFiles.directory`) and its savepoint. Call it when the input is in the chain,
    was rejected, or failed with an error that is not retryable."""
    shutil.rmtree(directory, ignore_errors=True)
    remove_savepoints(directory.parent)


def remove_savepoints(work: Path) -> None:
    """Remove what earlier polls kept for retries."""
    with suppress(OSError):  # what is left is for `odf gc`: the poll itself is done
        for savepoint in work.glob(f"{SAVEPOINT}*"):
            shutil.rmtree(savepoint, ignore_errors=True)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0

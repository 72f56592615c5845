"""Retries of writers that lost a race for a dataset's head.

A writer that lost once takes the dataset's turn: a lock on a file in the work area, which it holds until it has
published or given up. Other writers start no new attempt while somebody holds it, so a slow writer loses only to those
that were already running. The kernel drops the lock of a process that was killed. Turns are optional: compare-and-set
alone decides who publishes, and nobody waits forever.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_odf import closed_files
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.errors import CommitConflict

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import NewInput, Progress

T = TypeVar("T")

ATTEMPTS = 16
"""How often an attempt starts over because another writer published first."""

PATIENCE = 600.0
"""Maximum seconds to wait for the writer that has priority."""

_PAUSE = 0.05


def settle(
    store: Store, dataset: str, attempt: Callable[[CommitConflict | None], T], progress: Progress | None = None
) -> T:
    """Return the result of the first attempt that wins. Each attempt but the first gets the conflict of the one before,
    and raises it again to give up.

    :raises CommitConflict: all attempts lost.
    """
    turn = _Turn(store.scratch(dataset) / ".turn", progress)
    try:
        conflict: CommitConflict | None = None
        for _ in range(ATTEMPTS):
            turn.take() if conflict else turn.wait()
            try:
                return attempt(conflict)
            except CommitConflict as e:
                if e is conflict:
                    raise
                conflict = e
        assert conflict is not None  # noqa: S101 - each attempt has raised one
        raise conflict
    finally:
        turn.release()


def retry_after_conflict(
    cycle: Cycle, take: Callable[[CommitConflict | None], NewInput | UpToDate], step: Callable[[Any], T]
) -> T | UpToDate:
    """Return the result of a step for new input, of the first attempt that wins. Each attempt takes the input for the
    head at that time. ``take`` gets the conflict of the attempt before, and raises it again to give up.

    :raises CommitConflict: all attempts lost.
    """

    def attempt(conflict: CommitConflict | None) -> T | UpToDate:
        new_input = take(conflict)
        return new_input if isinstance(new_input, UpToDate) else step(new_input)

    return settle(cycle.store, cycle.dataset, attempt, cycle.progress)


class _Turn:
    """The turn of a dataset, as one writer holds it or waits for it."""

    def __init__(self, file: Path, progress: Progress | None) -> None:
        self._file, self._progress = file, progress
        self._lock: int | None = None

    def wait(self) -> None:
        """Wait while another writer holds the turn."""
        try:
            lock = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # No file: no writer has lost a race yet.
            return
        try:
            self._acquire(lock, fcntl.LOCK_SH)
        finally:
            os.close(lock)

    def take(self) -> None:
        """Wait for the turn and take it, unless this writer holds it."""
        if self._lock is not None:
            return
        closed_files.make_folders(self._file.parent)
        self._lock = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, closed_files.FILE)
        self._acquire(self._lock, fcntl.LOCK_EX)

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _acquire(self, lock: int, operation: int) -> None:
        """Give up after a while, and at once on a file system without locks."""
        deadline = time.monotonic() + PATIENCE
        is_reported = False
        while time.monotonic() < deadline:
            try:
                fcntl.flock(lock, operation | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._progress and not is_reported:
                    self._progress("waiting for another writer, which has priority because its last attempt failed")
                is_reported = True
                time.sleep(_PAUSE)
            except OSError:
                return
            else:
                return

"""Runs that may still add files to a dataset, by their folders in the work area.

A run holds a lock on its folder while it polls or merges. Nobody holds a lock on an input that waits for its merge, and
some file systems do not show locks of other machines: such a folder counts as that of a run for `LONGEST` after its
last change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.owned_folders import OWNER, is_owned, was_killed
from airflow_provider_odf.seal import SEAL
from airflow_provider_odf.source import savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.chain.store import Store

LONGEST = 24 * 3600.0
"""Seconds after which a folder without a visible lock is no longer that of a run: the default grace period."""


@dataclass(frozen=True)
class Run:
    """An unfinished run. Its files are not older than ``since``. From ``until`` on it no longer counts; that is None
    while it holds its lock. Times are seconds since 1970."""

    since: float
    until: float | None


def check_none(store: Store, alias: str, cutoff: float) -> None:
    """Check that no unfinished run of a dataset may have files that are older than a time.

    :raises InvalidInput: there is one; the message says until when.
    """
    for run in sorted(_runs(store.work(alias)), key=lambda run: run.since):
        if run.since >= cutoff:
            continue
        what = f"a run has been writing to it since {_text(run.since)}"
        wait = "wait until it has ended"
        if run.until is not None:
            what = f"a run that began at {_text(run.since)} may still write to it"
            wait = f"wait until it has ended, or until {_text(run.until)}"
        hours = (time.time() - run.since) / 3600
        raise InvalidInput(
            f"{what}, and no ref leads to its new files yet: {wait}, or keep its files with "
            f"--older-than {hours + 0.1:.1f} or more; if no run is alive, use --idle"
        )


def _runs(work: Path) -> Iterator[Run]:
    for folder in (*work.glob(f"{savepoint.MERGE}*"), *work.glob(f"{savepoint.POLL}*")):
        times = list(_times(folder))
        if not times:
            continue  # It has just ended.
        if is_owned(folder):
            yield Run(min(times), None)
        elif not was_killed(folder) and times[0] + LONGEST > time.time():
            yield Run(min(times), times[0] + LONGEST)


def _times(folder: Path) -> Iterator[float]:
    """Yield when a folder of a run changed, and when the files were written that its first steps write."""
    for path in (folder, folder / OWNER, folder / SEAL):
        with suppress(OSError):
            yield path.stat().st_mtime


def _text(time_: float) -> str:
    return datetime.fromtimestamp(time_, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

"""Verification of a dataset in the background of the API server, with its progress in a file, and its page.

The file lies with what pages keep about the dataset, so that each process of the API server reads it. A lock tells
whether the process that verifies still runs: if it was ended, its verification is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi.responses import HTMLResponse, RedirectResponse

from airflow_provider_odf import closed_files
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.verify import Step, Verified, verify
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.ui.chain_cache import PageCache
from airflow_provider_odf.ui.forms import TokenOf
from airflow_provider_odf.ui.pages import public
from airflow_provider_odf.ui.subject import SubjectOf

_LOCK = "verification.lock"
_PAUSE = 0.5
"""Seconds between two writes of progress."""


@dataclass(frozen=True)
class Verification:
    """A verification of a dataset: how far it is, or what it found."""

    head: str
    user: str
    started: Instant
    step: Step | None = None
    ended: Instant | None = None
    verified: Verified | None = None
    problem: str = ""
    is_lost: bool = False
    """Whether the process that verified was ended."""

    @property
    def is_running(self) -> bool:
        return self.ended is None and not self.is_lost


VERIFICATIONS = PageCache[Verification]("verification", 1, Verification)


def newest(folder: Path) -> Verification | None:
    """Return the newest verification of the dataset of a folder of `pages_folder`; None if there was none."""
    verification = VERIFICATIONS.read(folder)
    if verification is not None and verification.is_running and _is_free(folder):
        verification = VERIFICATIONS.read(folder)  # it may have ended in between
        if verification is not None and verification.is_running:
            return replace(verification, is_lost=True)
    return verification


def start(dataset: Dataset, work_area: Path, folder: Path, user: str) -> bool:
    """Verify a dataset in the background. Return False if somebody already does.

    :raises StorageError: this process may not write to the work area.
    """
    try:
        if not work_area.is_dir():
            raise FileNotFoundError
        closed_files.make_folders(folder)
        lock = _take(folder)
    except OSError as e:
        raise StorageError(
            f"The API server cannot write to the work area: run `odf verify {dataset.alias}` where that is allowed"
        ) from e
    if lock is None:
        return False
    begun = Verification(dataset.resolve(HEAD), user, Instant.now())
    VERIFICATIONS.write(folder, begun)
    threading.Thread(target=_run, args=(dataset, folder, begun, lock), daemon=True, name="odf-verify").start()
    return True


def _run(dataset: Dataset, folder: Path, begun: Verification, lock: IO[bytes]) -> None:
    told = time.monotonic()

    def tell(step: Step) -> None:
        nonlocal told
        if time.monotonic() - told >= _PAUSE:
            VERIFICATIONS.write(folder, replace(begun, step=step))
            told = time.monotonic()

    with lock:
        try:
            done = replace(begun, verified=verify(dataset, begun.head, tell))
        except Exception as e:  # what a page says in any case
            done = replace(begun, problem=str(as_odf_error(e)))
        VERIFICATIONS.write(folder, replace(done, ended=Instant.now()))


def _take(folder: Path) -> IO[bytes] | None:
    """Return the lock of a verification, or None if one runs. Readers hold it for some microseconds."""
    for _ in range(10):
        with contextlib.suppress(BlockingIOError):
            return _locked(folder, fcntl.LOCK_EX, os.O_RDWR | os.O_CREAT)
        time.sleep(0.01)
    return None


def _is_free(folder: Path) -> bool:
    try:
        _locked(folder, fcntl.LOCK_SH, os.O_RDONLY).close()
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _locked(folder: Path, kind: int, flags: int) -> IO[bytes]:
    file = os.fdopen(os.open(folder / _LOCK, flags, closed_files.FILE), "rb", buffering=0)
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise
    return file


def verification_page(subject: SubjectOf, token: TokenOf) -> HTMLResponse:
    """Return how far the newest verification is, or what it found. The page reloads itself while one runs."""
    last = newest(subject.pages_folder)
    problem = public(last.problem) if last is not None else ""
    return subject.render(
        "verification.html", "", verification=last, problem=problem, token=token, head=subject.entry.head
    )


def verify_now(subject: SubjectOf, user: GetUserDep) -> RedirectResponse:
    """Start a verification, unless one runs."""
    start(subject.dataset, subject.store.work_area, subject.pages_folder, user.get_name())
    return subject.redirect("/verification")

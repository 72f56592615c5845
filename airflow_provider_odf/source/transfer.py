"""Transfers over a network: retries and resumption of one file, and messages about the progress of long ones."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from airflow_provider_odf.errors import SourceUnavailable
from airflow_provider_odf.source.options import megabytes

if TYPE_CHECKING:
    from airflow_provider_odf.source.options import Options

_BUFFER = 1 << 20
INTERVAL = 10.0
"""Seconds between lines of a log about the progress of a transfer."""
_MB = 1_000_000

T = TypeVar("T")


class TryAgain(SourceUnavailable):
    """A retryable failure of one attempt; ``after`` is the pause that the server asks for, in seconds."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Progress:
    """Reports the progress of a transfer, at most every ``interval`` seconds, by default `INTERVAL`."""

    def __init__(
        self, label: str, tell: Callable[[str], None], total: int | None = None, interval: float | None = None
    ) -> None:
        self._label, self._tell = label, tell
        self._interval = INTERVAL if interval is None else interval
        self.total = total
        self._next = time.monotonic() + self._interval

    def reached(self, size: int) -> None:
        """Report ``size`` transferred bytes, if it is time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._interval
        of = f" of {megabytes(self.total)}" if self.total else ""
        self._tell(f"{self._label}: {size // _MB if of else megabytes(size)}{of}")


class Transfer:
    """One file that is received into ``path`` by several attempts, each of which may resume the last one.

    After `options.attempts` attempts in a row without progress the source is unavailable. ``received`` is the size of
    what the next attempt resumes; 0 begins anew.
    """

    def __init__(self, label: str, path: Path, options: Options, tell: Callable[[str], None]) -> None:
        self.label, self.path, self.options, self.tell = label, path, options, tell
        self.received = self.failed_attempts = self._best = 0

    def retry(self, attempt: Callable[[], T]) -> T:
        """Return the result of the first attempt that does not raise `TryAgain`. The last error is raised."""

        def counted() -> T:
            self.failed_attempts += 1
            return attempt()

        return Retrying(
            retry=retry_if_exception_type(TryAgain),
            wait=self._pause,
            stop=lambda _state: self.failed_attempts >= self.options.attempts,
            reraise=True,
        )(counted)

    def receive(self, pieces: Iterable[bytes], total: int | None) -> None:
        """Append the pieces of a response to what was received.

        :raises SourceError: the file exceeds the limit for downloads.
        """
        progress = Progress(self.label, self.tell, total)
        with self.path.open("ab", buffering=_BUFFER) as file:
            file.truncate(self.received)
            for piece in pieces:
                file.write(piece)
                self.received += len(piece)
                if self.received > self._best:
                    self._best, self.failed_attempts = self.received, 0
                self.options.check_download(self.received, self.label)
                progress.reached(self.received)
            file.flush()
            os.fsync(file.fileno())

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TryAgain) and error.after is not None:
            return error.after
        longest = min(self.options.first_wait * 2 ** (state.attempt_number - 1), self.options.longest_wait)
        return float(longest * random.uniform(0.5, 1))  # noqa: S311 - no secret: sources that fail together retry apart

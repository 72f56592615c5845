"""What every runner does, and the one place where responses become results and errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, TypeAlias

from airflow_provider_odf import errors, protocol

OnProgress: TypeAlias = Callable[[str], None]


class Runner(Protocol):
    """Hands requests to an engine. Starts nothing before the first request."""

    @property
    def started(self) -> int:
        """How many JVMs (or Spark applications) were started so far."""

    def submit(self, request: protocol.Request, on_progress: OnProgress | None = None) -> Future[protocol.Success]:
        """The future success of a request. ``on_progress`` is called from another thread with what the engine says.

        The future raises ``errors.InvalidQuery`` when the engine refused, ``errors.InternalError`` when it broke down.

        :raises InvalidInput: the engine cannot be started here: no Java, no spark-submit.
        """

    def close(self) -> None:
        """Ends what was started; futures not done yet raise ``errors.InternalError``."""

    def __enter__(self) -> Runner: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def report_progress(on_progress: OnProgress | None, message: str) -> None:
    """Tells who wants to know. That the telling fails must not harm the request."""
    if on_progress:
        try:
            on_progress(message)
        except Exception:
            logging.getLogger(__name__).exception("progress could not be reported: %s", message)


def settle(future: Future[protocol.Success], response: protocol.Response) -> None:
    """Ends a future with a final response."""
    if isinstance(response, protocol.InvalidQuery):
        future.set_exception(errors.InvalidQuery(response.message))
    elif isinstance(response, protocol.InternalError):
        future.set_exception(errors.InternalError(response.message, response.backtrace or ""))
    elif isinstance(response, protocol.Progress):
        raise TypeError("Progress is not a final response")
    else:
        future.set_result(response)


def gist(lines: Sequence[str]) -> str:
    """The line of a process's last words that says most: want of memory, else the last error, else the last line."""
    said = [line.strip() for line in lines if line.strip()]
    signs = ("OutOfMemoryError", "Java ended", "Exception", "Error")
    return next((line for sign in signs for line in reversed(said) if sign in line), said[-1] if said else "")

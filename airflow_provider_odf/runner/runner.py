"""The interface of runners, and how responses become results and errors."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeAlias

from airflow_provider_odf import errors, protocol

_TAIL_LINES = 200

OnProgress: TypeAlias = Callable[[str], None]
OnEngine: TypeAlias = Callable[[protocol.Engine], None]


class Runner(Protocol):
    """Sends requests to an engine, which it starts with the first one."""

    @property
    def shares_disk(self) -> bool:
        """Whether the engine surely sees the files of this machine. Else a request names files of a store in an object
        store by their URIs."""
        return True

    def submit(
        self, request: protocol.Request, on_progress: OnProgress | None = None, on_engine: OnEngine | None = None
    ) -> Future[protocol.Success]:
        """Send a request and return its future. ``on_progress`` is called from another thread with progress messages,
        and ``on_engine`` with the Spark application, when it starts for the request and when it begins to work on it.
        A request that is answered without Spark has no application.

        The future raises ``errors.InvalidQuery`` if the engine refuses the request, ``errors.InternalError`` if it
        fails, ``errors.StorageError`` if it lacks space, memory or access to a file, ``errors.ChainCorrupted`` if a
        stored file is damaged, ``errors.EngineLost`` if it ends without an answer.

        :raises InvalidInput: the engine cannot be started, because Java or spark-submit is missing.
        """

    def close(self) -> None:
        """End the engine; futures that are not done raise ``errors.EngineLost``."""

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Reports:
    """Who hears of an answer before it is complete. Errors of these functions do not fail the request."""

    on_progress: OnProgress | None = None
    on_engine: OnEngine | None = None

    def pass_on(self, progress: protocol.Progress) -> None:
        """Pass a message of the engine on."""
        try:
            if progress.engine and self.on_engine:
                self.on_engine(progress.engine)
            if progress.message and self.on_progress:
                self.on_progress(progress.message)
        except Exception:
            logging.getLogger(__name__).exception("progress could not be reported: %s", progress.message)


@dataclass(frozen=True)
class Pending:
    """A request without its final response."""

    future: Future[protocol.Success]
    reports: Reports

    @classmethod
    def of(cls, on_progress: OnProgress | None, on_engine: OnEngine | None) -> Pending:
        future: Future[protocol.Success] = Future()
        future.set_running_or_notify_cancel()
        return cls(future, Reports(on_progress, on_engine))


def settle(future: Future[protocol.Success], response: protocol.Response) -> None:
    """Set the result or error of a future from a final response."""
    if isinstance(response, protocol.InvalidQuery):
        future.set_exception(errors.InvalidQuery(response.message))
    elif isinstance(response, protocol.InternalError) and response.is_storage:
        future.set_exception(errors.StorageError(response.message))
    elif isinstance(response, protocol.InternalError) and response.is_corrupted:
        future.set_exception(errors.ChainCorrupted(response.message))
    elif isinstance(response, protocol.InternalError):
        future.set_exception(errors.InternalError(response.message, response.backtrace or ""))
    elif isinstance(response, protocol.Progress):
        raise TypeError("Progress is not a final response")
    else:
        future.set_result(response)


class Tail:
    """The last lines that a process printed to a pipe. Reading ``text`` waits for the end of the pipe."""

    def __init__(self, pipe: Iterable[bytes] | None) -> None:
        self.lines: deque[str] = deque(maxlen=_TAIL_LINES)
        self._thread = threading.Thread(target=self._read, args=(pipe or (),), daemon=True)
        self._thread.start()

    def _read(self, pipe: Iterable[bytes]) -> None:
        for line in pipe:
            self.lines.append(line.decode(errors="replace").rstrip())

    @property
    def text(self) -> str:
        self._thread.join()
        return "\n".join(self.lines)

    @property
    def root_cause(self) -> str:
        """The most useful line: an unreachable master or lack of memory, else the last error, else the last line."""
        texts = [text for line in self.text.splitlines() if (text := line.strip().removeprefix(": "))]
        signs = ("All masters are unresponsive", "OutOfMemoryError", "Java exited", "Exception", "Error")
        return next((line for sign in signs for line in reversed(texts) if sign in line), texts[-1] if texts else "")

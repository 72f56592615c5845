"""Spark in a child process: one JVM for all requests of a runner, started at the first of them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.engine import archive, jvm
from airflow_provider_odf.owned import TemporaryDirectory
from airflow_provider_odf.runner import apps, memory
from airflow_provider_odf.runner.runner import OnProgress, gist, report_progress, settle

EVERY_PROCESSOR = "local[*]"

_TAIL_LINES = 200
_PATIENCE_SECONDS = 2
_LAST_LINE = b"\n"


class LocalRunner:
    """The embedded default: ``local[*]`` in a child process, which dies with this one.

    ``conf`` are Spark settings. The heap is ``spark.driver.memory`` of these, else ``ODF_LOCAL_MEMORY`` of the
    environment (see ``runner.memory``), else Java's own choice, a quarter of the memory. ``threads`` requests run at
    once; more wait. When the JVM dies, running requests fail with ``errors.InternalError`` and the next request starts
    another.
    """

    def __init__(
        self,
        master: str = EVERY_PROCESSOR,
        conf: Mapping[str, str] | None = None,
        *,
        threads: int = 2,
        app_name: str = "odf",
    ) -> None:
        self.started = 0
        given = dict(conf or {})
        bounds = memory.bounds(given.get("spark.driver.memory") or os.environ.get(memory.VARIABLE))
        is_bounded = master == EVERY_PROCESSOR and bounds.tasks is not None
        self._settings = {
            "app_name": app_name,
            "master": f"local[{bounds.tasks}]" if is_bounded else master,
            "conf": {**bounds.conf, **given},
            "threads": threads,
        }
        self._environment = bounds.environment
        self._child: _Child | None = None
        # Reentrant: a signal handler may close the runner in the thread that is submitting to it.
        self._lock = threading.RLock()

    def submit(self, request: protocol.Request, on_progress: OnProgress | None = None) -> Future[protocol.Success]:
        with self._lock:
            if self._child is None or self._child.has_ended:
                self._child = _Child(self._settings, self._environment)
                self.started += 1
                report_progress(on_progress, "starting Spark")
            return self._child.ask(request, on_progress)

    def close(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.end()
            archive.start_making(jvm.find_java())

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class _Pending:
    future: Future[protocol.Success]
    on_progress: OnProgress | None


class _Child:
    """One engine process: its pipes, the threads that serve them, and the requests that it has not answered yet.

    `ask` neither waits for the process to read nor takes a lock: a signal handler may call `end` at any point of it.
    Whoever pops a pending request settles it.
    """

    def __init__(self, settings: Mapping[str, object], environment: Mapping[str, str]) -> None:
        jvm.find_java()
        self.has_ended = False
        self._scratch = TemporaryDirectory("spark")
        self._pending: dict[str, _Pending] = {}
        self._numbers = itertools.count(1)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        own = {"work": str(self._scratch.path), "parent": os.getpid()}
        self._process = subprocess.Popen(
            [sys.executable, str(apps.application("serve.py")), json.dumps({**settings, **own})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **os.environ, "PYTHONPATH": _first_on_path(str(apps.PACKAGE.parent))},
        )
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._responses = threading.Thread(target=self._read_responses, daemon=True)
        self._requests = threading.Thread(target=self._write_requests, daemon=True)
        self._errors.start()
        self._responses.start()
        self._requests.start()

    def ask(self, request: protocol.Request, on_progress: OnProgress | None) -> Future[protocol.Success]:
        future: Future[protocol.Success] = Future()
        future.set_running_or_notify_cancel()
        number = str(next(self._numbers))
        line = f"{number} {protocol.dumps_request(request)}\n".encode()
        self._pending[number] = _Pending(future, on_progress)
        self._lines.put(line)
        # Either `_bury` finds the request, or it has ended before.
        if self.has_ended and self._pending.pop(number, None) is not None:
            future.set_exception(errors.InternalError("the Spark process has just ended"))
        return future

    def end(self) -> None:
        """Ends the process; what it has not answered fails."""
        self.has_ended = True
        self._lines.put(_LAST_LINE)
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:  # It is still starting Spark; its JVM ends with it.
            self._process.kill()
        # Not for ever: in a signal handler this may be the thread that a future's waiter holds a lock in.
        self._responses.join(_PATIENCE_SECONDS)

    def _write_requests(self) -> None:
        """Until the last line. Where the process has died, the thread that reads its responses fails the requests."""
        with contextlib.suppress(OSError, ValueError), _pipe(self._process.stdin) as pipe:
            is_last = False
            while not is_last:
                line = self._lines.get()
                # Closing alone may not reach it: processes forked meanwhile, as by Airflow, hold the pipe open.
                is_last = line == _LAST_LINE
                pipe.write(line)
                pipe.flush()

    def _read_responses(self) -> None:
        try:
            for line in _pipe(self._process.stdout):
                number, _, text = line.decode().partition(" ")
                self._take(number, protocol.loads_response(text))
        except ValueError as e:  # Not the protocol: nothing that it says can be trusted.
            self._tail.append(str(e))
            self._process.kill()
        self._bury()

    def _take(self, number: str, response: protocol.Response) -> None:
        if isinstance(response, protocol.Progress):
            if (pending := self._pending.get(number)) is not None:
                report_progress(pending.on_progress, response.message)
        elif (pending := self._pending.pop(number, None)) is not None:
            settle(pending.future, response)

    def _read_errors(self) -> None:
        for line in _pipe(self._process.stderr):
            self._tail.append(line.decode(errors="replace").rstrip())

    def _bury(self) -> None:
        """After the process has closed its end: waits for it, and fails what it has not answered."""
        was_told, self.has_ended = self.has_ended, True
        code = self._process.wait()
        self._lines.put(_LAST_LINE)
        self._requests.join(_PATIENCE_SECONDS)
        self._errors.join()
        self._scratch.remove()
        reason = "the runner was closed" if was_told else f"the Spark process ended with exit code {code}"
        last_words = "\n".join(self._tail)
        reason = f"{reason}: {said}" if (said := gist(self._tail)) and not was_told else reason
        for number in list(self._pending):
            if (pending := self._pending.pop(number, None)) is not None:
                pending.future.set_exception(errors.InternalError(reason, last_words))
        for pipe in (self._process.stdout, self._process.stderr):
            _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("no pipe to the process")
    return pipe


def _first_on_path(directory: str) -> str:
    return os.pathsep.join([directory, *filter(None, [os.environ.get("PYTHONPATH")])])

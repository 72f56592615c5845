"""An engine in a child process, which starts Spark with the first request that needs it: one JVM for all requests of a
runner, or a session of a Spark Connect server. It is not started for small merges that need no Spark.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from airflow_provider_odf import errors, object_stores, protocol
from airflow_provider_odf.engine import archive, jvm
from airflow_provider_odf.lineage import jobs
from airflow_provider_odf.owned_folders import TemporaryDirectory
from airflow_provider_odf.runner import apps, memory
from airflow_provider_odf.runner.own_process import OwnProcess, Take, is_small
from airflow_provider_odf.runner.runner import OnEngine, OnProgress, Pending, Runner, Tail, settle
from airflow_provider_odf.source import uris

EVERY_PROCESSOR = "local[*]"

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

PACKAGES = "ODF_SPARK_PACKAGES"
"""Environment variable with a comma-separated list of Maven artifacts for Spark, such as JDBC drivers:
``group:artifact:version``."""

MOST_ROWS = "ODF_MAX_RESULT_ROWS"
"""Environment variable with the maximum number of rows of a derivative's result in one task of Spark."""

_PATIENCE_SECONDS = 2
_LISTENER_SECONDS = 30
"""Time that Spark's OpenLineage listener has to send its last events."""

_LAST_LINE = b"\n"

_OF_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""Variables by which pyspark uses a Spark Connect server."""


class LocalRunner(Runner):
    """The default runner: ``local[*]`` in a child process, which ends with this one. Small merges that need no Spark
    run in this process.

    ``conf`` are Spark settings. Their ``spark.driver.memory`` is the heap, else ``ODF_LOCAL_MEMORY`` of the environment
    (see ``runner.memory``), else Java's default, a quarter of the memory. ``threads`` requests run concurrently; others
    wait. When the JVM dies, running requests fail with ``errors.EngineLost``, and the next request starts a new one.
    With ``remote``, the child process has no JVM but a session of that server. With ``reads_objects``, requests name
    objects of object stores, so the child process gets their credentials.
    """

    def __init__(
        self,
        master: str = EVERY_PROCESSOR,
        conf: Mapping[str, str] | None = None,
        *,
        threads: int = 2,
        remote: Remote | None = None,
        reads_objects: bool = False,
    ) -> None:
        self.started = 0
        self._remote = remote
        self._reads_objects = reads_objects
        settings = dict(conf or {})
        if packages := os.environ.get(PACKAGES):
            settings.setdefault("spark.jars.packages", packages)
        if most_rows := os.environ.get(MOST_ROWS):
            settings.setdefault("spark.odf.maxResultRows", most_rows)
        bounds = memory.bounds(settings.get("spark.driver.memory") or os.environ.get(memory.VARIABLE))
        is_bounded = master == EVERY_PROCESSOR and bounds.tasks is not None
        self._conf = {**bounds.conf, **settings}
        self._settings = {"master": f"local[{bounds.tasks}]" if is_bounded else master, "threads": threads}
        self._environment = bounds.environment
        self._threads = threads
        self._child: _Child | None = None
        self._own: OwnProcess | None = None
        # Reentrant: a signal handler may close the runner in the thread that is submitting a request.
        self._lock = threading.RLock()

    def submit(
        self, request: protocol.Request, on_progress: OnProgress | None = None, on_engine: OnEngine | None = None
    ) -> Future[protocol.Success]:
        jvm.spark_home()  # where it is missing, an engine would only fail
        pending = Pending.of(on_progress, on_engine)
        with self._lock:
            if self._remote is None and is_small(request):
                if self._own is None:
                    self._own = OwnProcess(self._threads, self._conf.get("spark.driver.memory", ""), self._with_spark)
                self._own.ask(request, pending)
            else:
                self._engine_for(request).ask(request, pending)
        return pending.future

    def _with_spark(self, request: protocol.Request, take: Take) -> None:
        """Answer a request, unless the runner was closed."""
        with self._lock:
            if (pending := take()) is None:
                return
            try:
                self._engine_for(request).ask(request, pending, needs_spark=True)
            except Exception as e:  # no memory, no room on the disk: nobody else waits for the answer
                pending.future.set_exception(e)

    def _engine_for(self, request: protocol.Request) -> _Child:
        if self._child is None or self._child.has_ended:
            reads_objects = self._reads_objects or isinstance(request, protocol.VerifyRequest)
            self._child = _Child(
                self._of_application(request), self._environment, self._remote, reads_objects=reads_objects
            )
            self.started += 1
        return self._child

    def _of_application(self, request: protocol.Request) -> dict[str, object]:
        """Return the settings of an engine. The first request names the application, which answers later ones too, and
        its size decides on the JVM's compilers."""
        conf = {**jobs.listener_settings(), **self._conf}
        if is_large(request):
            conf[JAVA_OPTIONS] = f"{jvm.LONG_JOBS} {conf.get(JAVA_OPTIONS, '')}"
        name = conf.get("spark.app.name") or jobs.of_request(request)
        return {**self._settings, "app_name": name, "conf": {**conf, "spark.app.name": name}}

    def close(self) -> None:
        with self._lock:
            child, self._child = self._child, None
            own, self._own = self._own, None
            if own is not None:
                own.end()
        if child is not None:
            child.end()
            if self._remote is None:
                archive.start_making(jvm.find_java())


@dataclass(frozen=True)
class Remote:
    """A Spark Connect server: its URL, which may have a token, and a zip of the engine for its workers."""

    url: str = field(repr=False)
    code: Path


class _Child:
    """One engine process with its pipes, their threads, and the pending requests.

    `ask` neither blocks on the process nor takes a lock, since a signal handler may call `end` at any point of it. The
    code that pops a pending request settles it.
    """

    def __init__(
        self,
        settings: Mapping[str, object],
        environment: Mapping[str, str],
        remote: Remote | None = None,
        *,
        reads_objects: bool = False,
    ) -> None:
        variables = {k: v for k, v in os.environ.items() if k not in _OF_CONNECT}
        if reads_objects or remote is not None:
            variables |= object_stores.environment()
        if remote is None:
            jvm.find_java()
        else:
            settings = {**settings, "code": str(remote.code)}
            # A command line would show the token.
            variables |= {"SPARK_REMOTE": remote.url, "SPARK_CONNECT_MODE_ENABLED": "1"}
        self.has_ended = False
        self._patience: float = _PATIENCE_SECONDS
        self._scratch = TemporaryDirectory("spark")
        self._pending: dict[str, Pending] = {}
        self._numbers = itertools.count(1)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        own = {"work": str(self._scratch.path), "parent": os.getpid()}
        self._process = subprocess.Popen(
            [sys.executable, str(apps.application("serve.py")), json.dumps({**settings, **own})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **variables, "PYTHONPATH": _first_on_path(str(apps.PACKAGE.parent))},
        )
        self._tail = Tail(self._process.stderr)
        self._responses = threading.Thread(target=self._read_responses, daemon=True)
        self._requests = threading.Thread(target=self._write_requests, daemon=True)
        self._responses.start()
        self._requests.start()

    def ask(self, request: protocol.Request, pending: Pending, *, needs_spark: bool = False) -> None:
        number = str(next(self._numbers))
        line = f"{number} {int(needs_spark)} {protocol.dumps_request(request)}\n".encode()
        self._pending[number] = pending
        self._lines.put(line)
        # Either `_clean_up` fails the request, or it has run before.
        if self.has_ended and self._pending.pop(number, None) is not None:
            pending.future.set_exception(
                errors.EngineLost("the Spark process exited unexpectedly: see the engine log, then run again")
            )

    def end(self) -> None:
        """End the process and fail its pending requests."""
        self.has_ended = True
        self._lines.put(_LAST_LINE)
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:  # still starting Spark; its JVM ends with it
            self._process.kill()
        # With a limit: in a signal handler this thread may hold the lock of a future.
        self._responses.join(_PATIENCE_SECONDS)

    def _write_requests(self) -> None:
        """Write requests until the last line. If the process dies, the thread that reads responses fails them."""
        with contextlib.suppress(OSError, ValueError), _pipe(self._process.stdin) as pipe:
            is_last = False
            while not is_last:
                line = self._lines.get()
                # Closing is not enough: processes that Airflow forks meanwhile keep the pipe open.
                is_last = line == _LAST_LINE
                pipe.write(line)
                pipe.flush()

    def _read_responses(self) -> None:
        try:
            for line in _pipe(self._process.stdout):
                number, _, text = line.decode().partition(" ")
                self._handle(number, protocol.loads_response(text))
        except ValueError as e:  # not a response of the protocol
            self._tail.lines.append(str(e))
            self._process.kill()
        self._clean_up()

    def _handle(self, number: str, response: protocol.Response) -> None:
        if isinstance(response, protocol.Progress):
            if response.engine is not None and response.engine.reported_run is not None:
                self._patience = _LISTENER_SECONDS
            if (pending := self._pending.get(number)) is not None:
                pending.reports.pass_on(response)
        elif (pending := self._pending.pop(number, None)) is not None:
            settle(pending.future, response)

    def _clean_up(self) -> None:
        """Wait for the process after it has closed its output, and fail the pending requests."""
        was_closed, self.has_ended = self.has_ended, True
        code = self._process.wait()
        self._lines.put(_LAST_LINE)
        self._requests.join(_PATIENCE_SECONDS)
        output, cause = self._tail.text, self._tail.root_cause
        self._scratch.remove()
        reason = "the runner was closed" if was_closed else f"the Spark process exited with code {code}"
        reason = f"{reason}: {cause}" if cause and not was_closed else reason
        for number in list(self._pending):
            if (pending := self._pending.pop(number, None)) is not None:
                pending.future.set_exception(errors.EngineLost(reason, output, was_closed=was_closed))
        for pipe in (self._process.stdout, self._process.stderr):
            _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError(
            "cannot communicate with the Spark process, because its pipe is closed: see the engine log, then run again"
        )
    return pipe


def _first_on_path(directory: str) -> str:
    return os.pathsep.join([directory, *filter(None, [os.environ.get("PYTHONPATH")])])


LARGE = 128 * 1024 * 1024
"""Bytes from which on the JVM's second compiler saves more time than it takes."""


def is_large(request: protocol.Request) -> bool:
    """Whether the new data of a request, or the history that it tests, has at least LARGE bytes in local files."""
    return sum(_sizes(_paths(request))) >= LARGE


def _paths(request: protocol.Request) -> Iterator[str]:
    if isinstance(request, protocol.MergeRequest):
        for source in request.inputs:
            yield from source.paths
    elif isinstance(request, protocol.TransformRequest):
        for query_input in request.query_inputs:
            yield from query_input.data_paths
    elif isinstance(request, protocol.ContractTestRequest):
        for slice_ in request.history:
            yield slice_.path
    elif isinstance(request, protocol.RawQueryRequest):
        yield from request.input_data_paths


def _sizes(paths: Iterable[str]) -> Iterator[int]:
    for local in filter(None, map(uris.path_of, paths)):
        with suppress(OSError):
            yield os.path.getsize(local)

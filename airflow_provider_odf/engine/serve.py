"""The loop of the engine's process: requests from standard input, responses to the original standard output.

Spark starts with the first request that needs it.

Spark is a JVM of this process, or a Spark Connect server.

Each line has a number from the client, a space and the JSON of the protocol. In that of a request a 1 comes before the
JSON, with a space, if it was tried without Spark, else a 0. The process and the JVM end at an empty line, at the end of
the input, or when the parent or the JVM ends.
"""

from __future__ import annotations

import importlib
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NoReturn, TypeAlias

from airflow_provider_odf import protocol
from airflow_provider_odf.closed_files import close_to_others
from airflow_provider_odf.engine import session
from airflow_provider_odf.engine.optional_spark import NeedsSpark, may_use_arrow
from airflow_provider_odf.without_pandas import leave_out_pandas, let_pandas_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Event:
    """A request with its number. ``needs_spark`` says that it was tried without Spark."""

    number: str
    request: protocol.Request
    needs_spark: bool = False


Events: TypeAlias = "queue.SimpleQueue[Event | None]"
"""Events in order, and None at the end."""

Connect: TypeAlias = "Callable[[protocol.Request, SparkSession | None], SparkSession]"
"""Returns a session of a Spark Connect server: the one before, if the server still knows it."""

_JVM_EXIT_SECONDS = 0.5

_WATCH_SECONDS = 0.5

PARENT_GONE = 71
"""Exit code after the end of the parent; the JVM ends with the engine."""

JVM_GONE = 70
"""Exit code after an unexpected end of the JVM."""


def serve(
    app_name: str, master: str, conf: Mapping[str, str], threads: int, work: str, parent: int, code: str = ""
) -> NoReturn:
    """Answer requests until the input, the parent or the JVM ends.

    :param code: zip of the engine for the workers of a Spark Connect server, whose URL is in ``SPARK_REMOTE``. Without
        it, Spark starts in this process.
    :param work: directory for temporary files, removed at the end.
    :param parent: id of the client's process. This process ends with it.
    """
    close_to_others()
    if not code:  # else the client of Spark Connect needs it at once
        leave_out_pandas()
    responses = _claim_stdout()
    own = {"spark.local.dir": work, "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={work}"}
    own["spark.driver.extraJavaOptions"] += " " + conf.get("spark.driver.extraJavaOptions", "")
    settings = session.SETTINGS | dict(conf) | own
    events: Events = queue.SimpleQueue()
    handler = RequestHandler(responses, events, settings)
    remote = partial(session.connect, os.environ["SPARK_REMOTE"], app_name, code) if code else None
    threading.Thread(target=_watch_parent, args=(parent, handler, work), daemon=True).start()
    threading.Thread(target=_read_requests, args=(events,), daemon=True).start()
    with ThreadPoolExecutor(threads, thread_name_prefix="request") as pool:
        for event in iter(events.get, None):
            # In this thread, the main one: the kernel ends the JVM when the thread that started it ends.
            if remote is not None:
                if handler.needs_spark(event) and not handler.connect(event, remote):
                    continue
            elif handler.spark is None and handler.needs_spark(event):
                handler.respond(event, protocol.Progress("starting Spark", protocol.Engine(app_name)))
                let_pandas_in()
                spark, jvm = session.start_local(app_name, master, settings, meanwhile=_import_operations)
                threading.Thread(target=_watch_jvm, args=(jvm, work), daemon=True).start()
                handler.spark, handler.jvm = spark, jvm
            # In one thread: modules of pyspark import each other in circles, which fails if two threads begin.
            importlib.import_module("airflow_provider_odf.engine.request")
            pool.submit(handler.handle, event)
        # No client waits for the requests that still run.
        handler.close()
        if handler.jvm is not None and handler.spark is not None:
            if session.has_listener(handler.spark):
                handler.spark.stop()  # else the listener would not report the application's end
            handler.jvm.kill()
            handler.jvm.wait()
        handler.release()
        _exit(0, work)


def _read_requests(events: Events) -> None:
    """Add each request to the events. None is the end."""
    for line in iter(sys.stdin.buffer.readline, b""):
        if not line.strip():
            break
        number, needs_spark, text = line.decode().split(" ", 2)
        events.put(Event(number, protocol.loads_request(text), needs_spark == "1"))
    events.put(None)


class RequestHandler:
    """Handles requests from any thread and writes each response line as a whole."""

    def __init__(self, responses: BinaryIO, events: Events, settings: Mapping[str, str]) -> None:
        self.spark: SparkSession | None = None
        self.jvm: subprocess.Popen[bytes] | None = None
        self._responses = responses
        self._events = events
        self._heap = settings.get("spark.driver.memory", "")
        self._lock = threading.Lock()

    def needs_spark(self, event: Event) -> bool:
        """Whether a request is known to need Spark."""
        return event.needs_spark or _surely_needs_spark(event.request)

    def handle(self, event: Event) -> None:
        """Answer one request: write its progress, then its outcome."""
        from airflow_provider_odf.engine.request import answer

        # Also while a JVM runs: a request is the work of its application only where it uses Spark.
        spark = self.spark if self.needs_spark(event) else None
        try:
            outcome = answer(spark, event.request, lambda progress: self.respond(event, progress), self._heap)
        except NeedsSpark:
            self._events.put(replace(event, needs_spark=True))
            return
        if not (isinstance(outcome, protocol.InternalError) and self._has_lost_jvm()):
            self.respond(event, outcome)

    def connect(self, event: Event, remote: Connect) -> bool:
        """Connect to a Spark Connect server, unless it still knows the session. Return whether that was possible, else
        answer the request."""
        from airflow_provider_odf.engine.request import failure

        try:
            self.spark = remote(event.request, self.spark)
        except Exception as e:
            self.spark = None
            self.respond(event, failure(e, event.request))
        return self.spark is not None

    def release(self) -> None:
        """Release the session of a Connect server."""
        if self.jvm is None and self.spark is not None:
            remote, self.spark = self.spark, None
            session.release(remote)

    def respond(self, event: Event, response: protocol.Response) -> None:
        """Write one response line as a whole."""
        operation = protocol.operation(event.request)
        with self._lock:
            self._responses.write(f"{event.number} {protocol.dumps_response(operation, response)}\n".encode())
            self._responses.flush()

    def close(self) -> None:
        """Prevent further responses."""
        self._lock.acquire()

    def _has_lost_jvm(self) -> bool:
        """Whether the JVM is ending. Then this process ends without a response, and the JVM's output is the reason."""
        if self.jvm is None:
            return False
        try:
            self.jvm.wait(_JVM_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True


def _surely_needs_spark(request: protocol.Request) -> bool:
    """Whether a request needs Spark whatever its data are. Others are tried without."""
    # These modules import pyspark, which most requests without a contract need not wait for.
    if isinstance(request, protocol.SourceTestRequest):
        from airflow_provider_odf.engine.contract import sources

        return bool(sources.why_spark(request))
    if isinstance(request, protocol.ContractTestRequest):
        from airflow_provider_odf.engine.contract import history

        return bool(history.why_spark(request))
    if isinstance(request, protocol.TransformRequest) and request.arrow_query is not None:
        from airflow_provider_odf.engine.transform import arrow_transform

        return bool(arrow_transform.why_spark(request))
    if not isinstance(request, protocol.MergeRequest) or not may_use_arrow(request) or not request.inputs:
        return True
    if request.contract is None:
        return False
    from airflow_provider_odf.engine.contract import history

    return bool(history.why_spark_after(request, request.contract))


def _import_operations() -> None:
    """Import the modules of common operations before the first request needs them."""
    importlib.import_module("airflow_provider_odf.engine.request")
    importlib.import_module("airflow_provider_odf.engine.merge")


def _claim_stdout() -> BinaryIO:
    """Return the original standard output. Later output of Spark and the JVM goes to standard error."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return responses


def _watch_parent(parent: int, handler: RequestHandler, work: str) -> NoReturn:
    """End this process with its parent.

    The input may stay open after the parent's end, if a process that the parent forked holds the pipe.
    """
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    handler.release()
    _exit(PARENT_GONE, work)


def _watch_jvm(jvm: subprocess.Popen[bytes], work: str) -> NoReturn:
    jvm.wait()
    print(f"Java exited with code {jvm.returncode}", file=sys.stderr, flush=True)
    _exit(JVM_GONE, work)


def _exit(code: int, work: str) -> NoReturn:
    """End the process at once, even if threads still run. The kernel ends the JVM with it."""
    shutil.rmtree(work, ignore_errors=True)
    os._exit(code)

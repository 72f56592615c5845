"""The loop of the engine's process: requests from standard input, responses to the original standard output.

Each line has a number from the client, a space and the JSON of the protocol. The process and the JVM end at an empty
line, at the end of the input, or when the parent or the JVM ends.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from airflow_provider_odf import protocol
from airflow_provider_odf.engine import application, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JVM_EXIT_SECONDS = 0.5

_WATCH_SECONDS = 0.5

PARENT_GONE = 71
"""Exit code after the end of the parent; the JVM ends with the engine."""

JVM_GONE = 70
"""Exit code after an unexpected end of the JVM."""


def serve(app_name: str, master: str, conf: Mapping[str, str], threads: int, work: str, parent: int) -> NoReturn:
    """Answer requests until the input, the parent or the JVM ends.

    :param work: directory for temporary files, removed at the end.
    :param parent: id of the client's process. This process ends with it.
    """
    responses = _claim_stdout()
    threading.Thread(target=_watch_parent, args=(parent, work), daemon=True).start()
    own = {"spark.local.dir": work, "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={work}"}
    own["spark.driver.extraJavaOptions"] += " " + conf.get("spark.driver.extraJavaOptions", "")
    spark, jvm = session.start_local(
        app_name, master, session.SETTINGS | dict(conf) | own, meanwhile=_import_operations
    )
    threading.Thread(target=_watch_jvm, args=(jvm, work), daemon=True).start()
    has_listener = application.has_listener(spark)
    handler = RequestHandler(spark, jvm, responses)
    with ThreadPoolExecutor(threads, thread_name_prefix="request") as pool:
        for line in iter(sys.stdin.buffer.readline, b""):
            if not line.strip():
                break
            number, _, text = line.decode().partition(" ")
            pool.submit(handler.handle, number, protocol.loads_request(text))
        # No client waits for the requests that still run.
        handler.close()
        if has_listener:
            spark.stop()  # else the listener would not report the application's end
        jvm.kill()
        jvm.wait()
        _exit(0, work)


class RequestHandler:
    """Handles requests from any thread and writes each response line as a whole."""

    def __init__(self, spark: SparkSession, jvm: subprocess.Popen[bytes], responses: BinaryIO) -> None:
        self._spark = spark
        self._jvm = jvm
        self._responses = responses
        self._lock = threading.Lock()

    def handle(self, number: str, request: protocol.Request) -> None:
        """Answer one request: write its progress, then its outcome."""
        from airflow_provider_odf.engine.request import answer

        operation = protocol.operation(request)

        def respond(response: protocol.Response) -> None:
            with self._lock:
                self._responses.write(f"{number} {protocol.dumps_response(operation, response)}\n".encode())
                self._responses.flush()

        outcome = answer(self._spark, request, respond)
        if not (isinstance(outcome, protocol.InternalError) and self._has_lost_jvm()):
            respond(outcome)

    def close(self) -> None:
        """Prevent further responses."""
        self._lock.acquire()

    def _has_lost_jvm(self) -> bool:
        """Whether the JVM is ending. Then this process ends without a response, and the JVM's output is the reason."""
        try:
            self._jvm.wait(_JVM_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True


def _import_operations() -> None:
    """Import the modules of common operations before the first request needs them."""
    importlib.import_module("airflow_provider_odf.engine.request")
    importlib.import_module("airflow_provider_odf.engine.merge")


def _claim_stdout() -> BinaryIO:
    """Return the original standard output. Later output of Spark and the JVM goes to standard error."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return responses


def _watch_parent(parent: int, work: str) -> NoReturn:
    """End this process with its parent.

    The input may stay open after the parent's end, if a process that the parent forked holds the pipe.
    """
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    _exit(PARENT_GONE, work)


def _watch_jvm(jvm: subprocess.Popen[bytes], work: str) -> NoReturn:
    jvm.wait()
    print(f"Java exited with code {jvm.returncode}", file=sys.stderr, flush=True)
    _exit(JVM_GONE, work)


def _exit(code: int, work: str) -> NoReturn:
    """End the process at once, even if threads still run. The kernel ends the JVM with it."""
    shutil.rmtree(work, ignore_errors=True)
    os._exit(code)

"""The loop of the engine's process: requests from standard input, responses to what was standard output.

One line each: a number that the asker chose, a space, the JSON of the protocol. The process ends, and the JVM with it,
at an empty line, when its input ends, when its parent is gone, or when the JVM is.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, NoReturn

from pyspark.sql import SparkSession

from airflow_provider_odf import protocol
from airflow_provider_odf.engine import session
from airflow_provider_odf.engine.answer import answer

JVM_GONE = 70
"""Exit code when the JVM ended under the engine."""


def serve(app_name: str, master: str, conf: Mapping[str, str], threads: int, work: str) -> NoReturn:
    """Answers requests until there can be no more. ``work`` is the directory for temporary files; it is removed."""
    responses = _claim_stdout()
    own = {"spark.local.dir": work, "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={work}"}
    own["spark.driver.extraJavaOptions"] += " " + conf.get("spark.driver.extraJavaOptions", "")
    spark, jvm = session.start_local(app_name, master, session.SETTINGS | dict(conf) | own)
    threading.Thread(target=_watch, args=(jvm, os.getppid()), daemon=True).start()
    desk = Desk(spark, responses)
    with ThreadPoolExecutor(threads, thread_name_prefix="request") as pool:
        for line in iter(sys.stdin.buffer.readline, b""):
            if not line.strip():
                break
            number, _, text = line.decode().partition(" ")
            pool.submit(desk.handle, number, protocol.loads_request(text))
        # Nobody waits for what still runs.
        _end(jvm, work)


class Desk:
    """Takes requests, from any thread, and writes the response lines whole."""

    def __init__(self, spark: SparkSession, responses: BinaryIO) -> None:
        self._spark = spark
        self._responses = responses
        self._lock = threading.Lock()

    def handle(self, number: str, request: protocol.Request) -> None:
        """Answers one request: its progress, then its outcome."""
        operation = protocol.operation(request)

        def respond(response: protocol.Response) -> None:
            with self._lock:
                self._responses.write(f"{number} {protocol.dumps_response(operation, response)}\n".encode())
                self._responses.flush()

        respond(answer(self._spark, request, lambda message: respond(protocol.Progress(message))))


def _claim_stdout() -> BinaryIO:
    """The pipe that standard output is. From now on, what Spark and the JVM print goes to standard error."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return responses


def _watch(jvm: subprocess.Popen[bytes], parent: int) -> NoReturn:
    while jvm.poll() is None:
        # A process that the parent forked may hold its end of the pipe open: then the input does not end with it.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.5)
    print(f"Java ended with exit code {jvm.returncode}", file=sys.stderr, flush=True)
    os._exit(JVM_GONE)


def _end(jvm: subprocess.Popen[bytes], work: str) -> NoReturn:
    jvm.kill()
    jvm.wait()
    shutil.rmtree(work, ignore_errors=True)
    os._exit(0)

"""Spark on a cluster: ``spark-submit`` submits each request as an application of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from airflow_provider_odf import closed_files, errors, object_stores, protocol
from airflow_provider_odf.engine import jvm
from airflow_provider_odf.engine.task_watch import BEAT_SECONDS
from airflow_provider_odf.lineage import jobs
from airflow_provider_odf.owned_folders import TemporaryDirectory
from airflow_provider_odf.runner import apps
from airflow_provider_odf.runner.runner import OnEngine, OnProgress, Reports, Runner, Tail, settle
from airflow_provider_odf.watchdog import Watchdog

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 10
_JAVA_OPTIONS = {f"spark.{role}.defaultJavaOptions": " ".join(jvm.SAME_VALUES) for role in ("driver", "executor")}
_ONCE_WATCHED = 'read -r _ || exit; exec "$0" "$@" </dev/null'
"""Starts the command only once a watchdog is running, so that it cannot outlive a killed task."""


class SparkSubmitRunner(Runner):
    """``spark-submit`` to a master: standalone, YARN, Kubernetes.

    ``conf`` are Spark settings, ``arguments`` further options of spark-submit. Applications are named
    ``odf_{operation}_{dataset}`` unless one of these sets a name. Request and response are files in ``exchange``, by
    default a temporary directory. In cluster deploy mode it must be shared with the driver, like the paths in requests.
    The Python of the workers (``spark.pyspark.python``) needs pyarrow.

    Applications end with this process: `Watchdog` ends spark-submit and a driver on this machine, and a driver
    elsewhere watches the request's file, see `engine.task_watch`.
    """

    def __init__(
        self,
        master: str,
        conf: Mapping[str, str] | None = None,
        *,
        deploy_mode: str = "client",
        arguments: Sequence[str] = (),
        exchange: Path | None = None,
        spark_submit: str = "spark-submit",
        threads: int = 2,
    ) -> None:
        self.started = 0
        self._master = master
        self._name = (conf or {}).get("spark.app.name")
        self._options = ["--master", master, "--deploy-mode", deploy_mode]
        self._options += _conf(conf or {})
        self._options += arguments
        self._exchange = exchange
        self._spark_submit = spark_submit
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="spark-submit")
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False
        # Reentrant: a signal handler may close the runner in the thread that closes it.
        self._lock = threading.RLock()

    @property
    def shares_disk(self) -> bool:
        return self._master.startswith("local")

    def submit(
        self, request: protocol.Request, on_progress: OnProgress | None = None, on_engine: OnEngine | None = None
    ) -> Future[protocol.Success]:
        future: Future[protocol.Success] = Future()
        future.set_running_or_notify_cancel()
        program = find_spark_submit(self._spark_submit)
        self._pool.submit(self._run, program, request, Reports(on_progress, on_engine), future)
        return future

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)
        for process in running:
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
        self._pool.shutdown()

    def _run(self, program: str, request: protocol.Request, reports: Reports, future: Future[protocol.Success]) -> None:
        try:
            with TemporaryDirectory("submit", self._exchange) as directory:
                settle(future, self._ask(program, request, reports, directory))
        except Exception as e:
            future.set_exception(e)

    def _ask(self, program: str, request: protocol.Request, reports: Reports, directory: Path) -> protocol.Response:
        request_file, response_file = directory / "request.json", directory / "response.jsonl"
        request_file.write_text(protocol.dumps_request(request), encoding="utf-8")
        response_file.touch()
        main = [str(apps.application("run.py")), str(request_file), str(response_file)]
        name = self._name or jobs.of_request(request)
        # spark-submit uses the last of two equal options, so a name in the arguments wins.
        settings = {**_JAVA_OPTIONS, **closed_files.spark_settings(), **jobs.listener_settings()}
        options = ["--name", name, *_conf(settings), *self._options]
        options += ["--py-files", str(apps.bundle(directory))]
        with self._start([program, *options, *main]) as process, _watched(process):
            tail = Tail(process.stdout)
            reports.pass_on(protocol.Progress(f"submitted {name}", protocol.Engine(name)))
            responses = _Responses(response_file, reports)
            beaten = time.monotonic()
            while not _has_ended(process):
                responses.read()
                if time.monotonic() - beaten > BEAT_SECONDS:
                    beaten = time.monotonic()
                    with suppress(OSError):
                        os.utime(request_file)
            with self._lock:
                self._running.discard(process)
            responses.read()
            if responses.outcome is None:
                message = f"spark-submit exited with code {process.returncode} without a response: {tail.root_cause}"
                raise errors.EngineLost(message, tail.text, was_closed=self._is_closed)
            return responses.outcome

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        # Credentials may come over the network: not while a signal handler waits for the lock.
        environment = _pythons(self._master) | os.environ | object_stores.environment()
        with self._lock:
            if self._is_closed:
                raise errors.EngineLost("the runner was closed", was_closed=True)
            process = subprocess.Popen(
                ["/bin/sh", "-c", _ONCE_WATCHED, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            self._running.add(process)
            self.started += 1
        return process


def find_spark_submit(program: str = "spark-submit") -> str:
    """Return the path of ``spark-submit``: ``program`` itself or on the PATH, in SPARK_HOME, or in pyspark.

    :raises InvalidInput: it is not installed.
    """
    import importlib.util

    spec = importlib.util.find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME"), os.path.dirname(spec.origin) if spec and spec.origin else None]
    candidates = [
        shutil.which(program),
        *(shutil.which(program, path=os.path.join(home, "bin")) for home in homes if home),
    ]
    path = next(filter(None, candidates), None)
    if path is None:
        raise errors.InvalidInput(f"{program} not found: install pyspark, or set SPARK_HOME")
    return path


def _conf(settings: Mapping[str, str]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]


def _pythons(master: str) -> dict[str, str]:
    """Return variables that make the driver, and local workers, use this Python instead of ``python3``."""
    names = ["PYSPARK_DRIVER_PYTHON", *(["PYSPARK_PYTHON"] if master.startswith("local") else [])]
    return dict.fromkeys(names, sys.executable)


class _Responses:
    """The response file as it grows."""

    def __init__(self, file: Path, reports: Reports) -> None:
        self.outcome: protocol.Response | None = None
        self._file = file
        self._offset = 0
        self._reports = reports

    def read(self) -> None:
        """Report new progress, and keep the outcome. An incomplete line is left for the next call."""
        new = self._file.read_bytes()[self._offset :]
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            response = protocol.loads_response(line.decode())
            if isinstance(response, protocol.Progress):
                self._reports.pass_on(response)
            else:
                self.outcome = response


@contextmanager
def _watched(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End spark-submit and its driver when this process ends."""
    watchdog = Watchdog(process)
    try:
        with suppress(OSError), process.stdin or open(os.devnull, "wb") as start:  # may be closed already
            start.write(b"\n")
        yield
    finally:
        _signal(process, signal.SIGKILL)  # a driver may outlive spark-submit
        watchdog.dismiss()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal spark-submit and the processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True

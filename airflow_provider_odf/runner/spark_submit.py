"""Spark on a cluster: ``spark-submit`` submits each request as an application of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import closed_files, errors, object_stores, protocol
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.engine import jvm, mailbox
from airflow_provider_odf.lineage import jobs
from airflow_provider_odf.owned_folders import TemporaryDirectory
from airflow_provider_odf.runner import apps
from airflow_provider_odf.runner.runner import OnEngine, OnProgress, Reports, Runner, Tail, settle
from airflow_provider_odf.source import work_area
from airflow_provider_odf.watchdog import Watchdog

if TYPE_CHECKING:
    from airflow_provider_odf.chain.storage import Storage

_PATIENCE_SECONDS = 10
_JAVA_OPTIONS = {f"spark.{role}.defaultJavaOptions": " ".join(jvm.SAME_VALUES) for role in ("driver", "executor")}
_ONCE_WATCHED = 'read -r _ || exit; exec "$0" "$@" </dev/null'
"""Starts the command only once a watchdog is running, so that it cannot outlive a killed task."""
_OF_CLUSTERS = {
    "yarn": {"spark.yarn.submit.waitAppCompletion": "true", "spark.yarn.maxAppAttempts": "1"},
    "k8s": {"spark.kubernetes.submission.waitAppCompletion": "true"},
}
"""Settings by the beginning of a master: spark-submit ends with its application, and YARN does not start a lost driver
again beside the task's retry."""
_VARIABLES = "odf-object-store-variables.json"
"""File with the access of an application on YARN to object stores."""


class SparkSubmitRunner(Runner):
    """``spark-submit`` to a master: standalone, YARN, Kubernetes.

    ``conf`` are Spark settings, ``arguments`` further options of spark-submit. Applications are named
    ``odf_{operation}_{dataset}`` unless one of these sets a name. The Python of the workers (``spark.pyspark.python``)
    needs pyarrow.

    In cluster deploy mode the mailbox of an application lies in ``exchange``, which its driver must see: that of a
    store. Else it is a temporary folder.

    Applications end with this process: `Watchdog` ends spark-submit and a driver on this machine, and a driver
    elsewhere watches its mailbox, see `engine.mailbox`.
    """

    def __init__(
        self,
        master: str,
        conf: Mapping[str, str] | None = None,
        *,
        deploy_mode: str = "client",
        arguments: Sequence[str] = (),
        exchange: Storage | None = None,
        spark_submit: str = "spark-submit",
        threads: int = 2,
    ) -> None:
        self.started = 0
        self._master = master
        self._name = (conf or {}).get("spark.app.name")
        self._options = ["--master", master, "--deploy-mode", deploy_mode]
        self._options += _conf({**_OF_CLUSTERS.get(master.partition(":")[0], {}), **(conf or {})})
        self._options += arguments
        self._exchange = exchange if deploy_mode == "cluster" else None
        # The driver of a cluster has another Python than this machine.
        self._pythons = {} if deploy_mode == "cluster" else _pythons(master)
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
            with TemporaryDirectory("submit") as directory, self._mailbox(request, directory) as place:
                settle(future, self._ask(program, request, reports, directory, place))
        except Exception as e:
            future.set_exception(e)

    @contextmanager
    def _mailbox(self, request: protocol.Request, directory: Path) -> Iterator[str]:
        """Yield the place of a new mailbox, which is removed at the end. In the exchange, it is one of the folders of a
        step."""
        if self._exchange is None:
            yield str(directory)
            return
        storage = self._exchange.folder(request.dataset_alias.lower())
        if isinstance(storage, LocalStorage):
            with work_area.scratch(storage.root) as folder:
                yield str(folder)
            return
        name = f"{work_area.SCRATCH}{uuid.uuid4().hex[:12]}"
        try:
            yield storage.location(name)
        finally:
            with suppress(errors.StorageError):  # what is left is for `odf gc`
                storage.remove_folder(name)

    def _ask(
        self, program: str, request: protocol.Request, reports: Reports, directory: Path, place: str
    ) -> protocol.Response:
        text, box = protocol.dumps_request(request), mailbox.at(place)
        task = mailbox.Task(box, text)
        name = self._name or jobs.of_request(request)
        # spark-submit uses the last of two equal options, so a name in the arguments wins.
        settings = {**_JAVA_OPTIONS, **closed_files.spark_settings(), **jobs.listener_settings()}
        options = ["--name", name, *_conf(settings), *self._options]
        options += ["--py-files", str(apps.bundle(directory))]
        if self._master == "yarn" and object_stores.are_named_in(f'{text} "{place}"'):
            options += _access(directory)
        started = [program, *options, str(apps.application("run.py")), place]
        outcome: protocol.Response | None = None
        with self._start(started) as process, _watched(process):
            tail = Tail(process.stdout)
            reports.pass_on(protocol.Progress(f"submitted {name}", protocol.Engine(name)))
            while not _has_ended(process, box.pause):
                with suppress(errors.StorageError):  # the last look counts
                    outcome = _pass_on(task.new_responses(), reports) or outcome
            with self._lock:
                self._running.discard(process)
            outcome = _pass_on(task.new_responses(), reports) or outcome
            if outcome is None:
                what = f"spark-submit to {self._master} exited with code {process.returncode} without a response"
                message = f"{what}: {tail.root_cause}"
                message += " (the log of the driver in the cluster says more)" if self._exchange is not None else ""
                raise errors.EngineLost(message, tail.text, was_closed=self._is_closed)
            return outcome

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        # Credentials may come over the network: not while a signal handler waits for the lock.
        environment = self._pythons | os.environ | object_stores.environment()
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


def _access(directory: Path) -> list[str]:
    """Return options that give driver and executors on YARN the access of this process to object stores, in a file of
    their containers, by the way that Spark takes for a keytab: YARN writes the environment of a container into its
    logs."""
    variables = object_stores.passed_on({**os.environ, **object_stores.environment()})
    if not variables:
        return []
    file = directory / _VARIABLES
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        json.dump(variables, stream)
    named = [f"{prefix}.{object_stores.VARIABLES_FILE}" for prefix in ("spark.yarn.appMasterEnv", "spark.executorEnv")]
    return [*_conf(dict.fromkeys(named, file.name)), "--files", str(file)]


def _pass_on(lines: Sequence[str], reports: Reports) -> protocol.Response | None:
    """Report progress, and return the outcome if it is there."""
    outcome = None
    for response in map(protocol.loads_response, lines):
        if isinstance(response, protocol.Progress):
            reports.pass_on(response)
        else:
            outcome = response
    return outcome


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


def _has_ended(process: subprocess.Popen[bytes], patience: float) -> bool:
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        return False
    return True

"""Spark on a cluster: each request is an application of its own, handed over by ``spark-submit``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.lineage.jobs import spark_application
from airflow_provider_odf.owned import TemporaryDirectory
from airflow_provider_odf.runner import apps
from airflow_provider_odf.runner.runner import OnProgress, gist, report_progress, settle
from airflow_provider_odf.watchman import Watchman

_TAIL_LINES = 200
_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 10
_ONCE_WATCHED = 'read -r _ || exit; exec "$0" "$@" </dev/null'
"""Starts a command once it is watched: it would outlive a task that is killed before."""


class SparkSubmitRunner:
    """``spark-submit`` to a master: standalone, YARN, Kubernetes.

    ``conf`` are Spark settings, ``arguments`` further options of spark-submit as they are. Applications are called
    ``odf_{operation}_{dataset}`` unless one of these names them. Request and response are
    files in ``exchange``, by default a temporary directory; in cluster deploy mode it must be shared with the driver,
    as the paths in requests must be in any case. The Python of the workers (``spark.pyspark.python``) needs pyarrow.
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
        self._options += [part for key, value in (conf or {}).items() for part in ("--conf", f"{key}={value}")]
        self._options += arguments
        self._exchange = exchange
        self._spark_submit = spark_submit
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="spark-submit")
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    def submit(self, request: protocol.Request, on_progress: OnProgress | None = None) -> Future[protocol.Success]:
        future: Future[protocol.Success] = Future()
        future.set_running_or_notify_cancel()
        program = find_spark_submit(self._spark_submit)
        self._pool.submit(self._run, program, request, on_progress, future)
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

    def __enter__(self) -> SparkSubmitRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(
        self, program: str, request: protocol.Request, on_progress: OnProgress | None, future: Future[protocol.Success]
    ) -> None:
        try:
            with TemporaryDirectory("submit", self._exchange) as directory:
                settle(future, self._ask(program, request, on_progress, directory))
        except Exception as e:
            future.set_exception(e)

    def _ask(
        self, program: str, request: protocol.Request, on_progress: OnProgress | None, directory: Path
    ) -> protocol.Response:
        request_file, response_file = directory / "request.json", directory / "response.jsonl"
        request_file.write_text(protocol.dumps_request(request), encoding="utf-8")
        response_file.touch()
        main = [str(apps.application("run.py")), str(request_file), str(response_file)]
        name = self._name or spark_application(protocol.operation(request), request.dataset_alias)
        # Of two options that say the same spark-submit takes the last, so that a name among the arguments holds.
        options = ["--name", name, *self._options, "--py-files", str(apps.bundle(directory))]
        with self._start([program, *options, *main]) as process, _watched(process):
            said = _Tail(process)
            report_progress(on_progress, f"submitted {name}")
            responses = _Responses(response_file, on_progress)
            while not _has_ended(process):
                responses.take()
            with self._lock:
                self._running.discard(process)
            responses.take()
            return responses.outcome or protocol.InternalError(
                f"spark-submit ended with exit code {process.returncode} and without an answer: {said.gist}", said.text
            )

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed:
                raise errors.InternalError("the runner was closed")
            process = subprocess.Popen(
                ["/bin/sh", "-c", _ONCE_WATCHED, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=_pythons(self._master) | os.environ,
                start_new_session=True,
            )
            self._running.add(process)
            self.started += 1
        return process


def find_spark_submit(program: str = "spark-submit") -> str:
    """The path of ``spark-submit``: as given, of SPARK_HOME, on the PATH, or of the installed pyspark.

    :raises InvalidInput: there is none.
    """
    import importlib.util

    spec = importlib.util.find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME"), os.path.dirname(spec.origin) if spec and spec.origin else None]
    candidates = [
        shutil.which(program),
        *(shutil.which(program, path=os.path.join(home, "bin")) for home in homes if home),
    ]
    found = next(filter(None, candidates), None)
    if found is None:
        raise errors.InvalidInput(f"no {program} found: install pyspark, or set SPARK_HOME")
    return found


def _pythons(master: str) -> dict[str, str]:
    """This Python for the driver, and for workers if they are on this machine: spark-submit would take ``python3``."""
    names = ["PYSPARK_DRIVER_PYTHON", *(["PYSPARK_PYTHON"] if master.startswith("local") else [])]
    return dict.fromkeys(names, sys.executable)


class _Responses:
    """The response file as it grows."""

    def __init__(self, file: Path, on_progress: OnProgress | None) -> None:
        self.outcome: protocol.Response | None = None
        self._file = file
        self._offset = 0
        self._on_progress = on_progress

    def take(self) -> None:
        """Reports the progress that came since the last call, and keeps the outcome. Half a line waits."""
        new = self._file.read_bytes()[self._offset :]
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            response = protocol.loads_response(line.decode())
            if isinstance(response, protocol.Progress):
                report_progress(self._on_progress, response.message)
            else:
                self.outcome = response


class _Tail:
    """The last lines that a process printed."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._lines: deque[str] = deque(maxlen=_TAIL_LINES)
        self._thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._thread.start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        for line in process.stdout or ():
            self._lines.append(line.decode(errors="replace").rstrip())

    @property
    def text(self) -> str:
        self._thread.join()
        return "\n".join(self._lines)

    @property
    def gist(self) -> str:
        return gist(self.text.splitlines())


@contextmanager
def _watched(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While spark-submit runs, it ends with this process, with the driver that it started."""
    watchman = Watchman(process)
    try:
        with suppress(OSError), process.stdin or open(os.devnull, "wb") as start:  # it may have been closed already
            start.write(b"\n")
        yield
    finally:
        _signal(process, signal.SIGKILL)  # a driver that outlived it
        watchman.dismiss()


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

"""Servers of Spark for tests: a standalone cluster, and a Spark Connect server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from airflow_provider_odf.engine import jvm
from demo.machines import without
from tests.processes import wait_until

LEAN = " ".join(jvm.SHORT_JOBS)


@contextmanager
def standalone(
    folder: Path, workers: int = 1, hidden: Path | None = None, memory: str = "1g", share: float | None = None
) -> Iterator[str]:
    """The URL of a standalone cluster with one core and one process for each worker. They see a hidden folder empty.

    With a ``share``, each has so many processors at most, with all its executors, if this process may limit it.
    """
    port, master_ui, *worker_ui = free_ports(2 + workers)
    url = f"spark://127.0.0.1:{port}"
    spark = Path(jvm.spark_home(), "bin", "spark-class")
    environment = os.environ | {"SPARK_HOME": jvm.spark_home(), "SPARK_DAEMON_MEMORY": "300m"}
    place = ["--host", "127.0.0.1", "--webui-port"]
    roles, before = [("master.Master", [*place, str(master_ui), "--port", str(port)])], [list[str]()]
    for ui in worker_ui:
        size = ["--cores", "1", "--memory", memory, "--work-dir", str(folder / f"work-{ui}")]
        roles.append(("worker.Worker", [*place, str(ui), *size, url]))
        before.append(list(without(hidden)) if hidden else [])
    with open(folder / "cluster.log", "wb") as log, ExitStack() as groups:
        processes = [
            subprocess.Popen(
                [*prefix, spark, f"org.apache.spark.deploy.{role}", *arguments],
                env=environment,
                stdout=log,
                stderr=log,
            )
            for prefix, (role, arguments) in zip(before, roles, strict=True)
        ]
        for process in processes[1:] if share else ():
            groups.enter_context(_limited(process.pid, share))
        try:
            wait_until(lambda: _workers(master_ui) == workers, 180)
            yield url
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


@contextmanager
def _limited(pid: int, share: float) -> Iterator[None]:
    """Give a process, and those that it will start, so many processors at most, if this process may make a control
    group, of version 1 or 2."""
    root, period = Path("/sys/fs/cgroup"), 20_000
    quota, is_first = int(share * period), (root / "cpu").is_dir()
    group = root / "cpu" / f"odf-{pid}" if is_first else root / f"odf-{pid}"
    first = {"cpu.cfs_period_us": f"{period}", "cpu.cfs_quota_us": f"{quota}"}
    with suppress(OSError):
        group.mkdir()
        for name, text in (
            (first if is_first else {"cpu.max": f"{quota} {period}"}) | {"cgroup.procs": f"{pid}"}
        ).items():
            (group / name).write_text(text)
    yield
    with suppress(OSError):
        group.rmdir()


class ConnectServer:
    """A Spark Connect server on one port, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        self.url = f"sc://127.0.0.1:{self.port}"
        self.log = folder / "connect.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        conf = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.driver.extraJavaOptions": LEAN,
        }
        options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
        main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        program = Path(jvm.spark_home(), "bin", "spark-submit")
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [program, "--master", "local[2]", *options, *main],
                env=os.environ | {"PYSPARK_PYTHON": sys.executable},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._listens, 180)

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def sessions(self) -> tuple[int, int]:
        """How many sessions were opened and released."""
        lines = self.log.read_text(errors="replace").splitlines()
        opened = {line.split("sessionId: ")[1][:36] for line in lines if " accessed at timestamp" in line}
        return len(opened), sum("Closing session with userId" in line for line in lines)

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def _workers(port: int) -> int:
    with suppress(OSError, ValueError), urllib.request.urlopen(f"http://127.0.0.1:{port}/json/") as answer:
        return int(json.load(answer)["aliveworkers"])
    return 0

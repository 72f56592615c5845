"""The machines of a cluster, each a folder with processes that use no other: a coordinator, two workers of Spark, and a
server of objects that all of them reach by the network alone.

Where the system lets an unprivileged user have mounts of their own (Linux), the workers see an empty folder in place of
that of each other machine. Elsewhere they are only told to use their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from demo.browse import free_port
from demo.family import Family

HOST = "127.0.0.1"
BUCKET = "demo"
STORE = f"s3://{BUCKET}/odf"
_LONGEST_START = 90.0
_LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# All in the memory of 4 GB: two executors of two applications at a time.
_SPARK_DEFAULTS = f"""
spark.driver.host                   {HOST}
spark.driver.bindAddress            {HOST}
spark.driver.memory                 512m
spark.driver.extraJavaOptions       {_LEAN}
spark.executor.memory               512m
spark.executor.cores                1
spark.executor.extraJavaOptions     {_LEAN}
spark.cores.max                     2
spark.shuffle.readHostLocalDisk     false
"""

_HIDDEN = """
while [ "$1" != -- ]; do mount -t tmpfs -o ro none "$1" || exit 1; shift; done
shift
exec "$@"
"""
"""Script that covers folders with empty ones, for a command and those that it starts."""


class NotStarted(Exception):
    """A process of the cluster ended, or did not answer in time."""


@dataclass(frozen=True)
class Machine:
    """A folder for everything that the processes of a machine write."""

    folder: Path

    def environment(self) -> dict[str, str]:
        """Return variables by which programs write only into this folder. The folders are made."""
        places = {"HOME": "home", "TMPDIR": "tmp", "ODF_CACHE_DIR": "cache", "SPARK_LOCAL_DIRS": "local"}
        folders = {variable: self.folder / name for variable, name in places.items()}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "JAVA_HOME") if name in os.environ}
        return kept | {variable: str(folder) for variable, folder in folders.items()} | {"SPARK_LOCAL_IP": HOST}


class Cluster:
    """An S3 server, a Spark master and two workers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.coordinator = Machine(home / "coordinator")
        self.workers = {name: Machine(home / name) for name in ("worker-1", "worker-2")}
        self.s3_log = home / "s3.log"
        self.endpoint = f"http://{HOST}:{free_port(9000)}"
        self._port, self._ui = free_port(7077), free_port(8081)
        self._worker_uis = dict(zip(self.workers, (free_port(8082), free_port(8083)), strict=True))

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self._port}"

    @property
    def master_ui(self) -> str:
        return f"http://{HOST}:{self._ui}"

    def environment(self) -> dict[str, str]:
        """Return the variables of Airflow and ``odf`` on the coordinator."""
        conf = self.coordinator.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "spark-defaults.conf").write_text(_SPARK_DEFAULTS)
        connection = f'{{"conn_type": "spark", "host": "spark://{HOST}", "port": {self._port}}}'
        return {
            **self.coordinator.environment(),
            **self.credentials(),
            "SPARK_CONF_DIR": str(conf),
            "PYSPARK_PYTHON": sys.executable,
            "AIRFLOW_CONN_SPARK_CLUSTER": connection,
            "AIRFLOW__ODF__SPARK_CONN_ID": "spark_cluster",
            # By default lineage is sent by a fork of the task, which cannot use an object store.
            "AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD": "True",
        }

    def credentials(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "demo",
            "AWS_SECRET_ACCESS_KEY": "demo-secret",
            "AWS_REGION": "us-east-1",
        }

    def start(self, family: Family) -> None:
        """Start all processes, which come up while others do their work; see `wait`."""
        from airflow_provider_odf.engine.jvm import spark_home

        own = Machine(self.home / "s3").environment() | {"TZ": "UTC"}
        server = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", self.endpoint.rpartition(":")[2]]
        self._start(family, "s3", server, own)
        spark = Path(spark_home(), "bin", "spark-class")
        daemon = {"SPARK_HOME": spark_home(), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": _LEAN}
        place = ["--host", HOST, "--port", str(self._port), "--webui-port", str(self._ui)]
        master = [str(spark), "org.apache.spark.deploy.master.Master", *place]
        self._start(family, "master", master, Machine(self.home / "master").environment() | daemon)
        for name, machine in self.workers.items():
            place = ["--host", HOST, "--webui-port", str(self._worker_uis[name])]
            size = ["--cores", "2", "--memory", "2g", "--work-dir", str(machine.folder / "work")]
            worker = [str(spark), "org.apache.spark.deploy.worker.Worker", *place, *size, self.master]
            own = machine.environment() | self.credentials() | daemon
            self._start(family, name, self._hidden_from(machine, worker), own)

    def wait(self, family: Family) -> None:
        """Wait until all answer, and make the bucket.

        :raises NotStarted: one of them does not.
        """
        self._until(family, "s3", lambda: httpx.put(f"{self.endpoint}/{BUCKET}").is_success)
        self._until(family, "master", lambda: self._json(self._ui)["aliveworkers"] == len(self.workers))

    def applications(self) -> list[tuple[str, str, list[int]]]:
        """Return id and name of each application that has ended, the first one first, and the number of its executors
        on each worker."""
        executors = [[e["appid"] for e in self._json(port)["finishedexecutors"]] for port in self._worker_uis.values()]
        ended = sorted((app["id"], app["name"]) for app in self._json(self._ui)["completedapps"])
        return [(id_, name, [of_worker.count(id_) for of_worker in executors]) for id_, name in ended]

    def _start(self, family: Family, name: str, command: list[str], environment: dict[str, str]) -> None:
        with (self.home / f"{name}.log").open("w") as log:
            family.start(name, command, log, environment)

    def _until(self, family: Family, name: str, is_up: Callable[[], bool]) -> None:
        end = time.monotonic() + _LONGEST_START
        while time.monotonic() < end:
            try:
                if is_up():
                    return
            except httpx.HTTPError:
                pass
            if (ended := family.wait(0.2)) is not None:
                raise NotStarted(f"{ended} has ended, see {self.home / ended}.log")
        raise NotStarted(f"{name} did not answer in {_LONGEST_START:.0f} seconds, see {self.home / name}.log")

    def _hidden_from(self, machine: Machine, command: list[str]) -> list[str]:
        """Return a command that does not see the folders of the other machines, if the system allows that."""
        others = [m.folder for m in (self.coordinator, *self.workers.values()) if m != machine]
        for folder in others:
            folder.mkdir(parents=True, exist_ok=True)
        if not can_hide():
            return command
        return [*without(*others), *command]

    @staticmethod
    def _json(port: int) -> Any:
        return httpx.get(f"http://{HOST}:{port}/json/", timeout=5).json()


@cache
def can_hide() -> bool:
    """Return whether processes can have mounts of their own."""
    if shutil.which("unshare") is None:
        return False
    tried = [*_unshare(), "sh", "-c", "mount -t tmpfs none /tmp"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def without(*folders: Path) -> list[str]:
    """Return the beginning of a command that sees folders empty."""
    return [*_unshare(), "sh", "-c", _HIDDEN, "sh", *map(str, folders), "--"]


def _unshare() -> list[str]:
    return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]

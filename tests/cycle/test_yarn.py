"""Applications on a real YARN, whose containers see no temporary folder of the task and none of its variables."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_odf import errors, object_stores, protocol
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.engine.mailbox import PATIENCE_SECONDS
from airflow_provider_odf.runner import SparkSubmitRunner
from demo.machines import can_hide
from tests.examples.test_object_store_connections import MANIFEST, Airflow
from tests.processes import processes, wait_until
from tests.s3 import guarded_s3, use
from tests.yarn_cluster import Yarn, yarn

from .conftest import RunIn, Write

pytestmark = [pytest.mark.spark, pytest.mark.yarn, pytest.mark.timeout(900)]

SECRET = "zQ9-of-the-task-Q9z"
PRICES = """
kind: DatasetSnapshot
version: 1
content:
  name: prices
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: "in/*.csv", order: ByName, eventTime: {kind: FromMetadata}}
      read: {kind: Csv, header: true, schema: ["sku STRING", "price BIGINT"]}
      merge: {kind: Snapshot, primaryKey: [sku]}
"""
EXPENSIVE = """
kind: DatasetSnapshot
version: 1
content:
  name: expensive
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{datasetRef: prices, alias: prices}]
      transform: {kind: Sql, engine: spark, query: "SELECT event_time, sku, price FROM prices WHERE price > 100"}
"""


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the task, which the node sees empty."""
    return tmp_path_factory.mktemp("task")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, hidden: Path) -> Iterator[Yarn]:
    with yarn(tmp_path_factory.mktemp("yarn"), hidden if can_hide() else None) as cluster:
        yield cluster


@pytest.fixture
def store(cluster: Yarn, hidden: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store in a bucket, and the environment of the task."""
    own = {"TMPDIR": str(hidden), "ODF_CACHE_DIR": str(hidden / "cache"), "PYSPARK_PYTHON": sys.executable}
    for name, value in (cluster.environment() | own | {"AWS_SECRET_ACCESS_KEY": SECRET}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    return Store.open(bucket)


def runner_of(store: Store, mode: str = "cluster") -> SparkSubmitRunner:
    return SparkSubmitRunner("yarn", deploy_mode=mode, exchange=store.exchange)


def left(store: Store) -> list[str]:
    return [info.name for info in store.exchange.every_file() if "/merge-" in f"/{info.name}"]


@pytest.mark.parametrize("mode", ["cluster", "client"])
def test_blocks_are_those_of_a_run_on_this_machine(
    mode: str, cluster: Yarn, store: Store, run_in: RunIn, write: Write, tmp_path: Path
):
    prices, expensive = write("prices.yaml", PRICES), write("expensive.yaml", EXPENSIVE)
    local = Store.open(tmp_path / "store")
    with runner_of(store, mode) as runner:
        for hour, rows in enumerate(("a,90\nb,110\n", "a,120\nc,7\n"), 10):
            write(f"in/{hour}.csv", "sku,price\n" + rows)
            for of, manifest in ((store, prices), (local, prices), (store, expensive), (local, expensive)):
                options = {"runner": runner, "spark": "always"} if of is store else {}
                assert run_in(of, manifest, hour, **options).error is None
    for name in ("prices", "expensive"):
        slices = [{block.event.new_data for _, block in of.dataset(name).walk(of.dataset(name).resolve("head"))
                   if getattr(block.event, "new_data", None)} for of in (store, local)]  # fmt: skip
        assert slices[0] == slices[1] != set()
        verify(store.dataset(name))
    assert left(store) == []
    assert {app["finalStatus"] for app in cluster.applications()} == {"SUCCEEDED"}
    logs = cluster.logs()
    assert any(name.endswith("launch_container.sh") for name in logs)  # as YARN logs the environment
    assert [name for name, text in logs.items() if SECRET in text] == []


SLOW = "SELECT count(*) AS a, 'x' AS b FROM range(10000000) x, range(10000000) y"


@pytest.fixture
def slow(bucket: str) -> protocol.MergeRequest:
    """A request that would take for ever."""
    object_stores.put(f"{bucket}/in/rows.csv", b"a,b\n1,x\n", 8)
    return protocol.MergeRequest(
        dataset_id="did:odf:x",
        dataset_alias="prices",
        system_time="2026-01-01T00:00:00Z",
        vocab=protocol.DatasetVocabulary(),
        read=protocol.ReadStep("Csv", (protocol.Column("a", "BIGINT"), protocol.Column("b", "STRING")), header=True),
        merge=protocol.MergeStrategy("Ledger", primary_key=("a",)),
        inputs=(protocol.MergeInput((f"{bucket}/in/rows.csv",), "2026-01-01T00:00:00Z", "rows.csv"),),
        next_offset=0,
        new_data_path=f"{bucket}/out",
        preprocess=protocol.Transform("spark", (protocol.SqlQueryStep(SLOW),)),
    )


def driver_of(store: Store) -> int:
    """The process id of the driver that answers a request of a store."""
    (pid,) = (pid for pid, (_, command) in processes().items() if f"run.py {store.exchange.uri}/" in command
              and "ApplicationMaster" not in command and "spark-submit" not in command
              and "SparkSubmit" not in command)  # fmt: skip
    return pid


def is_running(cluster: Yarn) -> bool:
    return cluster.applications()[-1]["state"] not in ("FINISHED", "FAILED", "KILLED")


def test_an_application_ends_when_the_runner_is_closed(cluster: Yarn, store: Store, slow: protocol.Request):
    begun = threading.Event()
    runner = runner_of(store)
    answer = runner.submit(slow, on_engine=lambda engine: begun.set() if engine.version else None)
    assert begun.wait(180)
    runner.close()
    with pytest.raises(errors.EngineLost) as e:
        answer.result(30)
    assert e.value.was_closed
    wait_until(lambda: not is_running(cluster), 30)
    assert cluster.applications()[-1]["finalStatus"] == "SUCCEEDED"  # so that YARN does not start it again


def test_an_application_ends_after_its_task_was_killed(cluster: Yarn, store: Store, slow: protocol.Request):
    program = f"""
import time
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.protocol.data import *
from airflow_provider_odf.protocol.messages import *
from airflow_provider_odf.runner import SparkSubmitRunner
runner = SparkSubmitRunner("yarn", deploy_mode="cluster", exchange=Store.open({store.uri!r}).exchange)
runner.submit({slow!r}, on_engine=lambda engine: print(engine.version, flush=True))
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as task:
        assert task.stdout is not None
        assert [task.stdout.readline() for _ in range(2)] == ["\n", "4.2.0\n"]
        task.kill()
    killed = time.monotonic()
    wait_until(lambda: not is_running(cluster), PATIENCE_SECONDS + 60)
    assert time.monotonic() - killed > PATIENCE_SECONDS - 30
    names = sorted(name.rpartition("/")[2] for name in left(store))
    assert names == ["alive", "request.json", "responses.jsonl"]


def test_a_driver_that_is_killed_is_one_error_and_the_next_run_is_exact(
    cluster: Yarn, store: Store, run_in: RunIn, write: Write
):
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", "sku,price\na,90\n")
    with runner_of(store) as runner:
        assert run_in(store, prices, 1, runner=runner, spark="always").error is None
        head, count = store.dataset("prices").head(), len(cluster.applications())
        write("in/2.csv", "sku,price\na,90\nb,110\n")
        killing = threading.Thread(target=_kill_soon, args=(store,))
        killing.start()
        error = run_in(store, prices, 2, runner=runner, spark="always").error
        killing.join()
        assert isinstance(error, errors.EngineLost)
        assert error.is_transient
        assert "\n" not in str(error)
        assert store.dataset("prices").head() == head
        assert len(cluster.applications()) == count + 1
        assert run_in(Store.open(store.uri), prices, 2, runner=runner, spark="always").error is None
    assert verify(store.dataset("prices")).records == 2
    assert left(store) == []


def _kill_soon(store: Store) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        with suppress(ValueError, ProcessLookupError):
            os.kill(driver_of(store), signal.SIGKILL)
            return
        time.sleep(0.1)


@pytest.mark.airflow
def test_a_dag_shows_the_secret_of_its_connection_nowhere(cluster: Yarn, hidden: Path, monkeypatch: pytest.MonkeyPatch):
    """The home of Airflow is hidden from the node, and only Airflow's database has the secret."""
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    own = {"AIRFLOW_CONN_YARN": json.dumps(connection), "AIRFLOW__ODF__SPARK_CONN_ID": "yarn"}
    for name, value in (cluster.environment() | own | {"PYSPARK_PYTHON": sys.executable}).items():
        monkeypatch.setenv(name, value)
    home = hidden / "airflow"
    (home / "dags").mkdir(parents=True)
    (home / "dags" / "prices.yaml").write_text(MANIFEST)
    (home / "dags" / "odf.yaml").write_text("defaults: {retries: 0}\n")
    shutil.copy(Path(__file__).parents[2] / "dags" / "odf.py", home / "dags")
    airflow = Airflow(home)
    # At DEBUG, `airflow dags test` logs itself which secrets it is asked to mask.
    airflow._env["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "INFO"
    airflow("db", "migrate")
    with guarded_s3() as server:
        use(server.endpoint, monkeypatch)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
        object_stores.client("s3://bucket").put("in/prices.csv", b"sku,price\na,1\n")
        airflow.connect(server, server.secret)
        said = airflow.run("prices")
        store = Store.open("s3://bucket/odf", hidden / "copies")
        assert "read by Spark, merged in tasks of Spark (spark = always)" in said
        assert [(row["sku"], row["price"]) for row in state_rows(store.dataset("prices"))] == [("A", 1)]
        assert left(store) == []
        texts = airflow.texts() | cluster.logs()
        assert [(place, line) for place in texts for line in texts[place].splitlines() if server.secret in line] == []

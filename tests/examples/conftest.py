"""Real Airflow for the example DAGs: a database, the dags folder of this process's Airflow home, one JVM for all."""

import json
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

from airflow_provider_odf.runner import LocalRunner

EXAMPLES = Path(__file__).parents[2] / "dags"
EVENTS = Path(os.environ["AIRFLOW_HOME"]) / "lineage.jsonl"

os.environ["AIRFLOW__OPENLINEAGE__NAMESPACE"] = "odf-tests"
os.environ["AIRFLOW__OPENLINEAGE__TRANSPORT"] = json.dumps(
    {"type": "file", "log_file_path": str(EVENTS), "append": True}
)
# A forked process would lack the threads of Airflow's API server, which run in the test process.
os.environ["AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD"] = "True"


@pytest.fixture(scope="session")
def database():
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.utils.db import initdb

    initdb()
    DagBundlesManager().sync_bundles_to_db()


@pytest.fixture(scope="session")
def spark_child():
    """The runner that all these tests share; what it starts is seen in ``started``."""
    with LocalRunner("local[2]") as runner:
        yield runner


@pytest.fixture
def one_jvm(spark_child, monkeypatch):
    """Tasks use the shared runner and leave it open."""

    @contextmanager
    def opened(_conn_id, _conf):
        yield spark_child

    monkeypatch.setattr("airflow_provider_odf.hooks.runners.open_runner", opened)
    return spark_child


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))
    from airflow_provider_odf.chain.store import Store

    return Store.open(tmp_path / "store")


@pytest.fixture
def dags(database, store, monkeypatch):
    """The examples as Airflow sees them in its dags folder."""
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", str(folder / "data" / "arriving"))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES, folder)
    yield read(folder)
    shutil.rmtree(folder)


@pytest.fixture
def read_again():
    return read


def read(folder):
    """What Airflow makes of a dags folder, and has stored."""
    bag = DagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "dags-folder", None)
    return bag


@pytest.fixture
def lineage():
    """Reads the events of tasks that were written since, by job and type, once there are as many as wanted."""
    EVENTS.touch()
    start = EVENTS.stat().st_size

    def read(count):
        for _ in range(100):
            events = [json.loads(line) for line in EVENTS.read_text()[start:].splitlines()]
            tasks = {(e["job"]["name"], e["eventType"]): e for e in events if "." in e["job"]["name"]}
            if len(tasks) >= count:
                break
            time.sleep(0.1)  # Airflow writes them in another process
        return tasks

    return read

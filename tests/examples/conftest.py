"""Real Airflow for the example DAGs: a database, the dags folder of this process's Airflow home, one JVM for all."""

import json
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_provider_odf.runner import LocalRunner
from tests.airflow_parts import read_bag, sync_bag_to_db
from tests.lineage_receiver import Receiver
from tests.open_files import open_to_others

EXAMPLES = Path(__file__).parents[2] / "dags"
RECEIVER = Receiver()

os.environ["AIRFLOW__OPENLINEAGE__NAMESPACE"] = "odf-tests"
os.environ["AIRFLOW__OPENLINEAGE__TRANSPORT"] = json.dumps(RECEIVER.transport)
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
    def opened(_conn_id, _conf, _exchange):
        yield spark_child

    monkeypatch.setattr("airflow_provider_odf.hooks.runners.open_runner", opened)
    return spark_child


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))
    from airflow_provider_odf.chain.store import Store

    yield Store.open(tmp_path / "store")
    assert open_to_others(tmp_path / "store") == []


@pytest.fixture
def dags(database, store, monkeypatch):
    """The examples as Airflow sees them in its dags folder. What other tests have there is put aside."""
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    others = folder.with_name("dags-of-others")
    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", str(folder / "data" / "arriving"))
    folder.mkdir(exist_ok=True)
    folder.rename(others)
    shutil.copytree(EXAMPLES, folder)
    yield read(folder)
    shutil.rmtree(folder)
    others.rename(folder)


@pytest.fixture
def read_again():
    return read


def read(folder):
    """What Airflow makes of a dags folder, and has stored."""
    bag = read_bag(dag_folder=folder, bundle_path=folder)
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "dags-folder", None)
    return bag


@pytest.fixture
def lineage():
    """Lineage events since."""
    return Lineage(len(RECEIVER.events))


class Lineage:
    """Lineage events from one on."""

    def __init__(self, start):
        self.start = start

    def __call__(self, count):
        """The events of tasks by job and type, once there are as many as wanted."""
        for _ in range(100):
            of_tasks = [e for e in self.events() if e["job"]["facets"]["jobType"]["jobType"] == "TASK"]
            tasks = {(e["job"]["name"], e["eventType"]): e for e in of_tasks}
            if len(tasks) >= count:
                break
            time.sleep(0.1)  # Airflow sends them in another process
        return tasks

    def events(self):
        return RECEIVER.events[self.start :]

    def all(self, first=0, dag=None):
        """All events from one on, once each run has ended, and one of a DAG if it is named."""
        for _ in range(100):
            events = self.events()[first:]
            ended = {e["run"]["runId"] for e in events if e["eventType"] in ("COMPLETE", "FAIL", "ABORT")}
            jobs = {e["job"]["name"] for e in events}
            if ended >= {e["run"]["runId"] for e in events} and (dag is None or dag in jobs):
                break
            time.sleep(0.1)
        return events

"""Real Airflow for the example DAGs: a database, the dags folder of this process's Airflow home, one JVM for all."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

from airflow_provider_odf.runner import LocalRunner

EXAMPLES = Path(__file__).parents[2] / "dags"


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
    def opened(_conn_id):
        yield spark_child

    monkeypatch.setattr("airflow_provider_odf.hooks.runner.open_runner", opened)
    return spark_child


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))
    from airflow_provider_odf.chain.store import Store

    return Store.open(tmp_path / "store")


@pytest.fixture
def dags(database, store):
    """The examples as Airflow sees them in its dags folder."""
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES, folder)
    bag = DagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "dags-folder", None)
    yield bag
    shutil.rmtree(folder)

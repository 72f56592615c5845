"""Airflow's own server with the pages, the DAGs of a folder of manifests, and a store that these DAGs write to."""

import os
import shutil
from pathlib import Path

import pytest

from airflow_provider_odf.chain.store import Store
from tests.manifests import derived, event, polling, snapshot
from tests.open_files import open_to_others

# The secret of tokens must be long enough for their algorithm.
os.environ["AIRFLOW__API_AUTH__JWT_SECRET"] = "pages" * 20

HOME = Path(os.environ["AIRFLOW_HOME"])
MANIFESTS = HOME / "dags" / "pages"
DERIVATIVE = derived(
    "acme/sums",
    "{datasetRef: acme/numbers, alias: numbers}",
    '{kind: Sql, engine: spark, query: "SELECT value, count(id) AS ids FROM numbers GROUP BY value"}',
)
POLLING = polling('{kind: Url, url: "file:///x.csv"}', "{kind: Csv, schema: [id BIGINT, value STRING]}")
NAMES = ("acme/numbers", "empty")
READER = """
from airflow.sdk import DAG
from airflow_provider_odf import OdfHook
from airflow.providers.standard.operators.empty import EmptyOperator

with DAG("daily_report", schedule=[OdfHook(store="{store}").asset("acme/numbers")]):
    EmptyOperator(task_id="report")
"""
LOADER = 'from airflow_provider_odf import build_dags\n\nglobals().update(build_dags(__file__, store="{store}"))\n'


@pytest.fixture(scope="session")
def airflow_server():
    """Airflow's API server, whose database has the DAGs."""
    from airflow.api_fastapi.app import cached_app
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.utils.db import initdb
    from fastapi.testclient import TestClient

    from tests.airflow_parts import read_bag, sync_bag_to_db

    MANIFESTS.mkdir(parents=True)
    for name in NAMES:
        info = event("SetInfo", description=f"Numbers of {name}", keywords="[numbers]")
        (MANIFESTS / f"{name.replace('/', '.')}.yaml").write_text(snapshot(name, info, POLLING))
    (MANIFESTS / "acme.sums.yaml").write_text(DERIVATIVE)
    (MANIFESTS / "broken.yaml").write_text(snapshot("broken", POLLING.replace("BIGINT", "BIGIN")))
    (MANIFESTS / "odf.py").write_text(LOADER.format(store=HOME / "pages-store"))
    (MANIFESTS / "report.py").write_text(READER.format(store=HOME / "pages-store"))
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = read_bag(dag_folder=MANIFESTS, bundle_path=MANIFESTS)
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "dags-folder", None)
    with TestClient(cached_app(apps="core"), raise_server_exceptions=False) as client:
        yield client
    shutil.rmtree(MANIFESTS)


@pytest.fixture
def as_user(airflow_server):
    """Return the headers of a user with a role; those of nobody are empty."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    def headers(role):
        if role == "nobody":
            return {}
        user = SimpleAuthManagerUser(username=f"a {role}", role=role)
        return {"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"}

    return headers


@pytest.fixture
def open_page(airflow_server, as_user):
    """Return the answer to a page's request of a user with a role."""

    def get(path, role="viewer", **options):
        return airflow_server.get(f"/odf{path}", headers=as_user(role), **options)

    return get


@pytest.fixture
def send_form(airflow_server, as_user):
    """Return the answer to a form that a user with a role sends."""

    def post(path, fields, role="user"):
        return airflow_server.post(f"/odf{path}", data=fields, headers=as_user(role), follow_redirects=False)

    return post


@pytest.fixture
def open_api(airflow_server, as_user):
    """Return the answer of Airflow's REST API to a user with a role."""

    def get(path, role="user"):
        return airflow_server.get(f"/api/v2{path}", headers=as_user(role))

    return get


@pytest.fixture
def store():
    """The store of the DAGs."""
    location = HOME / "pages-store"
    location.mkdir()
    (location / ".work").mkdir(0o750)
    yield Store.open(location)
    assert open_to_others(location / ".work") == []
    shutil.rmtree(location)

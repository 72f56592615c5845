import json
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_provider_odf.hooks.odf import OdfHook


@pytest.fixture(autouse=True)
def _no_store(monkeypatch):
    monkeypatch.delenv("ODF_STORE", raising=False)


def connection(monkeypatch, name, **fields):
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps({"conn_type": "odf", **fields}))


def test_where_the_store_is(monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", "/airflow")
    assert OdfHook().location == "/airflow/odf-store"
    monkeypatch.setenv("ODF_STORE", "/from/environment")
    assert OdfHook().location == "/from/environment"
    monkeypatch.setenv("AIRFLOW__ODF__STORE", "/from/setting")
    assert OdfHook().location == "/from/setting"
    connection(monkeypatch, "odf_default", host="/from/connection")
    assert OdfHook().location == "/from/connection"
    assert OdfHook(store="/from/argument").location == "/from/argument"


def test_another_connection_must_exist(monkeypatch):
    with pytest.raises(AirflowNotFoundException):
        OdfHook("odf_other").location  # noqa: B018
    connection(monkeypatch, "odf_other", host="file:///other%20place")
    assert OdfHook("odf_other").get_conn().location == "/other place"


def test_the_work_area(monkeypatch, tmp_path):
    assert OdfHook(store=str(tmp_path)).get_conn().work_area == tmp_path / ".work"
    monkeypatch.setenv("AIRFLOW__ODF__WORK_AREA", "/shared/work")
    assert OdfHook(store=str(tmp_path)).get_conn().work_area == Path("/shared/work")
    connection(monkeypatch, "odf_default", host=str(tmp_path), extra={"work_area": "/of/connection"})
    assert OdfHook().get_conn().work_area == Path("/of/connection")


@pytest.mark.parametrize(
    ("store", "uri"),
    [
        ("/data/odf", "file:///data/odf/acme/orders"),
        ("/data/my odf", "file:///data/my%20odf/acme/orders"),
        ("file:///data/odf/", "file:///data/odf/acme/orders"),
        ("s3://bucket/odf", "s3://bucket/odf/acme/orders"),
    ],
)
def test_the_uri_of_a_dataset(store, uri):
    assert OdfHook(store=store).dataset_uri("acme/orders") == uri
    assert OdfHook(store=store).asset("acme/orders").uri == uri


def test_testing_the_connection(tmp_path):
    assert OdfHook(store=str(tmp_path)).test_connection() == (True, f"0 datasets in {tmp_path}")
    ok, message = OdfHook(store="s3://bucket").test_connection()
    assert not ok
    assert "s3://bucket" in message

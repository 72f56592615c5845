import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing


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
    ok, message = OdfHook(store="ftp://host").test_connection()
    assert not ok
    assert "ftp://host" in message


@pytest.fixture
def growing(tmp_path):
    """A keyed dataset with two slices of 08:00, of which the second corrects the first."""
    dataset = Store.open(tmp_path).create(DatasetAlias.parse("numbers"))
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    return Growing(dataset, model.MergeStrategySnapshot(primary_key=("id",)), columns)


def test_the_rows_of_a_dataset(growing, tmp_path):
    hook = OdfHook(store=str(tmp_path))
    assert (hook.state("numbers").num_rows, hook.state("numbers").column_names[2:]) == (0, ["id", "value"])
    assert hook.tail("numbers").schema.equals(growing.schema)
    growing.add(("+A", 1, "a"), ("+A", 2, "b"))
    first = growing.dataset.head()
    growing.add(("-C", 1, "a"), ("+C", 1, "A"), ("-R", 2, "b"))
    assert hook.state("numbers").select(["id", "value"]).to_pylist() == [{"id": 1, "value": "A"}]
    assert hook.state("numbers", as_of=first)["value"].to_pylist() == ["a", "b"]
    assert hook.state("numbers", as_of=datetime(2024, 5, 2, 8, tzinfo=UTC))["value"].to_pylist() == ["A"]
    tail = hook.tail("numbers", 2)
    assert tail.schema.equals(growing.schema)
    assert list(zip(*(tail[name].to_pylist() for name in ("offset", "op", "value")), strict=True)) == [
        (3, 3, "A"),
        (4, 1, "b"),
    ]
    assert hook.tail("numbers", as_of=first[:20])["offset"].to_pylist() == [0, 1]


def test_rows_that_are_not_there(growing, tmp_path):
    hook = OdfHook(store=str(tmp_path))
    with pytest.raises(DatasetNotFound, match="no dataset letters in"):
        hook.state("letters")
    with pytest.raises(InvalidInput, match="has no data yet as of"):
        hook.tail("numbers", as_of=growing.dataset.head())
    with pytest.raises(InvalidInput, match="has no time zone"):
        hook.state("numbers", as_of=datetime(2024, 5, 2))


def test_data_frames_and_changes(growing, tmp_path):
    hook = OdfHook(store=str(tmp_path))
    growing.add(("+A", 1, "a"), ("+A", None, "b"))
    first = growing.dataset.head()
    growing.add(("-C", 1, "a"), ("+C", 1, "A"))
    frame = hook.get_df("numbers", columns=["id", "value"])
    assert (frame["id"].dtype, frame.to_dict("list")["value"]) == ("Int64", ["A", "b"])
    assert hook.get_df("numbers", as_of=first)["value"].tolist() == ["a", "b"]
    changes = hook.get_changes("numbers", since=first)
    assert (changes.to_pandas()["value"].tolist(), changes.block) == (["a", "A"], growing.dataset.head())
    assert hook.get_changes("numbers", until=first).to_table().num_rows == 2
    assert hook.get_df("numbers", columns=["value"], df_type="polars")["value"].to_list() == ["A", "b"]
    with pytest.raises(InvalidInput, match="unknown df_type 'spark': use pandas or polars"):
        hook.get_df("numbers", df_type="spark")
    with pytest.raises(InvalidInput, match="has no column 'valeu'"):
        hook.get_df("numbers", columns=["valeu"])

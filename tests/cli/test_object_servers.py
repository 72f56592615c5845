"""Whole runs in object stores of several makers."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cli import app
from tests.manifests import derived, polled
from tests.object_servers import ObjectServer

pytestmark = [pytest.mark.spark, pytest.mark.long]

PRICES = polled(
    "prices",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}",
    "{kind: Snapshot, primaryKey: [sku]}",
)

EXPENSIVE = derived(
    "expensive",
    "{datasetRef: prices}",
    "{kind: Sql, engine: spark, query: 'SELECT op, event_time, sku, price FROM prices WHERE price > 100'}",
)


def odf(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_root_and_a_derivative_in_each_object_store(
    object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The source is in the bucket too."""
    object_server.use(monkeypatch)
    monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    folder = f"{object_server.bucket}/{uuid4().hex}"
    (tmp_path / "prices.yaml").write_text(PRICES.replace("in/*.csv", f"{folder}/in/*.csv"))
    (tmp_path / "expensive.yaml").write_text(EXPENSIVE)
    bucket, prefix = object_stores.split(folder)
    store = f"{folder}/store"
    for name, rows in (("1", "a,90\nb,110\n"), ("2", "a,120\nc,7\n")):
        object_stores.client(bucket).put(f"{prefix}/in/{name}.csv", f"sku,price\n{rows}".encode())
        odf("run", "prices.yaml", "expensive.yaml", "--store", store)
    assert odf("run", "prices.yaml", "--store", store).startswith("prices: up to date")
    assert odf("verify", "prices", "--store", store) == "prices: ok: 5 blocks, 2 slices, 6 records\n"
    assert odf("verify", "expensive", "--replay", "--store", store).startswith("expensive: ok: 5 blocks, 2 slices")
    odf("gc", "--store", store)
    odf("copy", store, "copy", "--all")
    for dataset in ("prices", "expensive"):
        there, here = (
            [block_hash for block_hash, _ in Store.open(place).dataset(dataset).walk()] for place in (store, "copy")
        )
        assert len(here) == 5
        assert there == here
    rows = state_rows(Store.open("copy").dataset("expensive")).table
    assert rows.select(["sku", "price"]).to_pylist() == [{"sku": "a", "price": 120}]

"""``odf`` on a derivative whose input is in another store: by its location, and by its id."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store

from .test_derivatives import ORDERS, TOTALS, deliver, odf, run

__all__ = ["odf"]

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path, odf: Path) -> Path:
    """The store ``partner`` with orders, the totals of them, and another dataset with the name of the orders."""
    for name in ("in", "elsewhere", "elsewhere/in"):
        (tmp_path / name).mkdir()
    deliver(tmp_path, 1, "1,ann,10", "2,bob,20")
    deliver(tmp_path / "elsewhere", 1, "1,eve,7")
    (tmp_path / "orders.yaml").write_text(ORDERS)
    (tmp_path / "elsewhere" / "orders.yaml").write_text(ORDERS)
    declare(tmp_path, f"{tmp_path.as_uri()}/partner/orders/")
    run(odf, tmp_path, "run", "orders.yaml", "--store", "partner")
    run(odf, tmp_path, "run", "elsewhere")
    return tmp_path


def declare(folder: Path, ref: str, name: str = "totals", column: str = "amount") -> None:
    """Declare totals of an input, which has the name ``orders`` in the query."""
    text = TOTALS.replace("datasetRef: orders", f"datasetRef: '{ref}', alias: orders")
    (folder / f"{name}.yaml").write_text(text.replace("totals", name).replace("sum(amount)", f"sum({column})"))


@pytest.mark.long
def test_an_input_by_its_location(odf: Path, folder: Path) -> None:
    assert run(odf, folder, "validate", "totals.yaml") == "1 manifest is valid\n"
    dataset_id = replay(Store.open(folder / "partner").dataset("orders")).dataset_id
    assert f"      inputs[0].datasetRef: {dataset_id}\n      inputs[0].alias: orders\n" in run(
        odf, folder, "plan", "totals.yaml"
    )
    assert "totals: published 2 records (offsets 0..1)\n" in run(odf, folder, "run", "totals.yaml")
    deliver(folder, 2, "3,ann,95")
    run(odf, folder, "run", "orders.yaml", "--store", "partner")
    before = {p: p.stat().st_mtime_ns for p in folder.glob("partner/**/*")}
    assert "totals: published 2 records (offsets 2..3): 1 corrected\n" in run(odf, folder, "run", "totals.yaml")
    assert run(odf, folder, "run", "totals.yaml") == "totals: up to date\n"
    assert {p: p.stat().st_mtime_ns for p in before} == before
    refused = run(odf, folder, "verify", "totals", "--replay", code=1)
    assert f"the input {dataset_id} as orders is not in odf-store: name the store of the input with" in refused
    ok = "totals: ok: 5 blocks, 2 slices, 4 records, 2 transformations\n"
    assert run(odf, folder, "verify", "totals", "--replay", "--input-store", "partner") == ok
    input_name = f"{dataset_id} as orders\n"
    assert f"Inputs     {input_name}" in run(odf, folder, "show", "totals")
    assert f" {input_name}" in run(odf, folder, "log", "totals")
    assert f"the next run computes the dataset anew from {input_name}" in run(odf, folder, "reset", "totals")
    declare(folder, dataset_id)
    unknown = run(odf, folder, "run", "totals.yaml", code=2)
    assert f"input {dataset_id} is not in the store odf-store" in unknown
    assert "totals: published 2 records (offsets 0..1)\n" in run(
        odf, folder, "run", "totals.yaml", "--input-store", "partner"
    )


def test_inputs_that_cannot_be_read(odf: Path, folder: Path) -> None:
    """Nothing is done: neither a dataset is created, nor another one is changed."""
    (folder / "partner").rename(folder / "lost")
    uri = f"{folder.as_uri()}/partner/orders"
    missing = f"there is no dataset at {uri} (mount its store, or correct the location)"
    assert f"totals.yaml:8:29: warning: {missing}\n" in run(odf, folder, "validate", "totals.yaml")
    error = f"totals.yaml:8:29: input {uri}: the folder does not exist (mount its store, or correct the location)\n"
    assert f"totals: refused\n  {error}" in run(odf, folder, "plan", "totals.yaml", code=2)
    assert f"totals: {error}" in run(odf, folder, "run", "totals.yaml", code=2)
    (folder / "partner" / "orders").mkdir(parents=True)
    error = f"totals.yaml:8:29: input {uri}: the folder has no dataset (refs/head is missing)"
    assert f"totals: {error}" in run(odf, folder, "run", "totals.yaml", code=2)
    assert not (folder / "odf-store" / "totals").exists()
    assert "no such folder: " in run(odf, folder, "run", "totals.yaml", "--input-store", "nothing", code=2)

    shutil.rmtree(folder / "partner")
    (folder / "lost").rename(folder / "partner")
    run(odf, folder, "run", "totals.yaml")
    head = Store.open(folder / "odf-store").dataset("totals").head()
    (folder / "partner").rename(folder / "lost")
    assert f"totals: totals.yaml:8:29: input {uri}: the folder does not exist" in run(
        odf, folder, "run", "totals.yaml", code=2
    )
    assert Store.open(folder / "odf-store").dataset("totals").head() == head


def test_locations_with_credentials(odf: Path, folder: Path) -> None:
    declare(folder, "https://x:y@example.com/o")
    refused = run(odf, folder, "validate", "totals.yaml", code=1)
    assert "totals.yaml:8:29: the location of a dataset has no user, password, parameters and fragment: " in refused
    assert "x:y" not in refused


def test_locations_in_the_store_order_runs_and_make_circles(odf: Path, folder: Path) -> None:
    store = f"{folder.as_uri()}/odf-store"
    declare(folder, f"{store}/b", "a", "total")
    declare(folder, f"{store}/orders", "b")
    ran = run(odf, folder, "run", "a.yaml", "b.yaml")
    assert ran == "b: published 1 record (offsets 0..0)\na: published 1 record (offsets 0..0)\n"
    manifest = (folder / "b.yaml").read_text()
    second = f"{{datasetRef: '{store}/a', alias: a}}"
    (folder / "b.yaml").write_text(manifest.replace("}]", f"}},\n{' ' * 15}{second}]"))
    circle = "b.yaml:9:29: dataset b reads itself through others: "
    assert circle in run(odf, folder, "run", "a.yaml", "b.yaml", code=2)
    assert f"b: {circle}b <- a <- b (remove one of these inputs)\n" in run(odf, folder, "run", "b.yaml", code=2)

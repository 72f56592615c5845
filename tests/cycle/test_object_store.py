"""Datasets in an object store: the same blocks as in a folder, whatever machine runs a step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, Input
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.cycle.xcom import pass_candidate, pass_input, receive_candidate, receive_input
from airflow_provider_odf.errors import ChainCorrupted, ContractRejected
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.seal import sealed_json
from tests.manifests import derived, polled

from .conftest import RunIn, Write, cycle_of

pytestmark = pytest.mark.spark

PRICES = polled(
    "prices",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}",
    "{kind: Snapshot, primaryKey: [sku]}",
)

EXPENSIVE = derived(
    "expensive",
    "{datasetRef: did:odf:fed011616161616161616161616161616161616161616161616161616161616161616, alias: prices}",
    "{kind: Sql, engine: spark, query: 'SELECT op, event_time, sku, price FROM prices WHERE price > 100'}",
)

CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:prices
info: {title: Prices, version: 1.0.0}
models:
  prices:
    fields:
      price: {type: long, minimum: 0}
"""

SEEDS = {
    "prices": ("Root", f"did:odf:fed01{'16' * 32}"),
    "expensive": ("Derivative", f"did:odf:fed01{'17' * 32}"),
}


def seed(store: Store, name: str) -> None:
    """Begin a dataset with a fixed id."""
    dataset, (kind, dataset_id) = store.create(DatasetAlias.parse(name)), SEEDS[name]
    draft = Draft(dataset)
    draft.append(model.Seed(dataset_id=dataset_id, dataset_kind=kind), Instant.parse("2024-01-01T00:00:00Z"))
    dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    store.registry.remember(dataset.alias, dataset_id)


def blocks(store: Store, name: str) -> list[str]:
    return [block_hash for block_hash, _ in store.dataset(name).walk()]


def test_blocks_are_those_of_a_folder(bucket: str, run_in: RunIn, write: Write, tmp_path: Path):
    prices, expensive = write("prices.yaml", PRICES), write("expensive.yaml", EXPENSIVE)
    stores = Store.open(tmp_path / "store"), Store.open(bucket)
    for store in stores:
        seed(store, "prices")
        seed(store, "expensive")
    for hour, rows in enumerate(("a,90\nb,110\n", "a,120\nc,7\n"), 10):
        write(f"in/{hour}.csv", "sku,price\n" + rows)
        for store in stores:
            assert run_in(store, prices, hour).error is None
            assert run_in(store, expensive, hour).error is None
    local, remote = stores
    assert len(blocks(local, "prices")) == 5
    assert blocks(remote, "prices") == blocks(local, "prices")
    assert blocks(remote, "expensive") == blocks(local, "expensive")
    assert verify(remote.dataset("prices")).records == verify(local.dataset("prices")).records == 6
    assert (
        tail_rows(remote.dataset("prices"), 1).table.to_pylist()
        == tail_rows(local.dataset("prices"), 1).table.to_pylist()
    )
    assert state_rows(remote.dataset("expensive")).table.column("sku").to_pylist() == ["a"]


def test_a_damaged_copy_of_a_slice_is_made_again(bucket: str, run_in: RunIn, write: Write, tmp_path: Path):
    prices, store = write("prices.yaml", PRICES), Store.open(bucket)
    write("in/1.csv", "sku,price\na,90\nb,110\n")
    assert run_in(store, prices, 1).error is None
    write("in/2.csv", "sku,price\na,95\nb,110\n")
    assert run_in(store, prices, 2).error is None
    copies = [path for path in (tmp_path / "cache").rglob("data/f1620*") if path.is_file()]
    assert copies
    for copy in copies:
        copy.write_bytes(b"damaged")
    write("in/3.csv", "sku,price\na,95\nb,120\n")
    assert run_in(store, prices, 3).error is None
    assert state_rows(store.dataset("prices")).table.column("price").to_pylist() == [95, 120]


def test_a_contract_rejects_what_breaks_it(bucket: str, run_in: RunIn, write: Write):
    prices, contract = write("prices.yaml", PRICES), write("prices.contract.yaml", CONTRACT)
    store = Store.open(bucket)
    write("in/1.csv", "sku,price\na,90\n")
    assert run_in(store, prices, 10, contract_file=str(contract)).report.result == "passed"
    head = store.dataset("prices").head()
    write("in/2.csv", "sku,price\na,-1\n")
    outcome = run_in(store, prices, 11, contract_file=str(contract))
    assert isinstance(outcome.error, ContractRejected)
    assert store.dataset("prices").head() == head


@dataclass(frozen=True)
class Machines:
    """Two machines that share the bucket alone, with steps of one dataset on them."""

    one: Store
    other: Store
    manifest: Path
    engine: LocalRunner

    def cycle(self, store: Store, hour: int) -> Cycle:
        (manifest,) = load([self.manifest]).manifests
        return cycle_of(store, manifest, self.engine, Instant.parse(f"2024-01-01T{hour:02}:00:00Z"))

    def poll(self, store: Store, hour: int) -> dict[str, object]:
        new_input = poll(self.cycle(store, hour))
        assert isinstance(new_input, Input)
        return pass_input(store, new_input)

    def merge(self, store: Store, xcom: dict[str, object], hour: int) -> dict[str, object]:
        candidate = merge(self.cycle(store, hour), receive_input(store, xcom))
        assert isinstance(candidate, Candidate)
        return pass_candidate(candidate)


@pytest.fixture
def machines(bucket: str, write: Write, tmp_path: Path, engine: LocalRunner) -> Machines:
    stores = (Store.open(bucket, tmp_path / name) for name in ("one", "other"))
    write("in/1.csv", "sku,price\na,90\n")
    return Machines(*stores, write("prices.yaml", PRICES), engine)


def test_an_input_of_another_machine_is_merged(machines: Machines):
    xcom = machines.poll(machines.one, 10)
    inputs = machines.one.inputs("prices")
    assert sorted(info.name for info in inputs.files(xcom["input"])) == [
        f"{xcom['input']}/file-00000",
        f"{xcom['input']}/seal.json",
    ]
    candidate = machines.merge(machines.other, xcom, 10)
    assert inputs.files(xcom["input"]) == []
    assert machines.merge(machines.one, xcom, 10)["candidate"] == candidate["candidate"]
    publish(machines.one, receive_candidate(machines.one, candidate))
    assert machines.other.dataset("prices").head() == candidate["candidate"]
    assert [row["sku"] for row in state_rows(machines.other.dataset("prices")).table.to_pylist()] == ["a"]


def test_an_altered_input_in_the_bucket_is_refused(machines: Machines):
    xcom = machines.poll(machines.one, 10)
    machines.one.inputs("prices").put(f"{xcom['input']}/file-00000", b"sku,price\na,1\n")
    with pytest.raises(ChainCorrupted, match="was changed after it was fetched for prices"):
        machines.merge(machines.other, xcom, 10)


@pytest.mark.parametrize("name", ["../../../stolen", "/etc/stolen"])
def test_a_seal_in_the_bucket_cannot_name_files_elsewhere(machines: Machines, tmp_path: Path, name: str):
    xcom = machines.poll(machines.one, 10)
    machines.one.inputs("prices").put(f"{xcom['input']}/seal.json", sealed_json({"files": {name: ""}}))
    with pytest.raises(ChainCorrupted, match="was changed after it was fetched"):
        machines.merge(machines.other, xcom, 10)
    assert not list(tmp_path.glob("**/stolen"))


def test_an_input_that_was_removed_is_fetched_again(machines: Machines):
    xcom = machines.poll(machines.one, 10)
    machines.one.inputs("prices").remove_folder(xcom["input"])
    with pytest.raises(ChainCorrupted, match="was changed after it was fetched"):
        machines.merge(machines.other, xcom, 10)

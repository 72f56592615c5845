"""``odf publications`` where the records of publications are of another history, or there are none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import publications
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.dataset_facts import log_entries
from airflow_provider_odf.chain.publications import Publication, block_as_of
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from tests.cycle.derivatives import derivative, ingest, root, transform

from .test_cli import in_this_process

NONE = (0, "", "no publication is recorded: the times of blocks count\n")
LATE = Instant.parse("2099-01-01T00:00:00Z")


def publish(dataset: Dataset) -> str:
    """Record that all blocks of a dataset were published long after their merges; return the head."""
    head = dataset.head()
    publications.record(dataset, Publication(head, LATE, publications.PUBLISHED, Author(who="ann@desk")))
    return head


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in ``odf-store``: orders, and report computed from it, both with a record of a publication."""
    store = Store.open(tmp_path / "odf-store")
    orders = root(store)
    report = derivative(store, orders)
    ingest(orders)
    transform(report, orders)
    publish(store.dataset("orders"))
    publish(store.dataset("report"))
    return store


def shown(folder: Path, name: str, store: str = "odf-store") -> tuple[int, str, str]:
    return in_this_process(["publications", name, "--store", store], folder)


def has_times_of_blocks(dataset: Dataset) -> bool:
    """Whether each block counts from its own time on, and says so."""
    newest = dataset.block(dataset.head())
    known = block_as_of(dataset, str(newest.system_time)) == dataset.head()
    entries = [(entry["published"], entry["isRecorded"]) for entry in log_entries(dataset)]
    return known and entries == [(entry["systemTime"], False) for entry in log_entries(dataset)]


def test_a_history_that_was_reset_has_none_of_its_publications(store: Store, tmp_path: Path) -> None:
    assert "2099-01-01T00:00:00Z" in shown(tmp_path, "report")[1]
    assert in_this_process(["reset", "report"], tmp_path)[0] == 0
    assert shown(tmp_path, "report") == NONE
    assert has_times_of_blocks(store.dataset("report"))
    # What replaces it, in the same places of the history, has its own alone.
    head = publish(store.dataset("report"))
    lines = shown(tmp_path, "report")[1].splitlines()
    assert [line.split()[0] for line in lines[2:]] == [head[:13]]


def test_a_dataset_that_was_forgotten_has_none_of_its_publications(store: Store, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "odf-store" / "orders")
    assert "is missing: restore its folder" in shown(tmp_path, "orders")[2]
    assert in_this_process(["forget", "orders"], tmp_path)[0] == 0
    assert shown(tmp_path, "orders") == (2, "", "no dataset orders in odf-store (known: report)\n")
    ingest(root(store))
    assert shown(tmp_path, "orders") == NONE
    assert has_times_of_blocks(store.dataset("orders"))


@pytest.mark.parametrize("records", ["none", "of another dataset"])
def test_a_copied_chain_without_its_records(store: Store, tmp_path: Path, records: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "odf-store", copy)
    shutil.rmtree(copy / "orders" / "info" / "publications")
    if records == "of another dataset":
        shutil.copytree(copy / "report" / "info" / "publications", copy / "orders" / "info" / "publications")
    assert shown(tmp_path, "orders", "copy") == NONE
    dataset = Store.open(copy).dataset("orders")
    assert replay(dataset).head == store.dataset("orders").head()
    assert has_times_of_blocks(dataset)
    with pytest.raises(InvalidInput, match="has no history as of 2098-01-01T00:00:00Z"):
        block_as_of(store.dataset("orders"), "2098-01-01T00:00:00Z")

"""Datasets that a store finds elsewhere: at a location, or by id in linked and other stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import DatasetGone
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, DatasetUri

ORDERS, OTHER = str(DatasetId(b"\1" * 32)), str(DatasetId(b"\2" * 32))


def dataset(store: Store, name: str, dataset_id: str = ORDERS, *, is_registered: bool = True) -> Dataset:
    created = store.create(DatasetAlias.parse(name))
    draft = Draft(created)
    draft.append(model.Seed(dataset_id=dataset_id, dataset_kind="Root"), Instant.parse("2024-05-02T08:00:00Z"))
    created.storage.compare_and_set_ref("head", None, draft.state.head)
    if is_registered:
        store.registry.remember(created.alias, dataset_id)
    return created


@pytest.fixture
def partner(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "partner")


def uri(text: str) -> DatasetUri:
    return DatasetUri.parse(text)


def test_a_location_in_the_store_is_the_dataset_of_its_name(store: Store) -> None:
    orders = dataset(store, "acme/Orders")
    assert store.find(f"{store.uri}/acme/orders") == orders
    assert store.alias_of(uri(orders.uri)) == DatasetAlias("acme", "orders")
    assert store.find(f"{store.uri}/nothing") is None
    assert store.alias_of(uri(f"{store.uri}/nothing")) == DatasetAlias(None, "nothing")


def test_a_location_elsewhere(store: Store, partner: Store) -> None:
    orders = dataset(partner, "acme/orders")
    elsewhere = store.find(orders.uri)
    assert elsewhere is not None
    assert (elsewhere.uri, elsewhere.alias) == (orders.uri, DatasetAlias("acme", "orders"))
    assert store.alias_of(uri(orders.uri)) is None
    assert not store.owns(elsewhere)
    assert store.store_of(elsewhere).uri == partner.uri
    assert store.id_of(elsewhere) == ORDERS
    assert store.find(partner.uri) is None
    assert store.find(f"{partner.uri}/nothing") is None


def test_a_folder_whose_name_is_no_alias(store: Store, partner: Store) -> None:
    orders = dataset(partner, "orders")
    moved = Path(orders.location).rename(Path(partner.location) / "my_orders")
    elsewhere = store.find(moved.as_uri())
    assert elsewhere is not None
    assert elsewhere.alias == DatasetAlias(None, "orders")


def test_a_dataset_elsewhere_shares_no_name_with_those_of_the_store(store: Store, partner: Store) -> None:
    """A dataset of the same name has other caches and another id."""
    dataset(store, "orders", OTHER)
    elsewhere = store.find(dataset(partner, "orders").uri)
    assert elsewhere is not None
    assert store.id_of(elsewhere) == ORDERS
    store.check_identity(elsewhere, ORDERS)
    assert store.cache_of(elsewhere).parent == store.cache("orders").parent
    assert store.cache_of(elsewhere) != store.cache("orders")
    with pytest.raises(DatasetGone):
        store.check_identity(store.dataset("orders"), ORDERS)


def test_ids_are_looked_for_in_linked_datasets_then_here_then_in_other_stores(store: Store, partner: Store) -> None:
    there = dataset(partner, "orders")
    beside = Store.open(store.location, others=[partner.uri])
    assert beside.find_id(DatasetId.parse(OTHER)) is None
    assert beside.find(ORDERS) == there
    assert beside.alias_of(DatasetId.parse(ORDERS)) is None
    copy = dataset(store, "copy", is_registered=False)
    assert beside.find(ORDERS) == copy
    assert beside.alias_of(DatasetId.parse(ORDERS)) == copy.alias
    assert beside.linked_to([there]).find(ORDERS) == there


def test_a_chain_is_read_once_for_its_id(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = dataset(store, "orders", is_registered=False)
    walks: list[str] = []
    walk = Dataset.walk
    monkeypatch.setattr(Dataset, "walk", lambda self, ref="head": walks.append(ref) or walk(self, ref))
    assert [store.find(ORDERS), store.find(ORDERS), store.find(OTHER)] == [orders, orders, None]
    assert walks == ["head"]

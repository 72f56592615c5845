"""Datasets that a store finds elsewhere: at a location, or by id in linked and other stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain import http_storage, slices
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import DatasetGone, DatasetNotFound, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.lineage.dataset import of_dataset
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, DatasetUri
from tests.http_server import serving

from .golden_datasets import DATASETS

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


HEAD = "f16206ad99eed43c278a2331d0373331599726c65169f3a830a553ff56a6b948dbed0"


def test_a_location_on_a_web_server(store: Store) -> None:
    """The chain is read once: later its head is asked for. A slice is copied once. The server lists nothing."""
    with serving() as web:
        for name, data in DATASETS["cities"].items():
            web.serve(f"/odf/cities/{name}", data)
        cities = store.find(f"{web.url}/odf/cities/")
        assert cities is not None
        assert (cities.uri, str(cities.alias), store.owns(cities)) == (f"{web.url}/odf/cities", "cities", False)
        assert cities.cache == store.cache_of(cities)
        cities.cache.mkdir(parents=True)
        state = replay(cities)
        web.requests.clear()
        assert replay(cities).dataset_id == state.dataset_id
        assert [path for path, _ in web.requests] == ["/odf/cities/refs/head", f"/odf/cities/blocks/{HEAD}"]
        for _ in range(2):
            slices.check_unrecorded(cities, state.dataset_id, state.slices)
        paths = [Path(slices.path(cities, part)) for part in state.slices]
        assert [path.read_bytes() for path in paths] == [DATASETS["cities"][f"data/{path.name}"] for path in paths]
        assert len([path for path, _ in web.requests if "/data/" in path]) == 3
        named = of_dataset(store.store_of(cities), cities, state).edition_names.primary
        assert (named.namespace, named.name) == (web.url, "/odf/cities")
        assert store.find(f"{web.url}/odf/nothing") is None
        there = Store.open(f"{web.url}/odf")
        assert there.dataset("cities").head() == HEAD
        with pytest.raises(DatasetNotFound, match="no dataset nothing"):
            there.dataset("nothing")
        with pytest.raises(InvalidInput, match="a web server does not list its datasets: name one of them"):
            list(there.datasets())
        with pytest.raises(InvalidInput, match=f"{web.url}/odf/cities/refs/head: a web server can only be read"):
            cities.storage.compare_and_set_ref("head", HEAD, None)


def test_a_web_server_gets_the_password_of_netrc(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ann password opensesame\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    http_storage._authorization.cache_clear()
    with serving() as web:
        assert store.find(f"{web.url}/odf/cities") is None
        assert {headers["authorization"] for _, headers in web.requests} == {"Basic YW5uOm9wZW5zZXNhbWU="}
    http_storage._authorization.cache_clear()

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId

HASH = "f1620" + "ab" * 32


def make(store: Store, text: str):
    dataset = store.create(DatasetAlias.parse(text))
    dataset.storage.compare_and_set_ref("head", None, HASH)
    return dataset


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ("/data/store", "/data/store"),
        ("file:///data/store", "/data/store"),
        ("file:///data/my%20store", "/data/my store"),
        ("file://localhost/data", "/data"),
    ],
)
def test_open(given, root):
    assert Store.open(given).location == root


def test_open_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store.open("odf-store")
    assert store.location == str(tmp_path / "odf-store")
    assert store.work_area == tmp_path / "odf-store" / ".work"
    assert store.cache("A/b") == tmp_path / "odf-store" / ".work" / ".cache" / "a" / "b"
    assert Store.open("odf-store", tmp_path / "w").work_area == tmp_path / "w"


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("ftp://host/key", "use a local path, or a URI with one of file, s3, gs, az, abfss, https, http"),
        ("file://host/data", "use a local path or a file:///… URI"),
        ("hdfs://host/data", "HDFS cannot move a ref on the condition that no other writer has moved it"),
        ("webhdfs://host/data", "HDFS cannot move a ref on the condition that no other writer has moved it"),
        ("s3a://bucket/data", "use s3://BUCKET/PREFIX"),
        (
            "wasbs://container@account.blob.core.windows.net",
            "use abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX",
        ),
    ],
)
def test_other_uris_are_refused(uri, reason):
    with pytest.raises(InvalidInput, match=r"^store ") as e:
        Store.open(uri)
    assert str(e.value).startswith(f"store {uri}: unsupported location: {reason}")


def test_a_dataset_exists_once_it_has_a_head(store):
    assert store.get("cities") is None
    dataset = store.create(DatasetAlias.parse("cities"))
    assert (Path(store.location) / "cities/info/alias").read_bytes() == b"cities"
    assert store.get("cities") is None
    assert list(store.datasets()) == []
    dataset.storage.compare_and_set_ref("head", None, HASH)
    assert store.get("cities") == dataset
    assert dataset.uri == (Path(store.location) / "cities").as_uri()


def test_lookup_ignores_case_and_keeps_the_spelling(store):
    make(store, "My.Cities")
    make(store, "Acme/Sales")
    assert str(store.dataset("my.cities").alias) == "My.Cities"
    assert str(store.dataset(DatasetAlias.parse("ACME/sales")).alias) == "Acme/Sales"
    assert store.get("sales") is None


def test_creating_under_another_case_finds_the_directory(store):
    make(store, "Acme/Sales")
    assert store.create(DatasetAlias.parse("acme/SALES")).location == f"{store.location}/Acme/Sales"


def test_datasets_are_listed(store):
    for text in ("b", "acme/x", "A", "a-c", "b/nested"):
        make(store, text)
    (Path(store.location) / ".work" / "a").mkdir(parents=True)
    (Path(store.location) / "no_dataset").mkdir()
    (Path(store.location) / "file").touch()
    assert [str(d.alias) for d in store.datasets()] == ["A", "a-c", "acme/x", "b", "b/nested"]


def test_a_store_that_is_not_there_is_empty(tmp_path):
    store = Store.open(tmp_path / "nothing")
    assert list(store.datasets()) == []
    with pytest.raises(DatasetNotFound, match=r"no dataset x in .*nothing \(known: none\)"):
        store.dataset("x")


def test_not_found_says_what_there_is(store):
    make(store, "cities")
    with pytest.raises(DatasetNotFound, match="known: cities"):
        store.dataset("towns")


def test_names_are_checked(store):
    with pytest.raises(InvalidInput, match="not a dataset name"):
        store.dataset("../etc")
    with pytest.raises(InvalidInput, match="the name blocks is reserved in accounts"):
        store.create(DatasetAlias.parse("acme/blocks"))


def test_find_by_id_or_alias(store, foreign):
    cities, sensors = foreign("cities"), foreign("sensors")
    did = "did:odf:fed01a87ea3d21c84003a3f25a9f89a003f49542df4f1ecd04c65da7d974021197500"
    assert store.find(did) == sensors
    assert store.find_id(DatasetId.parse(did)) == sensors
    assert store.find("Cities") == cities
    assert store.find("towns") is None
    assert store.find_id(DatasetId.create()) is None

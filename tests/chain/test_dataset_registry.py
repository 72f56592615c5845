import shutil
from pathlib import Path

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import DatasetGone, InvalidInput
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.manifests import pushed

ALIAS = DatasetAlias.parse("acme/Orders")
TIME = Instant.parse("2024-05-01T00:00:00Z")
MANIFEST = pushed("acme/Orders", "Parquet", "Append")


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture
def run(store, tmp_path):
    """Creates the dataset, or finds it as it was; its id."""
    (tmp_path / "m.yaml").write_text(MANIFEST)
    (manifest,) = load([tmp_path / "m.yaml"]).manifests
    return lambda: apply(store, manifest, TIME).dataset_id


def test_a_dataset_that_is_gone_begins_anew_only_when_told(store, run):
    first = run()
    assert run() == first
    shutil.rmtree(store.folder(ALIAS).location())
    message = rf"store/acme/Orders: the dataset {first} is missing: restore its folder, or run `odf forget"
    with pytest.raises(DatasetGone, match=rf"{message} acme/Orders --store {store.location}` to start a new history"):
        run()
    with pytest.raises(DatasetGone, match=message):
        store.dataset("acme/Orders")
    assert [str(gone).partition(":")[0] for gone in store.gone()] == [f"{store.location}/acme/orders"]
    store.forget(DatasetAlias.parse("ACME/orders"))
    second = run()
    assert second != first
    assert store.registry.get(ALIAS).dataset_id == second
    assert [str(dataset.alias) for dataset in store.datasets()] == ["acme/Orders"]


@pytest.mark.parametrize("damaged", ["", "garbage", "did:odf:fed01 2024-13-01", "\0\xff"])
def test_a_damaged_entry_is_written_again_and_still_says_that_a_dataset_was_there(store, run, damaged):
    first = run()
    file = Path(store.location) / ".datasets" / "acme+orders"
    file.write_text(damaged)
    assert run() == first
    assert store.registry.get(ALIAS).dataset_id == first
    file.write_text(damaged)
    shutil.rmtree(store.folder(ALIAS).location())
    with pytest.raises(DatasetGone, match="a dataset is missing: restore its folder, or run `odf forget"):
        run()


def test_what_is_gone_with_the_whole_store_was_never_there(store, run):
    first = run()
    shutil.rmtree(Path(store.location))
    assert run() != first


def test_data_without_a_head_are_no_beginning(store, run):
    run()
    shutil.rmtree(Path(store.location) / ".datasets")
    path = Path(store.folder(ALIAS).location())
    (path / "refs" / "head").unlink()
    first = run()  # as if its creation had been killed: nothing is lost
    (path / "refs" / "head").rename(path / "head")
    (path / "data").mkdir()
    (path / "data" / "f1620").touch()
    with pytest.raises(DatasetGone, match="the dataset has data, but refs/head is missing: restore refs/head from a"):
        run()
    with pytest.raises(InvalidInput, match="the folder has data but no refs/head: delete or move it first"):
        store.forget(ALIAS)
    (path / "head").rename(path / "refs" / "head")
    assert run() == first


def test_another_dataset_under_the_name_is_not_continued_unless_told(store, run, tmp_path):
    first = run()
    folder = Path(store.folder(ALIAS).location())
    folder.rename(tmp_path / "first")
    store.forget(ALIAS)
    other = run()
    folder.rename(tmp_path / "other")
    shutil.copytree(tmp_path / "first", folder)
    message = rf"the folder contains the dataset {first} instead of {other}: restore the folder, or run `odf forget"
    with pytest.raises(DatasetGone, match=message):
        run()
    assert store.registry.get(ALIAS).dataset_id == other
    store.forget(ALIAS)
    assert run() == first
    assert store.registry.get(ALIAS).dataset_id == first


def test_a_dataset_that_is_there_is_not_forgotten(store, run):
    run()
    with pytest.raises(InvalidInput, match="the dataset still exists: to start a new history, delete its folder first"):
        store.forget(ALIAS)

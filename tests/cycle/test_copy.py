"""Copies of datasets: between folders, and from a web server that fails in every way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_odf import multiformats
from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import codec, http_storage, info_files, publications
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.publications import Publication
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import Verified, verify
from airflow_provider_odf.cycle.copy import copy, original, promote
from airflow_provider_odf.errors import (
    ChainCorrupted,
    CommitConflict,
    DatasetGone,
    DatasetNotFound,
    InvalidInput,
    OdfError,
    StorageError,
)
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.golden_datasets import DATASETS
from tests.http_server import Server, serving
from tests.s3 import use

CITIES = DATASETS["cities"]
HEAD = "f16206ad99eed43c278a2331d0373331599726c65169f3a830a553ff56a6b948dbed0"
EARLIER = "f1620df1c8dff9f65e4e0834883f57b026b1b4cc2f318e64fb662fc1b6a4817216edf"
"""The first block of data: four blocks, one slice."""
SLICES = sorted(name for name in CITIES if name.startswith("data/"))


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """A store with the dataset ``cities``, which another ODF implementation wrote."""
    for name, data in CITIES.items():
        file = tmp_path / "there" / "cities" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return Store.open(tmp_path / "there")


@pytest.fixture
def here(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "here")


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of the files of ``cities``, and of nothing else, such as listings."""
    monkeypatch.setattr(http_storage, "_PAUSES", (0.0, 0.0, 0.0))
    with serving() as server:
        for name, data in CITIES.items():
            server.serve(f"/cities/{name}", data)
        yield server


def cities(store: Store) -> Dataset:
    return store.dataset("cities")


def files(dataset: Dataset) -> dict[str, bytes]:
    root = Path(dataset.location)
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in root.rglob("*") if f.is_file() and f.name[0] != "."}


def add(dataset: Dataset, description: str) -> str:
    """Add a block, and return its hash."""
    base = replay(dataset)
    block_hash = Draft(dataset, base).append(model.SetInfo(description=description), base.system_time)
    dataset.storage.compare_and_set_ref("head", base.head, block_hash)
    return block_hash


def at(dataset: Dataset, block_hash: str) -> None:
    """Move the head of a dataset back."""
    dataset.storage.compare_and_set_ref("head", dataset.head(), block_hash)


def test_a_copy_has_the_same_bytes_and_says_where_it_is_from(there: Store, here: Store) -> None:
    done = copy(cities(there), here)
    assert (done.blocks, done.files, done.size, done.infos) == (6, 3, 6881, 0)
    assert str(done) == "copied 6 blocks, 3 data files of 6881 bytes"
    assert files(cities(here)) == {**CITIES, "info/copy-of": cities(there).uri.encode()}
    assert verify(cities(here)) == Verified(blocks=6, slices=3, records=9)
    assert here.id_of(cities(here)) == here.registry.get(DatasetAlias.parse("cities")).dataset_id
    (Path(here.location) / ".datasets/cities").unlink()  # as if the copy was killed just before its end
    assert str(copy(cities(there), here)) == "up to date"
    assert here.registry.get(DatasetAlias.parse("cities")) is not None
    assert not list(here.scratch("cities").iterdir())


def test_a_copy_that_is_behind_gets_the_blocks_after_its_head(there: Store, here: Store) -> None:
    at(cities(there), EARLIER)
    assert copy(cities(there), here).files == 1
    at(cities(there), HEAD)
    done = copy(cities(there), here)
    assert (done.blocks, done.files, cities(here).head()) == (2, 2, HEAD)
    assert verify(cities(here)).records == 9


def test_a_name_and_an_account(there: Store, here: Store) -> None:
    assert copy(cities(there), here, DatasetAlias.parse("acme/towns")).dataset.uri == f"{here.uri}/acme/towns"
    assert here.dataset("acme/towns").storage.get("info/alias") == b"acme/towns"
    assert original(here.dataset("acme/towns").uri).alias == DatasetAlias("acme", "towns")
    with pytest.raises(InvalidInput, match=r"has the dataset as acme/towns: .* copy with --as acme/towns"):
        copy(cities(there), here)
    assert here.get("cities") is None
    assert not here.folder(DatasetAlias.parse("cities")).names("blocks")


def test_files_about_blocks_of_the_history_go_along(there: Store, here: Store) -> None:
    dataset, time = cities(there), Instant.parse("2024-06-01T00:00:00Z")
    publications.record(dataset, Publication(EARLIER, time, "published", Author(who="ann"), None))
    info_files.put(dataset, "reports", HEAD, {"result": "passed"})
    info_files.put(dataset, "reports", "f1620" + "0" * 64, {"result": "failed"})
    info_files.put(dataset, "headers", EARLIER, {"header": []})
    altered = Path(dataset.storage.location(f"info/headers/{EARLIER}.json"))
    altered.write_text(altered.read_text().replace("header", "footer"))
    done = copy(dataset, here)
    assert done.infos == 2
    assert info_files.get(cities(here), "reports", HEAD) == {"result": "passed"}
    assert [entry.time for entry in publications.entries(cities(here))] == [time]
    assert cities(here).storage.names("info/reports") == [f"{HEAD}.json"]
    assert cities(here).storage.names("info/headers") == []
    info_files.put(dataset, "reports", EARLIER, {"result": "passed"})
    assert str(copy(dataset, here)) == "copied 1 file about blocks"


def test_candidates_stay(there: Store, here: Store) -> None:
    cities(there).storage.compare_and_set_ref("candidate-1", None, HEAD)
    copy(cities(there), here)
    assert cities(here).storage.refs() == ["head"]


def test_histories_that_went_different_ways(there: Store, here: Store) -> None:
    copy(cities(there), here)
    newest = add(cities(here), "here")
    assert str(copy(cities(there), here)) == "up to date"
    assert cities(here).head() == newest
    for words in ("there", "there again"):
        add(cities(there), words)
        with pytest.raises(InvalidInput, match=r"has another history than .*: they share 6 blocks"):
            copy(cities(there), here)
        assert cities(here).head() == newest


def test_a_name_of_which_the_store_lost_another_dataset(there: Store, here: Store) -> None:
    here.registry.remember(DatasetAlias.parse("cities"), "did:odf:other")
    with pytest.raises(DatasetGone, match="the store had the dataset did:odf:other under this name"):
        copy(cities(there), here)
    here.registry.forget(DatasetAlias.parse("cities"))
    assert copy(cities(there), here).blocks == 6


def test_a_lost_dataset_comes_back_from_a_copy(there: Store, here: Store) -> None:
    copy(cities(there), here)
    shutil.rmtree(cities(here).location)
    assert copy(cities(there), here).blocks == 6


def test_a_folder_that_lost_its_head_is_left_alone(there: Store, here: Store) -> None:
    copy(cities(there), here)
    promote(cities(here))
    Path(cities(here).storage.location("refs/head")).unlink()
    with pytest.raises(DatasetGone, match="the dataset has data, but refs/head is missing"):
        copy(cities(there), here)


def test_a_copy_is_read_only_until_it_is_promoted(there: Store, here: Store) -> None:
    copied = copy(cities(there), here).dataset
    with pytest.raises(InvalidInput) as refused:
        here.check_own(copied, here.id_of(copied))
    uri = cities(there).uri
    assert str(refused.value) == (
        f"{copied.location}: the dataset is a read-only copy of {uri}: bring it up to date with `odf copy {uri} "
        f"{here.location} --as cities`, or let it go on by itself with `odf promote cities --store {here.location}`"
    )
    assert promote(copied) == uri
    assert promote(copied) is None
    here.check_own(copied, here.id_of(copied))
    add(cities(there), "new")
    copy(cities(there), here)
    assert copied.origin is None


def test_copies_in_an_object_store(
    there: Store, here: Store, s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """There and back again, with new blocks and a mark that is taken away."""
    use(s3, monkeypatch)
    monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
    uri = f"s3://bucket/{uuid4().hex}"
    at(cities(there), EARLIER)
    copied = copy(cities(there), lake := Store.open(uri)).dataset
    at(cities(there), HEAD)
    done = copy(cities(there), lake)
    assert (done.blocks, done.files, copied.head()) == (2, 2, HEAD)
    assert str(copy(cities(there), lake)) == "up to date"
    assert verify(cities(lake)) == Verified(blocks=6, slices=3, records=9)
    assert copied.origin == cities(there).uri
    promote(copied)
    assert copied.origin is None
    assert str(copy(original(f"{uri}/cities"), here)) == "copied 6 blocks, 3 data files of 6881 bytes"
    assert files(cities(here)) == {**CITIES, "info/copy-of": f"{uri}/cities".encode()}


# --- from a web server ----------------------------------------------------------------------------------------------


def test_a_copy_over_http(web: Server, here: Store) -> None:
    done = copy(original(f"{web.url}/cities/"), here)
    assert (done.blocks, done.files, done.size) == (6, 3, 6881)
    assert files(cities(here)) == {**CITIES, "info/copy-of": f"{web.url}/cities".encode()}
    asked = [path for path, _ in web.requests]
    assert sorted(p for p in asked if p.startswith("/cities/data/")) == [f"/cities/{name}" for name in SLICES]
    web.requests.clear()
    assert str(copy(original(f"{web.url}/cities"), here)) == "up to date"
    assert [path for path, _ in web.requests] == [
        *("/cities/info/alias", "/cities/refs/head", "/cities/refs/head", f"/cities/blocks/{HEAD}")
    ]


def test_a_repository_without_a_name_has_that_of_its_folder(web: Server, here: Store) -> None:
    del web.resources["/cities/info/alias"]
    assert copy(original(f"{web.url}/cities"), here).dataset.alias == DatasetAlias(None, "cities")


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


@pytest.mark.parametrize("name", [SLICES[1], f"blocks/{EARLIER}", f"blocks/{HEAD}"])
@pytest.mark.parametrize("fault", ["flipped", "truncated", "longer", "missing"])
def test_a_file_that_is_not_what_its_hash_says(web: Server, here: Store, name: str, fault: str) -> None:
    """One error with the URL, nothing can be seen, and the next copy takes the rest."""
    data, path = CITIES[name], f"/cities/{name}"
    if fault == "missing":
        del web.resources[path]
    else:
        web.resources[path].content = {"flipped": flipped(data), "truncated": data[:-9], "longer": data * 9}[fault]
    with pytest.raises(OdfError) as refused:
        copy(original(f"{web.url}/cities"), here)
    assert isinstance(refused.value, StorageError if fault == "missing" and "data" in name else ChainCorrupted)
    assert f"{web.url}/cities/{'refs/head' if fault == 'missing' and HEAD in name else name}" in str(refused.value)
    assert here.get("cities") is None
    assert list(here.datasets()) == []
    web.serve(path, data)
    web.requests.clear()
    copy(original(f"{web.url}/cities"), here)
    assert verify(cities(here)) == Verified(blocks=6, slices=3, records=9)
    if "data" in name:
        fetched = [path for path, _ in web.requests if "/blocks/" in path or "/data/" in path]
        assert path in fetched
        assert f"/cities/blocks/{EARLIER}" not in fetched


def test_a_run_does_not_take_an_unfinished_copy_for_a_new_dataset(web: Server, here: Store) -> None:
    del web.resources[f"/cities/{SLICES[1]}"]
    with pytest.raises(StorageError, match="no such file on the server"):
        copy(original(f"{web.url}/cities"), here)
    with pytest.raises(
        DatasetGone, match=rf"an unfinished copy: finish it with `odf copy {web.url}/cities .* --as cit"
    ):
        here.check_new(DatasetAlias.parse("cities"))


def test_a_lost_connection_is_resumed(web: Server, here: Store) -> None:
    web.resources[f"/cities/{SLICES[0]}"].cuts = [100, 1000]
    web.resources[f"/cities/{SLICES[1]}"].cuts = [100]
    web.resources[f"/cities/{SLICES[1]}"].takes_ranges = False
    web.resources["/cities/refs/head"].statuses = [503]
    copy(original(f"{web.url}/cities"), here)
    assert verify(cities(here)).records == 9
    ranges = [headers.get("range") for path, headers in web.requests if path.endswith(SLICES[0])]
    assert ranges == [None, "bytes=100-", "bytes=1100-"]


def test_a_server_that_stays_away(web: Server, here: Store) -> None:
    web.resources[f"/cities/{SLICES[0]}"].statuses = [503] * 4
    with pytest.raises(StorageError, match=rf"{web.url}/cities/{SLICES[0]}: HTTP 503 Service Unavailable"):
        copy(original(f"{web.url}/cities"), here)
    assert web.answers.count(503) == 4


def test_redirects_are_followed(web: Server, here: Store) -> None:
    for name in SLICES:
        web.resources[f"/cities/{name}"].location = f"{web.url}/bucket/{name}?signature=1"
        web.serve(f"/bucket/{name}", CITIES[name])
    copy(original(f"{web.url}/cities"), here)
    assert verify(cities(here)).records == 9


@pytest.mark.parametrize(
    ("head", "message"),
    [(None, "no dataset is there"), (b"<!doctype html>", "which is not a block hash"), (b"", "no dataset is there")],
)
def test_a_server_without_a_dataset(web: Server, here: Store, head: bytes | None, message: str) -> None:
    if head is None:
        del web.resources["/cities/refs/head"]
    else:
        web.resources["/cities/refs/head"].content = head
    with pytest.raises((DatasetNotFound, ChainCorrupted), match=f"{web.url}/cities.*{message}"):
        copy(original(f"{web.url}/cities"), here)


def test_a_chain_that_breaks_a_rule(web: Server, here: Store) -> None:
    """Blocks that have their hashes need not make a chain: here the one before the newest is left out."""
    newest = codec.decode(CITIES[f"blocks/{HEAD}"])
    data = codec.encode(newest.model_copy(update={"prev_block_hash": EARLIER}), 3)
    head = multiformats.sha3_256(data)
    web.serve(f"/cities/blocks/{head}", data)
    web.resources["/cities/refs/head"].content = head.encode()
    with pytest.raises(ChainCorrupted, match=f"{web.url}/cities/blocks/{head}: sequenceNumber is 5, not 4"):
        copy(original(f"{web.url}/cities"), here)
    assert here.get("cities") is None


def test_another_writer_moved_the_head(there: Store, here: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at(cities(there), EARLIER)
    copied = copy(cities(there), here).dataset
    at(cities(there), HEAD)
    put = type(copied.storage).adopt

    def meanwhile(storage: object, name: str, source: Path) -> None:
        put(storage, name, source)
        if copied.head() == EARLIER:
            add(copied, "meanwhile")

    monkeypatch.setattr(type(copied.storage), "adopt", meanwhile)
    with pytest.raises(CommitConflict):
        copy(cities(there), here)

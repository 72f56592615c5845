from __future__ import annotations

import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain import object_storage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from tests.s3 import Relay, relaying, use

A, B, C = ("f1620" + pair * 32 for pair in ("aa", "bb", "cc"))


@pytest.fixture
def storage(s3, monkeypatch) -> ObjectStorage:
    use(s3, monkeypatch)
    return ObjectStorage.at(f"s3://bucket/{uuid4().hex}").folder("data.set")


def test_a_file_is_written_once(storage):
    assert storage.put_if_absent("blocks/x", b"first") is True
    assert storage.put_if_absent("blocks/x", b"second") is False
    assert storage.get("blocks/x") == b"first"
    assert storage.names("blocks") == ["x"]


def test_missing_files(storage):
    assert storage.get("blocks/x") is None
    assert storage.stat("blocks/x") is None
    assert storage.names("blocks") == []
    assert storage.exists() is False
    with pytest.raises(StorageError, match=r"s3://bucket/.*/blocks/x: no such object"), storage.open("blocks/x"):
        pass


def test_files_are_found_by_folder(storage):
    storage.put("blocks/x", b"1")
    storage.put("info/alias", b"name")
    assert storage.exists() is True
    assert storage.folders() == ["blocks", "info"]
    assert storage.files("info")[0].name == "info/alias"
    assert storage.files("info")[0].size == 4


def test_a_large_file_is_read_in_parts(storage, tmp_path):
    content = bytes(range(256)) * 100_000
    (tmp_path / "slice").write_bytes(content)
    storage.adopt("data/x", tmp_path / "slice")
    assert (tmp_path / "slice").exists()
    with storage.open("data/x") as file:
        assert file.read(10) == content[:10]
        assert file.read() == content[10:]


def test_a_ref_moves_from_the_expected_value_only(storage):
    storage.compare_and_set_ref("head", None, A)
    with pytest.raises(CommitConflict, match="points to f1620aaaa"):
        storage.compare_and_set_ref("head", None, B)
    with pytest.raises(CommitConflict):
        storage.compare_and_set_ref("head", C, B)
    storage.compare_and_set_ref("head", A, B)
    assert storage.get_ref("head") == B


def test_a_removed_ref_is_absent_and_can_be_set_again(storage):
    storage.compare_and_set_ref("candidate-1", None, A)
    storage.compare_and_set_ref("candidate-1", A, None)
    assert storage.get_ref("candidate-1") is None
    assert storage.refs() == []
    storage.compare_and_set_ref("candidate-1", None, B)
    assert storage.refs() == ["candidate-1"]


def test_one_of_twenty_writers_wins(storage):
    storage.compare_and_set_ref("head", None, A)
    barrier, won = threading.Barrier(20), []

    def write(number: int) -> None:
        target = f"f1620{number:064x}"
        barrier.wait()
        try:
            storage.compare_and_set_ref("head", A, target)
            won.append(target)
        except CommitConflict:
            pass

    threads = [threading.Thread(target=write, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [storage.get_ref("head")]


@pytest.fixture
def relay(s3) -> Iterator[Relay]:
    with relaying(s3) as relay:
        yield relay


@pytest.fixture
def behind_relay(relay, monkeypatch) -> ObjectStorage:
    use(relay.url, monkeypatch)
    return ObjectStorage.at(f"s3://bucket/{uuid4().hex}")


@pytest.mark.parametrize("how", ["cut", "503"])
def test_a_write_whose_answer_was_lost_counts(relay, behind_relay, how):
    relay.lost, relay.how = 1, how
    behind_relay.compare_and_set_ref("head", None, A)
    relay.lost = 1
    behind_relay.compare_and_set_ref("head", A, B)
    assert relay.lost == 0
    assert behind_relay.get_ref("head") == B


def test_a_server_that_ignores_conditions_is_refused(relay, behind_relay, monkeypatch):
    monkeypatch.setattr(object_storage, "_CHECKED", set())
    relay.ignores_conditions = True
    with pytest.raises(InvalidInput, match="the server ignores conditions of writes"):
        behind_relay.compare_and_set_ref("head", None, A)
    assert behind_relay.get_ref("head") is None


def test_a_missing_bucket_and_refused_rights_are_said(s3, monkeypatch):
    use(s3, monkeypatch)
    with pytest.raises(StorageError, match=r"no-bucket/.conditions.*NoSuchBucket"):
        ObjectStorage.at("s3://no-bucket").compare_and_set_ref("head", None, A)
    with pytest.raises(InvalidInput, match="the bucket is missing: use s3://BUCKET/PREFIX"):
        ObjectStorage.at("s3://")


@pytest.mark.parametrize("ref", ["head", "candidate-1"])
def test_a_write_that_the_server_does_not_take_is_an_error_and_no_conflict(relay, behind_relay, monkeypatch, ref):
    behind_relay.compare_and_set_ref(ref, None, A)
    monkeypatch.setitem(object_stores._RETRY, "max_retries", 1)
    object_stores._client.cache_clear()
    relay.answer = lambda method, path: (500, "InternalError") if method == "PUT" else False
    with pytest.raises(StorageError, match=r"refs/.*: InternalError") as refused:
        behind_relay.compare_and_set_ref(ref, A, B)
    assert not isinstance(refused.value, CommitConflict)
    assert behind_relay.get_ref(ref) == A

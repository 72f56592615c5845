from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain import object_storage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from tests.s3 import Fault, Relay, once, relaying, try_few_times

A, B, C = ("f1620" + pair * 32 for pair in ("aa", "bb", "cc"))


@pytest.fixture
def storage(object_server, monkeypatch) -> ObjectStorage:
    object_server.use(monkeypatch)
    return ObjectStorage.at(f"{object_server.bucket}/{uuid4().hex}").folder("data.set")


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
    with pytest.raises(StorageError, match=r"://.*/blocks/x: no such object"), storage.open("blocks/x"):
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


def at_once(write: Callable[[int], object], writers: int) -> list[object]:
    """Results of writers that begin at the same time."""
    barrier = threading.Barrier(writers)

    def begin(number: int) -> object:
        barrier.wait()
        return write(number)

    with ThreadPoolExecutor(writers) as pool:
        return list(pool.map(begin, range(writers)))


def test_one_of_twenty_writers_wins(storage):
    storage.compare_and_set_ref("head", None, A)

    def write(number: int) -> str | None:
        target = f"f1620{number:064x}"
        try:
            storage.compare_and_set_ref("head", A, target)
        except CommitConflict:
            return None
        return target

    assert [target for target in at_once(write, 20) if target] == [storage.get_ref("head")]


def test_one_of_twenty_writers_makes_a_file(storage):
    made = at_once(lambda number: storage.put_if_absent("blocks/x", b"%d" % number), 20)
    assert made.count(True) == 1
    assert storage.get("blocks/x") == b"%d" % made.index(True)


def test_refs_of_twenty_writers_are_all_kept(storage):
    at_once(lambda number: storage.compare_and_set_ref(f"candidate-{number:02}", None, A), 20)
    assert storage.refs() == [f"candidate-{number:02}" for number in range(20)]


def test_a_large_file_is_written_once(storage):
    """Servers may refuse before they have read the whole body."""
    assert storage.put_if_absent("blocks/x", b"1" * 20_000_000) is True
    for _ in range(3):
        assert storage.put_if_absent("blocks/x", b"2" * 20_000_000) is False
    assert storage.stat("blocks/x").size == 20_000_000
    assert storage.get("blocks/x")[:1] == b"1"


def test_thousands_of_files(storage):
    """More than a page."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: storage.put(f"blocks/{number:04}", b"1"), range(1100)))
    assert storage.names("blocks") == [f"{number:04}" for number in range(1100)]
    storage.put("blocks-2/x", b"1")
    storage.remove_folder("blocks")
    assert storage.folders() == ["blocks-2"]


def test_what_is_gone_is_removed_without_an_error(storage):
    storage.remove_folder("blocks")
    assert storage.remove("blocks/x", math.inf) is False
    storage.put("blocks/x", b"1")
    listed, info = storage.files("blocks")[0], storage.stat("blocks/x")
    assert (listed.name, listed.size, listed.version) == (info.name, info.size, info.version)
    modified = info.modified
    assert storage.remove("blocks/x", modified - 1) is False
    assert storage.remove("blocks/x", modified + 1) is True
    assert storage.exists() is False


@pytest.fixture
def relay(object_server) -> Iterator[Relay]:
    with relaying(object_server.endpoint) as relay:
        yield relay


@pytest.fixture
def behind_relay(object_server, relay, monkeypatch) -> ObjectStorage:
    object_server.use(monkeypatch, relay.url)
    return ObjectStorage.at(f"{object_server.bucket}/{uuid4().hex}")


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.LOST_503], ids=str)
@pytest.mark.parametrize("ref", ["head", "candidate-1"])
def test_a_write_whose_answer_was_lost_counts(relay, behind_relay, fault, ref):
    for expected, new in ((None, A), (A, B)):
        relay.answer = once("PUT", f"refs(/|%2F){'head' if ref == 'head' else '.index'}", fault)
        behind_relay.compare_and_set_ref(ref, expected, new)
        assert behind_relay.get_ref(ref) == new
    relay.answer = once("PUT", "blocks", fault)
    assert behind_relay.put_if_absent("blocks/x", b"1") is False  # it cannot know who wrote it
    assert behind_relay.get("blocks/x") == b"1"


def test_a_write_whose_answer_comes_too_late_counts(relay, behind_relay, monkeypatch, tmp_path):
    monkeypatch.setitem(object_stores._CLIENT, "read_timeout", timedelta(seconds=2))
    object_stores._client.cache_clear()
    behind_relay.compare_and_set_ref("head", None, A)
    relay.late, late = 5, lambda path: once("PUT", path, Fault.LATE)
    relay.answer = late("refs(/|%2F)head")
    behind_relay.compare_and_set_ref("head", A, B)
    assert behind_relay.get_ref("head") == B
    relay.answer = late("blocks")
    behind_relay.put_if_absent("blocks/x", b"1")
    relay.answer = late("info")
    behind_relay.put("info/alias", b"name")
    relay.answer = late("data")
    (tmp_path / "slice").write_bytes(b"rows")
    behind_relay.adopt("data/x", tmp_path / "slice")
    assert [behind_relay.get(name) for name in ("blocks/x", "info/alias", "data/x")] == [b"1", b"name", b"rows"]


def test_a_server_that_ignores_conditions_is_refused(object_server, relay, behind_relay, monkeypatch):
    if object_server.compares_signatures:
        pytest.skip("signatures cover the conditions that the relay takes away")
    monkeypatch.setattr(object_storage, "_CHECKED", set())
    relay.ignores_conditions = True
    with pytest.raises(InvalidInput, match="the server ignores conditions of writes"):
        behind_relay.compare_and_set_ref("head", None, A)
    assert behind_relay.get_ref("head") is None


def test_a_missing_bucket_and_refused_rights_are_said(object_server, monkeypatch):
    object_server.use(monkeypatch)
    missing = object_server.bucket.replace("bucket", "no-bucket", 1)
    words = r"/\.conditions\S*: The specified (bucket|container) does not exist \(\w+\): check the URI, or make"
    with pytest.raises(StorageError, match=words):
        ObjectStorage.at(missing).compare_and_set_ref("head", None, A)
    with pytest.raises(InvalidInput, match="the bucket is missing: use s3://BUCKET/PREFIX"):
        ObjectStorage.at("s3://")
    if object_server.compares_signatures:
        for name in ("AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_KEY"):
            monkeypatch.setenv(name, "d3Jvbmc=")
        object_stores._client.cache_clear()
        with pytest.raises(StorageError, match=r"/x: permission denied( to read)? \(check the credentials"):
            ObjectStorage.at(object_server.bucket).get("x")


@pytest.mark.parametrize("ref", ["head", "candidate-1"])
def test_a_write_that_the_server_does_not_take_is_an_error_and_no_conflict(relay, behind_relay, monkeypatch, ref):
    behind_relay.compare_and_set_ref(ref, None, A)
    try_few_times(monkeypatch)
    relay.answer = lambda method, path: (500, "InternalError") if method == "PUT" else None
    with pytest.raises(
        StorageError, match=r"refs/.*: the server cannot answer now: InternalError, after 3 retries"
    ) as refused:
        behind_relay.compare_and_set_ref(ref, A, B)
    assert not isinstance(refused.value, CommitConflict)
    assert behind_relay.get_ref(ref) == A

from __future__ import annotations

import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server
from uuid import uuid4

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain import object_storage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError

A, B, C = ("f1620" + pair * 32 for pair in ("aa", "bb", "cc"))


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Endpoint of an S3 server that heeds conditions."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    endpoint = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT"), timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    yield endpoint
    server.terminate()
    server.wait()


def use(endpoint: str, monkeypatch) -> None:
    object_stores.client.cache_clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


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
    assert not (tmp_path / "slice").exists()
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


class Relay(BaseHTTPRequestHandler):
    """Passes requests on. The answers of the first writes of refs are lost, or conditions are left out."""

    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {"Content-Type": "binary/octet-stream"}
        headers |= {k: v for k, v in self.headers.items() if k.lower() != "host"}
        if server.ignores_conditions:
            headers = {k: v for k, v in headers.items() if not k.lower().startswith("if-")}
        request = urllib.request.Request(server.target + self.path, body, headers, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            answer = e
        content = answer.read()
        if self.command == "PUT" and "refs/" in self.path and server.lost > 0:
            server.lost -= 1
            self.close_connection = True
            if server.how == "cut":
                return
            answer.code, content = 503, b"<Error><Code>SlowDown</Code></Error>"
        self.send_response(answer.code)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.headers["Content-Length"] if self.command == "HEAD" else len(content))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def relay(s3) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    server.target, server.lost, server.how, server.ignores_conditions = s3, 0, "cut", False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def behind_relay(relay, monkeypatch) -> ObjectStorage:
    use(f"http://127.0.0.1:{relay.server_port}", monkeypatch)
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

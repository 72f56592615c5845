"""Clients of object stores: URIs, and their first use by several threads."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import timedelta

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput, StorageError
from tests.s3 import relaying, use


def test_uris():
    assert object_stores.split("S3://lake/in/a b#1?%20.csv") == ("s3://lake", "in/a b#1?%20.csv")
    assert object_stores.split("gs://lake") == ("gs://lake", "")
    assert object_stores.split("abfss://c@a.dfs.core.windows.net/x/") == ("abfss://c@a.dfs.core.windows.net", "x")


@pytest.mark.parametrize("uri", ["s3://me:pa55@b/k", "gs://pa55@b", "abfss://c:pa55@a.b/k", "az://c/k?se=1&sig=pa55"])
def test_credentials_in_a_uri_are_refused_and_not_quoted(uri):
    with pytest.raises(InvalidInput, match="the URI has a user, a password or parameters") as refused:
        object_stores.split(uri)
    assert "pa55" not in str(refused.value)


def test_words_of_an_error_have_no_signature():
    error = OSError("Error performing GET https://a.blob.core.windows.net/c/k?se=1&sig=pa55 in 3ms - 404")
    assert object_stores.reason(error) == "Error performing GET https://a.blob.core.windows.net/c/k in 3ms - 404"


@pytest.fixture
def impatient(monkeypatch):
    for name, seconds in (("_TICK", 0.05), ("_PATIENCE", 0.3), ("_REMINDER", 1.0)):
        monkeypatch.setattr(object_stores, name, seconds)
    monkeypatch.setattr(object_stores._waits, "_told", float("-inf"))


def test_a_busy_server_is_told_while_the_client_waits(bucket, s3, monkeypatch, caplog, impatient):
    bucket.put("a/b", b"content")
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        end = time.monotonic() + 1.5
        relay.answer = lambda method, path: (503, "SlowDown") if time.monotonic() < end else None
        assert b"".join(object_stores.chunks(f"{bucket.uri}/a/b")) == b"content"
        asked = relay.kinds()
    assert 1 <= len(caplog.messages) <= asked["HEAD"] <= 6
    assert {(record.levelname, record.getMessage()) for record in caplog.records} <= {
        ("WARNING", f"still waiting for {bucket.uri}/a/b (HTTP 503), giving up in {left} s") for left in range(80, 91)
    }


def test_a_slow_server_is_not_told(bucket, s3, monkeypatch, caplog, impatient):
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        relay.delay = 0.8
        object_stores.put(f"{bucket.uri}/a", b"1", 1)
        relay.delay = 0
        pieces = object_stores.chunks(f"{bucket.uri}/a")
        time.sleep(0.5)  # somebody works, and nothing waits
        assert b"".join(pieces) == b"1"
    assert caplog.messages == []


def test_an_endpoint_where_nobody_is(monkeypatch, caplog, impatient):
    use("http://127.0.0.1:9", monkeypatch)
    retry = object_stores._RETRY | {"retry_timeout": timedelta(seconds=1)}
    monkeypatch.setattr(object_stores, "_RETRY", retry)
    with pytest.raises(StorageError, match="check its endpoint"):
        object_stores.size("s3://bucket/a")
    assert caplog.messages[0] == "still waiting for s3://bucket/a (error sending request), giving up in 1 s"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_connection_without_credentials_is_told_and_does_not_end_the_watch(monkeypatch, caplog, impatient):
    use("http://127.0.0.1:9", monkeypatch)
    monkeypatch.setattr(object_stores, "_RETRY", object_stores._RETRY | {"retry_timeout": timedelta(seconds=1)})
    monkeypatch.setattr(object_stores, "_REMINDER", 0.3)
    refusals = iter([None, StorageError("connection 'lake' gives no credentials"), MemoryError()])

    def access(bucket):
        if error := next(refusals, None):
            raise error

    monkeypatch.setattr(object_stores, "_access_of", access)
    object_stores._client.cache_clear()
    for _ in range(3):
        with pytest.raises(StorageError, match="check its endpoint"):
            object_stores.size("s3://bucket/a")
    assert next(refusals, None) is None
    said = [message.partition(", giving")[0] for message in caplog.messages]
    assert (said[0], said[-1]) == (
        "still waiting for s3://bucket/a (connection 'lake' gives no credentials)",
        "still waiting for s3://bucket/a (error sending request)",
    )
    object_stores._client.cache_clear()


FIRST_USE = """
import os, sys, threading

os.environ |= {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}
from airflow_provider_odf import object_stores

def use(bucket, waits):
    while waits and not any(name.startswith("obstore.") for name in list(sys.modules)):
        pass
    try:
        with object_stores.errors(bucket):
            object_stores.client(bucket)
    except Exception as e:
        print(e)

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=use, args=(f"s3://bucket-{n}", n > 0)) for n in range(5)]
for thread in reversed(threads):
    thread.start()
for thread in threads:
    thread.join()
"""


def test_several_threads_may_make_the_first_client():
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


FORKED = """
import os, sys
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.errors import StorageError

storage = ObjectStorage.at("s3://bucket/forked")
storage.put("info/alias", b"name")
if not (pid := os.fork()):
    try:
        storage.get("info/alias")
    except StorageError as e:
        print(e, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(storage.get("info/alias"))
"""


@pytest.mark.usefixtures("bucket")
def test_a_fork_of_a_process_that_has_asked_is_refused_and_does_not_hold_up_its_parent():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    refusal, content = done.stdout.splitlines()
    assert refusal.startswith("s3://bucket: this process was forked from one that has used an object store")
    assert refusal.endswith("set `[openlineage] execute_in_thread = True`")
    assert content == "b'name'"


def test_parameters_for_other_libraries(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere")
    options = {"region": "eu-central-1", "endpoint": "http://127.0.0.1:1", "skip_signature": False}
    access = object_stores.Access("a connection", options, lambda: {"access_key_id": "key", "token": None})
    monkeypatch.setattr(object_stores, "_access_of", lambda bucket: access if bucket == "s3://lake" else None)
    assert object_stores.parameters("s3://lake") == {
        "region": "eu-central-1",
        "endpoint": "http://127.0.0.1:1",
        "skip_signature": "False",
        "access_key_id": "key",
        "allow_http": "True",
    }
    assert object_stores.parameters("s3://other")["endpoint"] == "http://elsewhere"

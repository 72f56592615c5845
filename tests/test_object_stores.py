"""Clients of object stores: URIs, and their first use by several threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput


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

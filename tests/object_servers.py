"""Servers of object stores by several makers, each with an empty bucket.

moto is a Python package. Other servers are programs, which `make test-stores` installs; tests on one that is not on the
PATH are skipped.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from socket import create_server

import pytest

from airflow_provider_odf import object_stores
from tests.gcs import serving_xml
from tests.processes import wait_until

_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that every Azurite has, and its published key."""


@dataclass(frozen=True)
class ObjectServer:
    """A server with a bucket, and the settings of clients for an endpoint: its own, or that of a relay before it."""

    endpoint: str
    bucket: str
    settings: Callable[[str], Mapping[str, str]]
    compares_signatures: bool = False

    def use(self, monkeypatch: pytest.MonkeyPatch, endpoint: str | None = None) -> None:
        """Let clients of this process and its children use the server."""
        object_stores._client.cache_clear()
        for name, value in self.settings(endpoint or self.endpoint).items():
            monkeypatch.setenv(name, value)


def _s3(endpoint: str) -> dict[str, str]:
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    return {"AWS_ENDPOINT_URL": endpoint, **keys}


def _azure(endpoint: str) -> dict[str, str]:
    keys = {"AZURE_STORAGE_ACCOUNT_NAME": _ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": _KEY}
    return {"AZURE_STORAGE_ENDPOINT": f"{endpoint}/{_ACCOUNT}", **keys}


def _gcs(endpoint: str) -> dict[str, str]:
    account = {"client_email": "", "private_key": "", "private_key_id": ""}
    return {
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps({"gcs_base_url": endpoint, "disable_oauth": True, **account}),
    }


def moto(endpoint: str) -> ObjectServer:
    return ObjectServer(endpoint, "s3://bucket", _s3)


@contextmanager
def _versitygw(folder: Path) -> Iterator[ObjectServer]:
    (folder / "bucket").mkdir()
    keys = ["--access", "key", "--secret", "secret"]
    with _running("versitygw", lambda port: [*keys, "--port", f"127.0.0.1:{port}", "posix", str(folder)]) as endpoint:
        yield ObjectServer(endpoint, "s3://bucket", _s3, compares_signatures=True)


@contextmanager
def _azurite(folder: Path, bucket: str) -> Iterator[ObjectServer]:
    options = ["-l", str(folder), "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    with _running(
        "azurite-blob", lambda port: ["--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    ) as endpoint:
        date, resource = formatdate(usegmt=True), f"/{_ACCOUNT}/bucket"
        headers = {"x-ms-date": date, "x-ms-version": "2021-10-04"}
        named = "".join(f"{name}:{value}\n" for name, value in headers.items())
        text = "PUT" + "\n" * 12 + f"{named}/{_ACCOUNT}{resource}\nrestype:container"
        signature = base64.b64encode(hmac.digest(base64.b64decode(_KEY), text.encode(), hashlib.sha256)).decode()
        headers |= {"Authorization": f"SharedKey {_ACCOUNT}:{signature}", "Content-Length": "0"}
        _send(urllib.request.Request(f"{endpoint}{resource}?restype=container", method="PUT", headers=headers))
        yield ObjectServer(endpoint, bucket, _azure, compares_signatures=True)


@contextmanager
def _fake_gcs_server(folder: Path) -> Iterator[ObjectServer]:
    options = ["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory", "-log-level", "error"]
    with (
        _running("fake-gcs-server", lambda port: [*options, "-port", str(port)]) as json_api,
        serving_xml(json_api) as xml,
    ):
        body, headers = b'{"name": "bucket"}', {"Content-Type": "application/json"}
        _send(urllib.request.Request(f"{json_api}/storage/v1/b?project=p", body, headers))
        yield ObjectServer(xml.url, "gs://bucket", _gcs)


PROGRAMS: Mapping[str, Callable[[Path], AbstractContextManager[ObjectServer]]] = {
    "versitygw": _versitygw,
    "azurite": lambda folder: _azurite(folder, "az://bucket"),
    "azurite-abfss": lambda folder: _azurite(folder, f"abfss://bucket@{_ACCOUNT}.dfs.core.windows.net"),
    "fake-gcs-server": _fake_gcs_server,
}


@contextmanager
def _running(program: str, arguments: Callable[[int], list[str]]) -> Iterator[str]:
    """Run a server on a free port, and yield its endpoint."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program}: `make test-stores` installs it")
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [path, *arguments(port)],
        env=os.environ | {"TZ": "UTC"},  # fake-gcs-server writes times of its zone, and says that they are GMT
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _answers(f"http://127.0.0.1:{port}/"), 60)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        _send(urllib.request.Request(url))
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _send(request: urllib.request.Request) -> None:
    urllib.request.urlopen(request, timeout=5).close()

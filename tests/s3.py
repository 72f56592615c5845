"""An S3 server in memory, and a relay before it that counts requests, loses answers and refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import boto3
import pytest

from airflow_provider_odf import object_stores


@contextmanager
def serving_s3() -> Iterator[str]:
    """Run a server that heeds conditions and has a bucket named ``bucket``, and yield its endpoint."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    endpoint = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT"), timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield endpoint
    finally:
        server.terminate()
        server.wait()


@dataclass(frozen=True)
class Guarded:
    """A server that checks signatures, the key of its user, and a role that this user may assume."""

    endpoint: str
    key: str
    secret: str = field(repr=False)
    role: str

    def another_key(self) -> tuple[str, str]:
        """Return a new key of the user; the key from before ends."""
        iam = self._iam(self.key, self.secret)
        new = iam.create_access_key(UserName="writer")["AccessKey"]
        iam.delete_access_key(UserName="writer", AccessKeyId=self.key)
        return new["AccessKeyId"], new["SecretAccessKey"]

    def _iam(self, key: str, secret: str) -> Any:
        return boto3.client("iam", "us-east-1", None, True, None, self.endpoint, key, secret)


@contextmanager
def guarded_s3() -> Iterator[Guarded]:
    """Run a server as `serving_s3` does, which refuses requests without the right credentials."""
    with serving_s3() as endpoint:
        iam = Guarded(endpoint, "", "", "")._iam("any", "any")
        everything = json.dumps({"Version": "2012-10-17", "Statement": [_ALLOWED | {"Resource": "*"}]})
        anybody = json.dumps({"Version": "2012-10-17", "Statement": [_ALLOWED | {"Principal": {"AWS": "*"}}]})
        iam.create_user(UserName="writer")
        iam.put_user_policy(UserName="writer", PolicyName="all", PolicyDocument=everything)
        role = iam.create_role(RoleName="lake", AssumeRolePolicyDocument=anybody)["Role"]["Arn"]
        iam.put_role_policy(RoleName="lake", PolicyName="all", PolicyDocument=everything)
        key = iam.create_access_key(UserName="writer")["AccessKey"]
        check_all = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
        urllib.request.urlopen(check_all, timeout=5).close()
        yield Guarded(endpoint, key["AccessKeyId"], key["SecretAccessKey"], role)


_ALLOWED = {"Effect": "Allow", "Action": "*"}


def use(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients of this process and its children use a server."""
    object_stores._client.cache_clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


class Bucket:
    """A bucket, by its URI."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    @classmethod
    def new(cls, endpoint: str) -> Bucket:
        name = f"bucket-{uuid4().hex[:8]}"
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT"), timeout=5).close()
        return cls(f"s3://{name}")

    def put(self, key: str, content: bytes = b"", **attributes: str) -> str:
        """Write an object and return its ETag."""
        etag = object_stores.client(self.uri).put(key, content, attributes=attributes or None)["e_tag"]
        assert etag is not None
        return etag

    def delete(self, key: str) -> None:
        object_stores.client(self.uri).delete(key)


class Relay(ThreadingHTTPServer):
    """Passes requests on to a server. Of the writes of refs, the first ``lost`` answers are lost, ``how`` says in which
    way. ``answer`` may answer a request itself, with a status and an error code, or with None to cut the connection."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.lost, self.how, self.ignores_conditions = target, 0, "cut", False
        self.answer: Callable[[str, str], tuple[int, str] | bool | None] = lambda method, path: False
        self.requests: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def kinds(self) -> Counter[str]:
        """Return how many requests of each kind came since the last call; listings are a kind of their own."""
        kinds = Counter("LIST" if _is_listing(method, path) else method for method, path in self.requests)
        self.requests.clear()
        return kinds


def _is_listing(method: str, path: str) -> bool:
    return method == "GET" and "list-type=2" in path


@contextmanager
def relaying(target: str) -> Iterator[Relay]:
    server = Relay(target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Relay

    def _pass(self) -> None:
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.requests.append((self.command, self.path))
        if (own := server.answer(self.command, self.path)) is not False:
            self._send(*own) if own else self._cut()
            return
        headers = dict(self.headers)  # the host too, which signatures cover
        if server.ignores_conditions:
            headers = {k: v for k, v in headers.items() if not re.match("(x-goog-)?if-", k.lower())}
        connection = HTTPConnection(urlsplit(server.target).netloc)
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if self.command == "PUT" and re.search("refs(/|%2F)", self.path) and server.lost > 0:
            server.lost -= 1
            self._cut() if server.how == "cut" else self._send(503, "SlowDown")
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.headers["Content-Length"] if self.command == "HEAD" else len(content))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass  # noqa: N815

    def _cut(self) -> None:
        self.close_connection = True

    def _send(self, status: int, code: str) -> None:
        content = f"<Error><Code>{code}</Code></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass

"""An S3 server in memory, and a relay before it that counts requests and makes faults."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from socket import create_server
from typing import Any, TypeAlias
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
    """Let clients of this process and its children use a server, whatever an earlier command has connected."""
    object_stores.connect(object_stores._inherited)
    object_stores._client.cache_clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def try_few_times(monkeypatch: pytest.MonkeyPatch, most: int = 3) -> None:
    """Let new clients of this process send a request again this often, after short pauses."""
    pauses = {"init_backoff": timedelta(milliseconds=10), "max_backoff": timedelta(milliseconds=50), "base": 3}
    monkeypatch.setitem(object_stores._RETRY, "max_retries", most)
    monkeypatch.setitem(object_stores._RETRY, "backoff", pauses)
    object_stores._client.cache_clear()


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


class Fault(Enum):
    """What a relay does to a request, beside an answer of its own."""

    CUT = "the connection ends before the server is asked"
    CUT_IN_BODY = "the connection ends within the body of the request, which the server does not get"
    LOST = "the server does it, and the connection ends without an answer"
    LOST_503 = "the server does it, and the answer is another"
    TRUNCATED = "the answer ends early"
    LATE = "the server does it, and the answer comes after `late` seconds"


Answer: TypeAlias = "Fault | tuple[int, str] | None"
"""A fault, or a status and an error code in place of the answer of the server; None: the request is passed on."""

THROTTLED, BROKEN = (503, "SlowDown"), (500, "InternalError")
EXPIRED, SKEWED = (403, "ExpiredToken"), (403, "RequestTimeTooSkewed")
PASSING: tuple[Answer, ...] = (*Fault, THROTTLED, BROKEN)
"""Faults after which the same request succeeds."""


class RandomFaults:
    """Answers of a relay: each request has, with a probability, one of some faults, which follow from a seed and the
    order of the requests. Writes have them three times as often, since a run has few."""

    def __init__(
        self, seed: int, probability: float, faults: Sequence[Answer] = (*PASSING * 3, EXPIRED, SKEWED)
    ) -> None:
        self._random, self._probability, self._faults = Random(seed), probability, faults
        self.made: Counter[Answer] = Counter()

    def __call__(self, method: str, path: str) -> Answer:
        if self._random.random() >= self._probability * (3 if method == "PUT" else 1):
            return None
        fault = self._random.choice(self._faults)
        self.made[fault] += 1
        return fault


class Relay(ThreadingHTTPServer):
    """Passes requests on to a server, each after ``delay`` seconds, unless ``answer`` has another answer for the method
    and path of one."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.ignores_conditions, self.delay, self.late = target, False, 0.0, 0.1
        self.answer: Callable[[str, str], Answer] = passed_on
        self.requests: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # A client may be gone before a late answer.
            super().handle_error(request, client_address)

    def kinds(self) -> Counter[str]:
        """Return how many requests of each kind came since the last call; listings are a kind of their own."""
        kinds = Counter("LIST" if _is_listing(method, path) else method for method, path in self.requests)
        self.requests.clear()
        return kinds


def passed_on(method: str, path: str) -> Answer:
    """Answer no request in place of the server."""
    return None


def once(method: str, path: str, *answers: Answer) -> Callable[[str, str], Answer]:
    """Return answers for the first requests of a method whose path has a part, as a regular expression."""
    rest = iter(answers)
    return lambda m, p: next(rest, None) if m == method and re.search(path, p) else None


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
    disable_nagle_algorithm = True
    server: Relay

    def _pass(self) -> None:
        server, size = self.server, int(self.headers.get("Content-Length") or 0)
        server.requests.append((self.command, self.path))
        answer = server.answer(self.command, self.path)
        if answer is Fault.CUT_IN_BODY:
            self.rfile.read(size // 2)
            self._cut()
            return
        body = self.rfile.read(size)
        time.sleep(server.delay)
        if isinstance(answer, tuple):
            self._send(*answer)
        elif answer is Fault.CUT:
            self._cut()
        else:
            self._ask(body, answer)

    def _ask(self, body: bytes, fault: Fault | None) -> None:
        headers = dict(self.headers)  # the host too, which signatures cover
        if self.server.ignores_conditions:
            headers = {k: v for k, v in headers.items() if not re.match("(x-goog-)?if-", k.lower())}
        connection = HTTPConnection(urlsplit(self.server.target).netloc)
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if fault is Fault.LOST:
            self._cut()
            return
        if fault is Fault.LOST_503:
            self._send(*THROTTLED)
            return
        if fault is Fault.LATE:
            time.sleep(self.server.late)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.headers["Content-Length"] if self.command == "HEAD" else len(content))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if fault is Fault.TRUNCATED else content)
        if fault is Fault.TRUNCATED:
            self._cut()

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

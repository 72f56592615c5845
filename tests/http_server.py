"""A real HTTP server on this machine, whose resources a test scripts."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

State = TypeVar("State")


@dataclass
class Resource:
    """What the server says of one path. ``cuts`` are the numbers of body bytes after which successive answers break
    off; ``statuses`` are answered before anything else."""

    content: bytes = b""
    etag: str | None = None
    modified: float | None = None
    headers: dict[str, str] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    status_body: bytes = b""
    status_headers: dict[str, str] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    location: str | None = None
    takes_ranges: bool = True
    range_start: int | None = None
    is_conditional: bool = True
    is_chunked: bool = False
    delay: float = 0
    on_request: Callable[[Resource], None] | None = None


@dataclass
class Server:
    """What it has to serve; and of each request so far the path, the headers, named in lower case, and the status."""

    url: str
    resources: dict[str, Resource] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def serve(self, path: str, content: bytes = b"", **properties) -> str:
        """The URL of a new resource."""
        self.resources[path] = Resource(content, **properties)
        return self.url + path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.state.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        resource = self.server.state.resources.get(self.path.partition("?")[0])
        if resource is None:
            self._answer(404, b"no such page")
            return
        if resource.on_request:
            resource.on_request(resource)
        time.sleep(resource.delay)
        validators = self._validators(resource)
        if resource.statuses:
            self._answer(resource.statuses.pop(0), resource.status_body, resource.status_headers)
        elif resource.location:
            self._answer(302, b"", {"Location": resource.location})
        elif self.headers["If-Match"] not in (None, resource.etag):
            self._answer(412, b"")
        elif resource.is_conditional and self._is_current(validators):
            self._answer(304, None, validators)
        else:
            self._send(resource, validators)

    def _validators(self, resource: Resource) -> dict[str, str]:
        modified = formatdate(resource.modified, usegmt=True) if resource.modified is not None else None
        return {k: v for k, v in {"ETag": resource.etag, "Last-Modified": modified}.items() if v is not None}

    def _is_current(self, validators: dict[str, str]) -> bool:
        asked = self.headers["If-None-Match"], self.headers["If-Modified-Since"]
        said = validators.get("ETag"), validators.get("Last-Modified")
        return any(a is not None and a == s for a, s in zip(asked, said, strict=True))

    def _send(self, resource: Resource, validators: dict[str, str]) -> None:
        start, headers, status = 0, {**validators, **resource.headers}, 200
        wanted, condition = self.headers["Range"], self.headers["If-Range"]
        if wanted and resource.takes_ranges and condition in (None, *validators.values()):
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            start = start if resource.range_start is None else resource.range_start
            total = len(resource.content)
            headers["Content-Range"], status = f"bytes {start}-{total - 1}/{total}", 206
        body = resource.content[start:]
        cut = resource.cuts.pop(0) if resource.cuts else None
        self._answer(status, body, headers, cut, resource.is_chunked)

    def _answer(self, status, body, headers=None, cut=None, is_chunked=False) -> None:
        self.server.state.answers.append(status)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif body is not None and "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        sent = b"" if self.command == "HEAD" else (body or b"")[:cut]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(sent), sent) if is_chunked and sent else sent)
        if cut is not None:
            self.close_connection = True
            self.wfile.flush()
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        elif is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Nothing: the test run's output is for tests."""


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    state: Any

    def handle_error(self, *_: object) -> None:
        """Clients hang up; that is part of the tests."""


def serving() -> contextlib.AbstractContextManager[Server]:
    """A server that runs as long as the context does."""
    return hosting(_Handler, Server)


@contextlib.contextmanager
def hosting(handler: type[BaseHTTPRequestHandler], state: Callable[[str], State]) -> Iterator[State]:
    """The state, by its URL, of a server that runs as long as the context does. A handler has it as `server.state`."""
    with _HttpServer(("127.0.0.1", 0), handler) as running:
        running.state = state(f"http://127.0.0.1:{running.server_address[1]}")
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running.state
        finally:
            running.shutdown()
            thread.join()

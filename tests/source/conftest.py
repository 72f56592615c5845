"""A real HTTP server on this machine, whose resources a test scripts, and polls of it."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.poll import Polled, poll

SYSTEM_TIME = Instant.parse("2024-06-01T12:00:00Z")
PATIENT = Options(first_wait=0.01, longest_wait=5, connect_timeout=2, read_timeout=0.5)


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
    url: str
    resources: dict[str, Resource] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def serve(self, path: str, content: bytes = b"", **properties) -> str:
        """The URL of a new resource."""
        self.resources[path] = Resource(content, **properties)
        return self.url + path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer

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
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            start = start if resource.range_start is None else resource.range_start
            total = len(resource.content)
            headers["Content-Range"], status = f"bytes {start}-{total - 1}/{total}", 206
        body = resource.content[start:]
        cut = resource.cuts.pop(0) if resource.cuts else None
        self._answer(status, body, headers, cut, resource.is_chunked)

    def _answer(self, status, body, headers=None, cut=None, is_chunked=False) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif body is not None and "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        sent = (body or b"")[:cut]
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
    state: Server

    def handle_error(self, *_: object) -> None:
        """Clients hang up; that is part of the tests."""


@pytest.fixture
def server() -> Iterator[Server]:
    with _HttpServer(("127.0.0.1", 0), _Handler) as running:
        running.state = Server(f"http://127.0.0.1:{running.server_address[1]}")
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running.state
        running.shutdown()
        thread.join()


@dataclass
class Poller:
    """Polls with what most tests have in common; ``messages`` is what they told."""

    base: Path
    work: Path
    messages: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    options: Options = PATIENT

    def __call__(self, step, *prepare, state=None, **kwargs) -> Polled | None:
        return poll(
            step,
            prepare,
            base=self.base,
            state=state,
            system_time=SYSTEM_TIME,
            work=self.work,
            environment=self.environment,
            progress=self.messages.append,
            options=kwargs.pop("options", self.options),
            **kwargs,
        )

    def url(self, url: str, *prepare, state=None, options=None, **step) -> Polled | None:
        return self(model.FetchStepUrl(url=url, **step), *prepare, state=state, options=options or self.options)

    def glob(self, path: str, state=None, taken=None, **step) -> Polled | None:
        return self(model.FetchStepFilesGlob(path=path, **step), state=state, taken=taken)

    @staticmethod
    def state(kind: str, value: str) -> model.SourceState:
        return model.SourceState(source_name="default", kind=kind, value=value)

    @staticmethod
    def content(polled: Polled) -> list[bytes]:
        """The content of each input, its files joined."""
        return [b"".join(path.read_bytes() for path in file.paths) for file in polled.files]

    @property
    def leftovers(self) -> list[str]:
        """What polls left in the work area."""
        return sorted(str(path.relative_to(self.work)) for path in self.work.rglob("*")) if self.work.exists() else []


@pytest.fixture
def poller(tmp_path: Path) -> Poller:
    base = tmp_path / "dags"
    base.mkdir()
    return Poller(base, tmp_path / "work")


class _FtpHandler(socketserver.StreamRequestHandler):
    """As much of RFC 959 as one download needs. Files are in ``server.files``; ``server.cuts`` break transfers off."""

    server: _FtpServer

    def handle(self) -> None:
        self.say("220 ready")
        while line := self.rfile.readline().decode().strip():
            verb, _, argument = line.partition(" ")
            self.server.commands.append(line)
            answer = getattr(self, f"do_{verb.lower()}", None)
            self.say(answer(argument) if answer else "502 what?")

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def do_user(self, name: str) -> str:
        return "331 password?"

    def do_pass(self, password: str) -> str:
        return "230 in" if password in ("secret", "anonymous@") else f"530 {password} is wrong"

    def do_type(self, kind: str) -> str:
        return "200 ok"

    def do_size(self, name: str) -> str:
        return f"213 {len(self.server.files[name])}" if name in self.server.files else "550 no such file"

    def do_epsv(self, _: str) -> str:
        self.data = socket.create_server(("127.0.0.1", 0))
        return f"229 (|||{self.data.getsockname()[1]}|)"

    def do_pasv(self, _: str) -> str:
        self.data = socket.create_server(("127.0.0.1", 0))
        port = self.data.getsockname()[1]
        return f"227 (127,0,0,1,{port >> 8},{port & 255})"

    def do_retr(self, name: str) -> str:
        with self.data:
            if name not in self.server.files:
                return "550 no such file"
            self.say("150 coming")
            with self.data.accept()[0] as connection:
                connection.sendall(self.server.files[name][: self.server.cuts.pop(0) if self.server.cuts else None])
        return "226 done"

    def do_quit(self, _: str) -> str:
        return "221 bye"


class _FtpServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _FtpHandler)
        self.files: dict[str, bytes] = {}
        self.cuts: list[int] = []
        self.commands: list[str] = []
        self.place = f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """Clients hang up; that is part of the tests."""


@pytest.fixture
def ftp_server() -> Iterator[_FtpServer]:
    with _FtpServer() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()

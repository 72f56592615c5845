"""Polls, and an FTP server on this machine."""

from __future__ import annotations

import dataclasses
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source.fetching import Context, SourceFiles
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.poll import poll

SYSTEM_TIME = Instant.parse("2024-06-01T12:00:00Z")
PATIENT = Options(first_wait=0.01, longest_wait=5, connect_timeout=2, read_timeout=0.5)


@dataclass
class Poller:
    """Polls with what most tests have in common; ``messages`` is what they told."""

    base: Path
    work: Path
    messages: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    options: Options = PATIENT
    dataset_id: str = "did:odf:1"

    def __call__(self, step, *prepare, state=None, **kwargs) -> SourceFiles | None:
        return poll(
            step,
            prepare,
            Context(
                base=self.base,
                state=state,
                system_time=SYSTEM_TIME,
                directory=self.work,
                environment=Environment(self.environment),
                tell=self.messages.append,
                options=kwargs.pop("options", self.options),
                dataset_id=self.dataset_id,
                **kwargs,
            ),
        )

    def url(self, url: str, *prepare, state=None, options=None, **step) -> SourceFiles | None:
        return self(model.FetchStepUrl(url=url, **step), *prepare, state=state, options=options or self.options)

    def glob(self, path: str, state=None, past_states=None, **step) -> SourceFiles | None:
        return self(model.FetchStepFilesGlob(path=path, **step), state=state, past_states=past_states)

    @staticmethod
    def state(kind: str, value: str) -> model.SourceState:
        return model.SourceState(source_name="default", kind=kind, value=value)

    @staticmethod
    def content(polled: SourceFiles) -> list[bytes]:
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
    """As much of RFC 959 as one download needs. Files are in ``server.files``, their times in
    ``server.times``; ``server.cuts`` break transfers off."""

    server: _FtpServer
    start = 0

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

    def do_mdtm(self, name: str) -> str:
        return f"213 {self.server.times[name]}" if name in self.server.times else "502 what?"

    def do_rest(self, start: str) -> str:
        if not self.server.takes_rest:
            self.data.close()
            return "502 what?"
        self.start = int(start)
        return "350 go on"

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
            cut = self.server.cuts.pop(0) if self.server.cuts else None
            start, self.start = self.start, 0
            with self.data.accept()[0] as connection:
                connection.sendall(self.server.files[name][start:][:cut])
            if cut is not None:
                self.server.on_cut()
        return "226 done"

    def do_quit(self, _: str) -> str:
        return "221 bye"


class _FtpServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _FtpHandler)
        self.files: dict[str, bytes] = {}
        self.times: dict[str, str] = {}
        self.cuts: list[int] = []
        self.on_cut: Callable[[], None] = lambda: None
        self.takes_rest = True
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


@pytest.fixture
def polled(poller):
    """The files that a poll makes of some content."""

    def run(content, *prepare, **options):
        (poller.base / "in").write_bytes(content)
        os.utime(poller.base / "in", (1714651200, 1714651200))  # what was just written is waited for
        found = poller.url("in", *prepare, options=dataclasses.replace(poller.options, **options))
        return [path.read_bytes() for path in found.files[0].paths]

    return run


@pytest.fixture
def failure(polled, poller):
    """The message of the error that a poll ends with; nothing is left of it."""

    def run(content, *prepare, kind=SourceError, **options):
        with pytest.raises(kind) as e:
            polled(content, *prepare, **options)
        assert poller.leftovers == []
        return str(e.value)

    return run

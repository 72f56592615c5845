"""A store, a source over HTTP with ETags, and one engine for all cycles of the test process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.contract.binding import bind
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.run import Cycle
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner


@dataclass
class Publisher:
    """Serves one text at any path, with an ETag and a Last-Modified."""

    url: str
    content: bytes = b""
    modified: str = ""
    answers: list[int] = field(default_factory=list)

    def publish(self, text: str, modified: str) -> None:
        """A new version of the text, last modified at an RFC 3339 time."""
        self.content = dedent(text).lstrip().encode()
        self.modified = formatdate(Instant.parse(modified).to_datetime().timestamp(), usegmt=True)


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            etag = f'"{sha256(published.content).hexdigest()[:8]}"'
            status = 304 if self.headers["If-None-Match"] == etag else 200
            published.answers.append(status)
            self.send_response(status)
            self.send_header("ETag", etag)
            self.send_header("Last-Modified", published.modified)
            if status == 200:
                self.send_header("Content-Length", str(len(published.content)))
            self.end_headers()
            if status == 200:
                self.wfile.write(published.content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        published = Publisher(f"http://127.0.0.1:{server.server_address[1]}/data.csv")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield published
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def engine() -> Iterator[LocalRunner]:
    with LocalRunner("local[2]") as runner:
        yield runner


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of the test's folder, dedented."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip(), encoding="utf-8")
        return path

    return write


Run = Callable[..., Outcome]


@pytest.fixture
def run(store: Store, engine: LocalRunner) -> Run:
    """One cycle of the one dataset in a manifest file, as ``odf run`` does it."""

    def run(manifest: Path, system_time: str = "2024-01-01T12:00:00Z", **options: object) -> Outcome:
        loaded = load([manifest])
        assert loaded.problems == ()
        (one,) = loaded.manifests
        cycle = Cycle(store, options.pop("runner", engine), Instant.parse(system_time), os.environ)
        (outcome,) = cycle.run([(one, bind(one.file, str(one.snapshot.alias)))])
        return outcome

    return run

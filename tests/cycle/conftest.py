"""A store, a source over HTTP, and one engine for all cycles of the test process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.run import run as run_cycle
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.source.options import Options
from tests.http_server import Server
from tests.s3 import use


@dataclass
class Publisher:
    """Puts versions of one text on a server, with an ETag and a Last-Modified."""

    server: Server

    def publish(self, text: str, modified: str, path: str = "/data.csv") -> str:
        """A new version of the text, last modified at an RFC 3339 time; its URL."""
        content = dedent(text).lstrip().encode()
        seconds = Instant.parse(modified).to_datetime().timestamp()
        return self.server.serve(path, content, etag=f'"{sha256(content).hexdigest()[:8]}"', modified=seconds)

    @property
    def url(self) -> str:
        return f"{self.server.url}/data.csv"


@pytest.fixture
def publisher(server: Server) -> Publisher:
    return Publisher(server)


@pytest.fixture(scope="session")
def engine() -> Iterator[LocalRunner]:
    with LocalRunner("local[2]") as runner:
        yield runner


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


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


TIME = Instant.parse("2024-01-01T12:00:00Z")


class NoEngine:
    """A runner for cycles that must do without an engine."""

    shares_disk = True

    def submit(self, *_: object) -> None:
        raise AssertionError("an engine was asked")


def cycle_of(
    store: Store, dataset: str | Manifest, runner: object = None, time: Instant = TIME, **options: object
) -> Cycle:
    """The configuration of a cycle of a manifest's dataset, or of a dataset by its name."""
    manifest = None if isinstance(dataset, str) else dataset
    name = dataset if isinstance(dataset, str) else str(dataset.snapshot.alias)
    defaults = {"environment": os.environ, "author": Author(time=str(time))}
    return Cycle(store, name, runner or NoEngine(), time, manifest, **defaults | options)


Run = Callable[..., Outcome]


@pytest.fixture
def run(store: Store, engine: LocalRunner) -> Run:
    """One cycle of the one dataset in a manifest file, as ``odf run`` does it, or with another contract; ``options``
    are those of polls."""

    def run(
        manifest: Path, system_time: str = "2024-01-01T12:00:00Z", contract: str | None = None, **options: object
    ) -> Outcome:
        loaded = load([manifest])
        assert loaded.problems == ()
        (one,) = loaded.manifests
        runner = options.pop("runner", engine)
        cycle = cycle_of(store, one, runner, Instant.parse(system_time), options=Options(**options))
        return run_cycle(replace(cycle, contract_file=contract))

    return run


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """URI of a new store."""
    use(s3, monkeypatch)
    monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
    return f"s3://bucket/{uuid4().hex}"


RunIn = Callable[..., Outcome]


@pytest.fixture
def run_in(engine: LocalRunner) -> RunIn:
    """One cycle of the one dataset in a manifest file, at an hour of a day."""

    def run_in(store: Store, manifest: Path, hour: int, runner: object = engine, **options: object) -> Outcome:
        (one,) = load([manifest]).manifests
        return run_cycle(cycle_of(store, one, runner, Instant.parse(f"2024-01-01T{hour:02}:00:00Z"), **options))

    return run_in


ORDERS = """\
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
"""


@pytest.fixture
def declare(store: Store, tmp_path: Path) -> Callable[..., None]:
    """Applies a manifest of the dataset ``orders`` with some sources."""

    def declare(*sources: str) -> None:
        (tmp_path / "orders.yaml").write_text(ORDERS + "".join(sources))
        loaded = load([tmp_path / "orders.yaml"])
        assert loaded.problems == ()
        apply(store, loaded.manifests[0], Instant.parse("2026-05-01T00:00:00Z"))

    return declare


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file to push."""
    (tmp_path / "a.ndjson").write_text('{"id": 1}\n')
    return tmp_path / "a.ndjson"

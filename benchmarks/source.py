"""Small CSV sources over HTTP, which change when told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

SCHEMA = "id BIGINT, name STRING, price DECIMAL(12,2), day DATE"
READ = "{kind: Csv, header: true, schema: [id BIGINT, name STRING, 'price DECIMAL(12,2)', day DATE]}"
SNAPSHOT = "{kind: Snapshot, primaryKey: [id]}"
LEDGER = "{kind: Ledger, primaryKey: [id]}"


@dataclass(frozen=True)
class Source:
    """A directory and the URL under which it is served."""

    directory: Path
    url: str

    def publish(self, name: str, version: int) -> str:
        """The URL of a file whose one row of its hundred is different in each version, and which grows by one row."""
        lines = [f"{i},name {i},{i}.50,{day(i)}" for i in range(100 + version)]
        lines[1] = f"1,name of version {version},1.50,2024-01-01"
        (self.directory / name).write_text("\n".join(["id,name,price,day", *lines]) + "\n")
        return f"{self.url}/{name}"


def day(number: int) -> date:
    """The day of a row."""
    return date(2024, 1, number % 28 + 1)


@contextmanager
def serve(directory: Path) -> Iterator[Source]:
    """The source, for as long as the context lasts."""
    directory.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.peers.server", json.dumps({"directory": str(directory)})]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield Source(directory, server.stdout.readline().strip())
        finally:
            server.terminate()

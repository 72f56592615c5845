"""Datasets of one example, whose roots get the same input in different cuts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.replay import replay_transforms
from airflow_provider_odf.cycle.run import run_all
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Root:
    """A root dataset: its columns of data, of which the first is the event time, and its merge strategy."""

    columns: tuple[str, ...]
    merge: str

    def manifest(self, name: str) -> str:
        schema = "".join(f"          - '{column}'\n" for column in self.columns)
        return f"""\
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {{kind: FilesGlob, path: in/{name}/*}}
      read:
        kind: NdJson
        schema:
{schema}      merge: {self.merge}
    - kind: SetVocab
      eventTimeColumn: {self.columns[0].split()[0]}
"""

    def text(self, rows: Sequence[Row]) -> str:
        """Return rows as a file of the source."""
        names = [column.split()[0].strip('"') for column in self.columns]
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


@dataclass(frozen=True)
class Example:
    """Roots, derivatives by name, the input of the roots in pieces, and the rows that must follow, without system
    columns. Times are written without their midnight."""

    roots: Mapping[str, Root]
    derivatives: Mapping[str, str]
    pieces: Sequence[Mapping[str, Sequence[Row]]]
    states: Mapping[str, Sequence[Row]]


class Folder:
    """The datasets of an example in a folder, as ``odf run`` computes them."""

    def __init__(self, path: Path, example: Example, engine: LocalRunner) -> None:
        self.path, self.example, self.engine = path, example, engine
        self.store = Store.open(path / "store")
        self.files = 0
        manifests = {name: root.manifest(name) for name, root in example.roots.items()} | dict(example.derivatives)
        for name, text in manifests.items():
            (path / f"{name}.yaml").write_text(text)
        self.loaded = load([path])
        assert self.loaded.problems == ()

    def add(self, *pieces: Mapping[str, Sequence[Row]]) -> None:
        """Put pieces of the input together in one file of each root."""
        self.files += 1
        for name, root in self.example.roots.items():
            if rows := [row for piece in pieces for row in piece.get(name, ())]:
                folder = self.path / "in" / name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{self.files}.ndjson").write_text(root.text(rows))

    def run(self) -> None:
        time = Instant.parse(f"2030-01-01T00:00:{self.files:02}Z")
        manifests = self.loaded.manifests
        cycles = [Cycle(self.store, str(m.snapshot.alias), self.engine, time, m, os.environ) for m in manifests]
        assert [str(outcome) for outcome in run_all(cycles) if outcome.error] == []

    def heads(self) -> dict[str, str | None]:
        return {str(dataset.alias): dataset.head() for dataset in self.store.datasets()}

    def states(self) -> dict[str, list[Row]]:
        """Return the current rows of the derivatives, without system columns, in order."""
        return {name: sorted(self._rows(name), key=repr) for name in self.example.derivatives}

    def _rows(self, name: str) -> list[Row]:
        dataset = self.store.dataset(name)
        hidden = replay(dataset).vocab.columns[:3]
        rows = ([v for k, v in row.items() if k not in hidden] for row in state_rows(dataset))
        return [tuple(_short(value) for value in row) for row in rows]

    def replay(self) -> None:
        """Compute all transformations again, and compare them."""
        for name in self.example.derivatives:
            replay_transforms(self.store, self.store.dataset(name), lambda r: self.engine.submit(r).result())


def _short(value: Any) -> Any:
    return value.removesuffix("Z").removesuffix("T00:00:00") if isinstance(value, str) else value

"""The product as benchmarks use it: manifests, stores, and the command line tool."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import Run, program

ODF = str(Path(sys.executable).with_name("odf"))


def manifest(path: Path, url: str, read: str, merge: str, prepare: str = "[]", preprocess: str = "null") -> Path:
    """A manifest file with a root dataset of the file's name; ``read``, ``merge``, ``prepare`` and ``preprocess`` are
    YAML, and so may be ``url``: a fetch step in braces."""
    fetch = url if url.startswith("{") else f'{{kind: Url, url: "{url}"}}'
    path.write_text(
        f"""kind: DatasetSnapshot
version: 1
content:
  name: {path.stem}
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {fetch}
      prepare: {prepare}
      read: {read}
      preprocess: {preprocess}
      merge: {merge}
""",
        encoding="utf-8",
    )
    return path


def run(store: Path | str, *arguments: Path | str, environment: Mapping[str, str] | None = None) -> Run:
    """``odf run`` of manifests, with options, as a user starts it."""
    return program(
        [ODF, "run", *map(str, arguments), "--store", str(store)], environment=os.environ | dict(environment or {})
    )


def inspect(command: str, name: str, store: Path | str, *options: str) -> Run:
    """``odf log``, ``odf verify`` and their like on one dataset."""
    return program([ODF, command, name, *options, "--store", str(store)])


def copy_store(store: Path, to: Path) -> Path:
    """A store that may be written to; files that never change are shared."""
    shutil.rmtree(to, ignore_errors=True)

    def copy(source: str, target: str) -> None:
        (os.link if os.path.getsize(source) > 100_000 else shutil.copy2)(source, target)

    shutil.copytree(store, to, copy_function=copy)
    return to

"""Manifests written by a test, loaded; problems and warnings as texts with the file's bare name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Loaded


@dataclass(frozen=True)
class Outcome:
    loaded: Loaded
    folder: Path

    @property
    def problems(self) -> list[str]:
        return [str(p).replace(f"{self.folder}/", "") for p in self.loaded.problems]

    @property
    def warnings(self) -> list[str]:
        return [str(p).replace(f"{self.folder}/", "") for p in self.loaded.warnings]

    @property
    def names(self) -> list[str]:
        return [m.snapshot.name for m in self.loaded.manifests]


@pytest.fixture
def outcome(tmp_path: Path) -> Callable[..., Outcome]:
    """Loads texts as files of a folder: one text as ``m.yaml``, or several by name."""

    def outcome(text: str = "", known: Callable[[str], bool] = lambda ref: False, **files: str) -> Outcome:
        named = {"m": text} if text else files
        for name, content in named.items():
            (tmp_path / f"{name}.yaml").write_text(dedent(content))
        return Outcome(load([tmp_path / f"{name}.yaml" for name in named], known=known), tmp_path)

    return outcome

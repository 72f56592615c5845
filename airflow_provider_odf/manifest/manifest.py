"""``Manifest``: a dataset as its file declares it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.model import DatasetSnapshot
from airflow_provider_odf.manifest.problems import locate

CONTENT = ("content",)


@dataclass(frozen=True)
class Manifest:
    """Dataset and the file that declares it. ``snapshot`` is in the chain's form, with each query in ``queries``."""

    snapshot: DatasetSnapshot
    file: Path
    document: Document = field(repr=False, compare=False)

    def place(self, *path: str | int) -> Place:
        """Return the place of a value of the snapshot: ``place("metadata", 0, "read", "ddl_schema", 2)``."""
        return place(self.document, path[1:] if path[:1] == CONTENT else path)


@dataclass(frozen=True)
class Loaded:
    """Result of loading files. A manifest with a problem is not among ``manifests``."""

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def place(document: Document, path: Sequence[str | int], offset: int = 0) -> Place:
    """Return the place of a value in the content of a document."""
    return document.place((*CONTENT, *locate(document.value["content"], path)), offset=offset)

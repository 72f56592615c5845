"""Columns that the newest file of a source has and its manifest does not declare, as edits of the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.inference.manifest_text import infer
from airflow_provider_odf.inference.yaml_lines import comment, scalar
from airflow_provider_odf.manifest import ddl, ddl_parser, model
from airflow_provider_odf.source import matching

if TYPE_CHECKING:
    from airflow_provider_odf.errors import Place
    from airflow_provider_odf.inference.column_types import ColumnType
    from airflow_provider_odf.manifest.manifest import Manifest


@dataclass(frozen=True)
class Undeclared:
    """Columns of a file, by name, that the schema at a place does not have."""

    place: Place
    file: str
    columns: tuple[tuple[str, ColumnType], ...]

    @property
    def lines(self) -> list[str]:
        """The lines that take the columns in, for the list of the schema."""
        return [
            f"- {scalar(f'{ddl_parser.quoted(name)} {column.sql}')}{comment(column.reason)}"
            for name, column in self.columns
        ]


def undeclared(manifest: Manifest) -> Undeclared | None:
    """Return the columns of the newest file of a manifest's polling source that its read schema does not declare; None
    if there are none, or if the manifest declares no columns.

    :raises InvalidInput: the file is not one that `odf new` reads, or the source is none of files.
    :raises SourceUnavailable: the URL cannot be fetched.
    """
    polling = manifest.snapshot.last(model.SetPollingSource)
    if polling is None or polling.read.ddl_schema is None:
        return None
    file = _newest_file(manifest, polling)
    if file is None:
        return None
    known = {_folded(column.name) for column in ddl.columns(polling.read) or ()}
    found = infer([file], "sample").types.items()
    columns = tuple((name, column) for name, column in found if _folded(name) not in known)
    at = manifest.snapshot.metadata.index(polling)
    return Undeclared(manifest.place("metadata", at, "read", "ddl_schema"), file, columns) if columns else None


def _folded(name: str) -> str:
    """Return the letters and digits of a name, by which columns of CSV are matched."""
    return "".join(c for c in name.lower() if c.isalnum())


def _newest_file(manifest: Manifest, polling: model.SetPollingSource) -> str | None:
    fetch, base = polling.fetch, manifest.file.parent
    if any(step.kind == "Pipe" for step in polling.prepare or ()) or fetch.kind not in ("Url", "FilesGlob"):
        raise InvalidInput(f"{manifest.file}: only files that are fetched as they are can be compared with the schema")
    if isinstance(fetch, model.FetchStepUrl):
        return fetch.url
    assert isinstance(fetch, model.FetchStepFilesGlob)  # noqa: S101 - the kinds above
    if object_stores.is_object(fetch.path):
        raise InvalidInput(f"{manifest.file}: files of a bucket are not compared with the schema")
    paths = [base / path for path in matching.paths(fetch.path, base)]
    newest = max((path for path in paths if path.is_file()), key=lambda path: path.name, default=None)
    return str(newest) if newest is not None else None

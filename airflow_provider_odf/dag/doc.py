"""What Airflow's UI says of a dataset: its description, source or inputs, merge strategy, schema and licence in
Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_odf.manifest import ddl, model

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.manifest.load import Manifest


def doc_md(manifest: Manifest, uri: str, contract: Path | None) -> str:
    """The DAG's documentation."""
    snapshot = manifest.snapshot
    info, licence = snapshot.last(model.SetInfo), snapshot.last(model.SetLicense)
    sections = [
        f"## {snapshot.name}",
        (info.description or "").strip() if info else "",
        "\n".join(_facts(manifest, uri, contract, licence)),
        "\n".join(_schema(manifest)),
    ]
    return "\n\n".join(section for section in sections if section)


def _facts(manifest: Manifest, uri: str, contract: Path | None, licence: model.SetLicense | None) -> Iterator[str]:
    snapshot = manifest.snapshot
    yield "| | |"
    yield "|---|---|"
    yield f"| Kind | {snapshot.kind} dataset |"
    source = snapshot.last(model.SetPollingSource)
    if source is not None:
        yield f"| Source | {_fetch(source.fetch)} |"
        yield f"| Merge | {_merge(source.merge)} |"
    transform = snapshot.last(model.SetTransform)
    if transform is not None:
        yield f"| Inputs | {', '.join(f'`{i.dataset_ref}`' for i in transform.inputs)} |"
    if contract is not None:
        yield f"| Data contract | `{contract.name}` |"
    if licence is not None:
        yield f"| Licence | [{_cell(licence.name)}]({licence.website_url}) |"
    yield f"| Manifest | `{manifest.file.name}` |"
    yield f"| Stored at | `{uri}` |"


def _schema(manifest: Manifest) -> Iterator[str]:
    source = manifest.snapshot.last(model.SetPollingSource)
    columns = ddl.columns(source.read) if source else None
    if not columns:
        return
    assert source is not None  # noqa: S101 - it has columns
    yield "**Columns as read**" if source.preprocess else "**Columns**"
    yield ""
    yield "| Name | Type |"
    yield "|---|---|"
    key = getattr(source.merge, "primary_key", ())
    for column in columns:
        yield f"| {_cell(column.name)}{' (key)' if column.name in key else ''} | `{_cell(column.type)}` |"


def _fetch(fetch: model.FetchStep) -> str:
    match fetch:
        case model.FetchStepUrl():
            return f"`{_without_secrets(fetch.url)}`"
        case model.FetchStepFilesGlob():
            return f"files `{_cell(fetch.path)}`"
        case model.FetchStepContainer():
            return f"container `{_cell(fetch.image)}`"
        case _:
            return fetch.kind


def _merge(merge: model.MergeStrategy) -> str:
    key = getattr(merge, "primary_key", ())
    return f"{merge.kind} by {', '.join(f'`{_cell(k)}`' for k in key)}" if key else merge.kind


def _without_secrets(url: str) -> str:
    """A URL without its user part, fit for a table cell."""
    parts = urlsplit(url)
    return _cell(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

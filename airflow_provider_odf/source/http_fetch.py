"""FetchStep::Url over http and https.

The state is the ETag, else Last-Modified, else the hash of the content. Sources without the first two are fetched each
time and compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.manifest.model import EventTimeSourceFromMetadata
from airflow_provider_odf.source import decompress, event_time, http, source_state
from airflow_provider_odf.source.context import FetchedFile, FetchResult
from airflow_provider_odf.source.download import Download
from airflow_provider_odf.source.http_session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.manifest.model import FetchStepUrl
    from airflow_provider_odf.source.context import Context


def fetch(step: FetchStepUrl, target: http.Target, context: Context) -> FetchResult:
    """Fetch the resource if it differs from the context's state.

    :raises SourceError: the server refuses, or the content does not have its declared encoding.
    :raises SourceUnavailable: the server cannot be reached, or the connection is lost.
    """
    with Session(target, context.options) as session:
        download = Download(session, context.directory / "download.part", context.options, context.tell)
        if not download.run(context.state):
            return FetchResult()
    path = _decoded(download, context)
    state = download.validators.state or source_state.content_hash(path)
    if source_state.is_same(state, context.state):
        return FetchResult()
    time = event_time.of(
        step.event_time or EventTimeSourceFromMetadata(),
        paths=(unquote(urlsplit(target.url).path),),
        modified=download.validators.last_modified,
        system_time=context.system_time,
    )
    return FetchResult((FetchedFile(path, time, state, target.label),))


def _decoded(download: Download, context: Context) -> Path:
    """Return the file without its content encoding."""
    raw, path = download.path, context.directory / "download"
    if download.encoding in ("", "identity"):
        return raw.rename(path)
    if download.encoding not in ("gzip", "x-gzip"):
        raise SourceError(f"{download.label}: the server sent content encoding {download.encoding!r} instead of gzip")
    if not decompress.is_gzip(raw):
        if not raw.stat().st_size:
            return raw.rename(path)
        raise SourceError(f"{download.label}: the server declares content encoding gzip, but the content is not gzip")
    decompress.gunzip(raw, path, download.label, context.options, context.tell)
    if context.unpacks_gzip and not decompress.is_gzip(path):
        # Some servers declare .gz files as an encoding: then the gzip of the manifest is what came over the wire.
        return raw.replace(path)
    raw.unlink()
    return path

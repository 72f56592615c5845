"""Whether a source has something new, asked without fetching it: what a waiting trigger does over and over.

The answer is a wake-up, not a promise: a source that says nothing about its version counts as changed, and the poll
that follows compares its content.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_odf.errors import OdfError, SourceError, SourceUnavailable
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import FetchStepFilesGlob, FetchStepUrl
from airflow_provider_odf.source import files_glob, local, states
from airflow_provider_odf.source.fetch import filled
from airflow_provider_odf.source.template import Environment

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.manifest.model import FetchStep, SourceState

_OK = 200


async def has_changed(
    step: FetchStep,
    *,
    base: Path,
    state: SourceState | None,
    environment: Mapping[str, str],
    client: httpx.AsyncClient | None = None,
) -> bool:
    """Whether a poll would find something beyond ``state``. A source that is not there yet has nothing new.

    Who asks often keeps a ``client``, and with it its connections.

    Over HTTP one conditional request is sent and no body is read; files are looked at, not opened. Sources of other
    kinds always count as changed.

    :raises InvalidInput: the step itself is wrong.
    :raises SourceError: the source refuses.
    :raises SourceUnavailable: the source cannot be asked now; asking again later may help.
    """
    if isinstance(step, FetchStepFilesGlob):
        return await asyncio.to_thread(_glob_has_changed, step, base, state)
    if not isinstance(step, FetchStepUrl):
        return True
    if step.cache is not None and state is not None:
        return False
    variables = Environment(environment)
    try:
        return await _url_has_changed(step, base, state, variables, client)
    except (SourceUnavailable, SourceError) as e:
        kind: type[OdfError] = SourceUnavailable if isinstance(e, SourceUnavailable) else SourceError
        raise kind(variables.redact(str(e))) from None


async def _url_has_changed(
    step: FetchStepUrl,
    base: Path,
    state: SourceState | None,
    environment: Environment,
    client: httpx.AsyncClient | None,
) -> bool:
    url, headers, label = filled(step, environment)
    path = local.path_of(url, base)
    if path is not None:
        return await asyncio.to_thread(_file_has_changed, path, state)
    if urlsplit(url).scheme not in ("http", "https"):
        return True
    from airflow_provider_odf.source import http  # files need no HTTP library

    response = await http.ask(http.Target(url, headers, label), http.conditional(state), client)
    if response.status_code in (http.NOT_MODIFIED, http.NOT_FOUND, http.GONE):
        return False
    if response.status_code != _OK:
        raise http.refusal(response, label)
    return not states.is_same(http.Validators.of(response.headers).state, state)


def _file_has_changed(path: Path, state: SourceState | None) -> bool:
    try:
        return not states.is_same(states.last_modified(local.modified(path.stat())), state)
    except OSError:
        return False


def _glob_has_changed(step: FetchStepFilesGlob, base: Path, state: SourceState | None) -> bool:
    return any(files_glob.is_new(file, state) for file in files_glob.listing(step, base, Instant.now()))

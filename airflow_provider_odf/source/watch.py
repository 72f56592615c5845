"""Check a source for a change without fetching it, as waiting triggers do again and again.

A change only wakes up a run: its poll compares for itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_odf import multiformats
from airflow_provider_odf.errors import OdfError, SourceError, SourceUnavailable
from airflow_provider_odf.file_status import status
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import FetchStepFilesGlob, FetchStepUrl
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source import files_glob, local, source_state
from airflow_provider_odf.source.fetch import fill

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.manifest.model import FetchStep, SourceState
    from airflow_provider_odf.source.options import Options

UNKNOWN = "unknown"
"""Version of a source that only a poll can compare: containers, FTP, long content without validators."""

LONGEST_COMPARED = 16 << 20
"""Maximum size of an HTTP response without validators that is read to compare it."""

FIRST_REMINDER, LONGEST_PAUSE = 300.0, 3600.0
"""Seconds after which a change that was not ingested is reported again; the pauses double from first to longest."""

_OK = 200


class ChangeFilter:
    """Selects which changes to report. A change that was not ingested is reported again with growing pauses: its run
    may have failed, or Airflow may have lost the event."""

    def __init__(self) -> None:
        self._reported: object = None
        self._due = self._pause = 0.0

    def should_report(self, version: object, now: float, *, longest: bool = False) -> bool:
        """Return whether to report a new ``version`` (None: nothing new) at time ``now`` in seconds. With ``longest``
        it is only repeated after the longest pause, for versions that do not indicate a change."""
        if version is None:
            self._reported = None
            return False
        if version != self._reported:
            self._reported, self._pause = version, LONGEST_PAUSE if longest else FIRST_REMINDER
        elif now < self._due:
            return False
        else:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._due = now + self._pause
        return True


async def check(
    step: FetchStep,
    *,
    base: Path,
    state: SourceState | None,
    environment: Mapping[str, str],
    options: Options,
    client: httpx.AsyncClient | None = None,
    rejected: Mapping[str, str] = MappingProxyType({}),
    discarded: Mapping[str, str] = MappingProxyType({}),
) -> str | None:
    """Return the version of the source's data after ``state``, or None if nothing is new. The text changes with the
    source. ``rejected`` and ``discarded`` are stamps by path of files of a glob that are not new.

    HTTP: one conditional request, and the body is only read without validators. Files are not opened. ``environment``
    is read in a thread. A ``client`` keeps connections between checks.

    :raises InvalidInput: the step is not valid.
    :raises SourceError: the source refuses.
    :raises SourceUnavailable: the source is unavailable now, or does not exist yet; retry later.
    """
    if isinstance(step, FetchStepFilesGlob):
        return await asyncio.to_thread(_check_glob, step, base, state, options, rejected, discarded)
    if not isinstance(step, FetchStepUrl):
        return UNKNOWN
    if step.cache is not None and state is not None:
        return None
    variables = Environment(environment)
    try:
        return await _check_url(step, base, state, variables, client, options)
    except (SourceUnavailable, SourceError) as e:
        kind: type[OdfError] = SourceUnavailable if isinstance(e, SourceUnavailable) else SourceError
        raise kind(variables.redact(str(e))) from None


async def _check_url(
    step: FetchStepUrl,
    base: Path,
    state: SourceState | None,
    environment: Environment,
    client: httpx.AsyncClient | None,
    options: Options,
) -> str | None:
    url, headers, label = await asyncio.to_thread(fill, step, environment)
    path = local.path_of(url, base)
    if path is not None:
        return await asyncio.to_thread(_check_file, path, label, state)
    if urlsplit(url).scheme not in ("http", "https"):
        return UNKNOWN
    from airflow_provider_odf.source import http, http_async  # files need no HTTP library

    async def read(response: httpx.Response) -> str | None:
        if response.status_code == http.NOT_MODIFIED:
            return None
        if response.status_code in (http.NOT_FOUND, http.GONE):
            raise SourceUnavailable(str(http.refusal(response, label)))
        if response.status_code != _OK:
            raise http.refusal(response, label)
        current = http.Validators.of(response.headers).state or await _content(response)
        if current is None:
            return UNKNOWN
        return None if source_state.is_same(current, state) else f"{current.kind} {current.value}"

    follows, setting = options.private_redirects, options.where("private_redirects")
    target = http.Target(url, headers, label, private_redirects=follows, redirects_setting=setting)
    return await http_async.ask(target, http.conditional(state), client, read)


async def _content(response: httpx.Response) -> SourceState | None:
    """Return the state of the content as a poll would record it, or None if it is too long to read each time."""
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > LONGEST_COMPARED:
        return None
    digest, size = hashlib.sha3_256(), 0
    async for piece in response.aiter_bytes():
        digest.update(piece)
        size += len(piece)
        if size > LONGEST_COMPARED:
            return None
    return source_state.content_of(multiformats.multihash(multiformats.SHA3_256, digest.digest()))


def _check_file(path: Path, label: str, state: SourceState | None) -> str | None:
    try:
        stat = status(path)
    except OSError as e:
        raise SourceError(f"{label}: {e.strerror}: {path}") from None
    if stat is None:
        raise SourceUnavailable(f"{label}: no such file")
    return None if source_state.is_same(source_state.last_modified(local.modified(stat)), state) else local.stamp(stat)


def _check_glob(
    step: FetchStepFilesGlob,
    base: Path,
    state: SourceState | None,
    options: Options,
    rejected: Mapping[str, str],
    discarded: Mapping[str, str],
) -> str | None:
    """Return the version of new files. It includes size and time, so it changes while a file is being written."""
    stamps = files_glob.stamps(step, base, state, options, system_time=Instant.now(), discarded=discarded)
    if stamps in ({}, rejected):
        return None
    return multiformats.sha3_256(json.dumps(list(stamps.items())).encode())

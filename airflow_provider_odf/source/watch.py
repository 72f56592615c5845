"""Whether a source has something new, asked without taking it in: what a waiting trigger does over and over.

The answer is a wake-up, not a promise: the poll that follows compares for itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_odf import multiformats
from airflow_provider_odf.errors import OdfError, SourceError, SourceUnavailable
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import FetchStepFilesGlob, FetchStepUrl
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source import files_glob, local, states
from airflow_provider_odf.source.fetch import filled

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.manifest.model import FetchStep, SourceState
    from airflow_provider_odf.source.options import Options

UNKNOWN = "unknown"
"""What is seen of a source that only a poll can compare: containers, FTP, long content of unknown version."""

LONGEST_COMPARED = 16 << 20
"""Bytes of an HTTP answer without validators that are read to compare them."""

FIRST_REMINDER, LONGEST_PAUSE = 300.0, 3600.0
"""Seconds after which a change that nobody took in is news again: the pauses double from the one to the other."""

_OK = 200


class Attention:
    """Tells news from what was told before. News that nobody takes in are told again, ever more rarely: the run that
    they started may have failed, or Airflow may have lost the event."""

    def __init__(self) -> None:
        self._told: object = None
        self._due = self._pause = 0.0

    def is_news(self, seen: object, now: float, *, longest: bool = False) -> bool:
        """Whether to tell at time ``now`` (seconds) of what is ``seen``, None being nothing; ``longest`` says that it
        is no sign of a change, and repeated after the longest pause only."""
        if seen is None:
            self._told = None
            return False
        if seen != self._told:
            self._told, self._pause = seen, LONGEST_PAUSE if longest else FIRST_REMINDER
        elif now < self._due:
            return False
        else:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._due = now + self._pause
        return True


async def look(
    step: FetchStep,
    *,
    base: Path,
    state: SourceState | None,
    environment: Mapping[str, str],
    options: Options,
    client: httpx.AsyncClient | None = None,
) -> str | None:
    """What a source has beyond ``state``, as a text that stays the same as long as the source does; None where it has
    nothing new.

    Over HTTP one conditional request is sent, and no body is read that validators speak for; files are looked at, not
    opened. ``environment`` is read in a thread. Who asks often keeps a ``client``, and with it its connections.

    :raises InvalidInput: the step itself is wrong.
    :raises SourceError: the source refuses.
    :raises SourceUnavailable: the source cannot be asked now, or is not there yet; asking again later may help.
    """
    if isinstance(step, FetchStepFilesGlob):
        return await asyncio.to_thread(_look_at_glob, step, base, state, options)
    if not isinstance(step, FetchStepUrl):
        return UNKNOWN
    if step.cache is not None and state is not None:
        return None
    variables = Environment(environment)
    try:
        return await _look_at_url(step, base, state, variables, client, options)
    except (SourceUnavailable, SourceError) as e:
        kind: type[OdfError] = SourceUnavailable if isinstance(e, SourceUnavailable) else SourceError
        raise kind(variables.redact(str(e))) from None


async def _look_at_url(
    step: FetchStepUrl,
    base: Path,
    state: SourceState | None,
    environment: Environment,
    client: httpx.AsyncClient | None,
    options: Options,
) -> str | None:
    url, headers, label = await asyncio.to_thread(filled, step, environment)
    path = local.path_of(url, base)
    if path is not None:
        return await asyncio.to_thread(_look_at_file, path, label, state)
    if urlsplit(url).scheme not in ("http", "https"):
        return UNKNOWN
    from airflow_provider_odf.source import http, http_ask  # files need no HTTP library

    async def read(response: httpx.Response) -> str | None:
        if response.status_code == http.NOT_MODIFIED:
            return None
        if response.status_code in (http.NOT_FOUND, http.GONE):
            raise SourceUnavailable(str(http.refusal(response, label)))
        if response.status_code != _OK:
            raise http.refusal(response, label)
        found = http.Validators.of(response.headers).state or await _content(response)
        if found is None:
            return UNKNOWN
        return None if states.is_same(found, state) else f"{found.kind} {found.value}"

    target = http.Target(url, headers, label, private_redirects=options.private_redirects)
    return await http_ask.ask(target, http.conditional(state), client, read)


async def _content(response: httpx.Response) -> SourceState | None:
    """The state that the content makes, as a poll would record it; None where it is too long to be read each time."""
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > LONGEST_COMPARED:
        return None
    digest, size = hashlib.sha3_256(), 0
    async for piece in response.aiter_bytes():
        digest.update(piece)
        size += len(piece)
        if size > LONGEST_COMPARED:
            return None
    return states.content_of(multiformats.multihash(multiformats.SHA3_256, digest.digest()))


def _look_at_file(path: Path, label: str, state: SourceState | None) -> str | None:
    stat = _stat(path)
    if stat is None:
        raise SourceUnavailable(f"{label}: no such file")
    return None if states.is_same(states.last_modified(local.modified(stat)), state) else _stamp(stat)


def _look_at_glob(step: FetchStepFilesGlob, base: Path, state: SourceState | None, options: Options) -> str | None:
    """New files with size and time: one that is still being written looks different at every turn."""
    new = [file for file in files_glob.listing(step, base, Instant.now(), options) if files_glob.is_new(file, state)]
    if not new:
        return None
    stamps = [(file.path, _stamp(stat)) for file in new if (stat := _stat(base / file.path))]
    return multiformats.sha3_256(json.dumps(stamps).encode())


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _stamp(stat: os.stat_result) -> str:
    return f"{stat.st_mtime_ns} {stat.st_size}"

"""How to fetch each kind of fetch step, and how to look for a change without fetching, as waiting triggers do.

A change only wakes up a run: its poll compares for itself. ``manifest/fetch_kinds.py`` has what manifests and lineage
know of a kind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import InvalidInput, OdfError, SourceError, SourceUnavailable
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source import container, files_glob, url
from airflow_provider_odf.source.fetching import UNKNOWN, Context, Fetch, Watched

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import FetchStep, SourceState
    from airflow_provider_odf.source.options import Options


async def _only_a_poll_can_tell(_step: FetchStep, _watched: Watched) -> str:
    return UNKNOWN


@dataclass(frozen=True)
class Fetcher:
    """Code for a kind of fetch step.

    ``prepare`` fills the templates of a step and returns how to fetch it. ``check`` returns the version of new data, or
    None if nothing is new. ``stamps`` returns those of the files that the next poll would fetch, by path; it is None
    for a kind whose inputs are not files of a folder.
    """

    prepare: Callable[[Any, Context], Fetch]
    check: Callable[[Any, Watched], Awaitable[str | None]] = _only_a_poll_can_tell
    stamps: Callable[..., dict[str, str]] | None = None


FETCHERS: Mapping[str, Fetcher] = {
    "Url": Fetcher(url.prepare, url.check),
    "FilesGlob": Fetcher(files_glob.prepare, files_glob.check, files_glob.stamps),
    "Container": Fetcher(container.prepare),
}
"""Kind of a fetch step -> its code. Steps of other kinds are refused."""


def fetch_of(step: FetchStep, context: Context) -> Fetch:
    """Return how to fetch a step.

    :raises InvalidInput: a template cannot be filled, or such steps are not supported.
    """
    fetcher = FETCHERS.get(step.kind)
    if fetcher is None:
        *others, last = FETCHERS
        raise InvalidInput(f"fetch step {step.kind} is not supported: use {', '.join(others)} or {last}")
    return fetcher.prepare(step, context)


def has_stamps(step: FetchStep) -> bool:
    """Return whether the inputs of a step are the files of a folder, which have stamps."""
    fetcher = FETCHERS.get(step.kind)
    return fetcher is not None and fetcher.stamps is not None


def stamps(
    step: FetchStep,
    base: Path,
    state: SourceState | None,
    options: Options,
    *,
    system_time: Instant,
    discarded: Mapping[str, str],
) -> dict[str, str] | None:
    """Return the stamps by path of the files that the next poll would fetch, without opening them; None for a source
    whose inputs have none.

    :raises InvalidInput: the order needs event times, and the step has none.
    :raises SourceError: a link leads out of the folder.
    """
    fetcher = FETCHERS.get(step.kind)
    if fetcher is None or fetcher.stamps is None:
        return None
    return fetcher.stamps(step, base, state, options, system_time=system_time, discarded=discarded)


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
    fetcher, variables = FETCHERS.get(step.kind), Environment(environment)
    if fetcher is None:
        return UNKNOWN
    try:
        return await fetcher.check(step, Watched(base, state, variables, options, client, rejected, discarded))
    except (SourceUnavailable, SourceError) as e:
        kind: type[OdfError] = SourceUnavailable if isinstance(e, SourceUnavailable) else SourceError
        raise kind(variables.redact(str(e))) from None

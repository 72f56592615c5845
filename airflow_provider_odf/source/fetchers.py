"""How to fetch each kind of fetch step, and how to look for a change without fetching, as waiting triggers do.

A change only wakes up a run: its poll compares for itself. ``manifest/fetch_kinds.py`` has what manifests and lineage
know of a kind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from airflow_provider_odf.errors import OdfError, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import fetch_kinds
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source.fetching import UNKNOWN, Context, Fetch, Watched

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import FetchStep, SourceState
    from airflow_provider_odf.source.options import Options


class Fetcher(Protocol):
    """Module that fetches the steps of a kind, imported at its first use: a poll of files needs no HTTP library.

    A module may also have ``check``, which returns the version of new data, or None if nothing is new; without it, only
    a poll can tell. A module whose inputs are the files of a folder has ``stamps``, which returns the stamps by path of
    the files that the next poll would fetch.
    """

    def prepare(self, step: Any, context: Context) -> Fetch:
        """Fill the templates of a step, and return how to fetch it."""


def _fetcher(step: FetchStep) -> Any:
    """Return the `Fetcher` of a step."""
    return import_module(f".{fetch_kinds.kind_of(step).module}", __package__)


def fetch_of(step: FetchStep, context: Context) -> Fetch:
    """Return how to fetch a step.

    :raises InvalidInput: a template cannot be filled, or a library is not installed.
    """
    fetcher: Fetcher = _fetcher(step)
    return fetcher.prepare(step, context)


def has_stamps(step: FetchStep) -> bool:
    """Return whether the inputs of a step are the files of a folder, which have stamps."""
    return hasattr(_fetcher(step), "stamps")


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
    if not has_stamps(step):
        return None
    found: dict[str, str] = _fetcher(step).stamps(
        step, base, state, options, system_time=system_time, discarded=discarded
    )
    return found


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
    look: Callable[[FetchStep, Watched], Awaitable[str | None]] | None = getattr(_fetcher(step), "check", None)
    if look is None:
        return UNKNOWN
    variables = Environment(environment)
    try:
        return await look(step, Watched(base, state, variables, options, client, rejected, discarded))
    except (SourceUnavailable, SourceError) as e:
        kind: type[OdfError] = SourceUnavailable if isinstance(e, SourceUnavailable) else SourceError
        raise kind(variables.redact(str(e))) from None

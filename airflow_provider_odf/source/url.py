"""FetchStep::Url: one file at a URL or path. `SCHEMES` has the module for each scheme."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from airflow_provider_odf import object_stores, redaction
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import fetch_kinds
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.source import local
from airflow_provider_odf.source.fetching import UNKNOWN, Address, Context, Fetch, Watched
from airflow_provider_odf.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStepUrl
    from airflow_provider_odf.manifest.template import Environment

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class _Scheme(Protocol):
    """Module that fetches the URLs of a scheme."""

    def prepare(self, address: Address, context: Context) -> Fetch:
        """Return how to fetch an address."""

    async def check(self, address: Address, watched: Watched) -> str | None:
        """Return the version of new data, None if nothing is new, or ``UNKNOWN`` if only a poll can tell."""


SCHEMES = {
    "file": "local",
    **dict.fromkeys(("http", "https"), "http_fetch"),
    **dict.fromkeys(("ftp", "ftps"), "ftp"),
    **dict.fromkeys(object_stores.SCHEMES, "objects"),
}
"""Scheme of a URL -> name of the module that fetches it, imported at its first use: a poll of files needs no HTTP
library."""


def prepare(step: FetchStepUrl, context: Context) -> Fetch:
    """Return how to fetch a step.

    :raises InvalidInput: a template cannot be filled, or the result is not a valid URL or header.
    """
    if step.cache is not None and context.state is not None:
        return Fetch(Context.result)
    address = fill(step, context.environment)
    scheme = _scheme(address.url)
    if scheme is None:
        *others, last = fetch_kinds.SCHEMES
        raise InvalidInput(f"{address.label}: unknown scheme: use {', '.join(others)} or {last}")
    return scheme.prepare(address, context)


async def check(step: FetchStepUrl, watched: Watched) -> str | None:
    """Return the version of new data, or None if nothing is new."""
    if step.cache is not None and watched.state is not None:
        return None
    address = await in_thread(fill, step, watched.environment)
    scheme = _scheme(address.url)
    return UNKNOWN if scheme is None else await scheme.check(address, watched)


def _scheme(url: str) -> _Scheme | None:
    name = SCHEMES.get("file" if local.is_local(url) else urlsplit(url).scheme)
    return None if name is None else cast(_Scheme, import_module(f"airflow_provider_odf.source.{name}"))


def fill(step: FetchStepUrl, environment: Environment) -> Address:
    """Return the address of a step.

    :raises InvalidInput: a template cannot be filled, or the result is not a valid URL or header.
    """
    label = urls.public(step.url)
    url = urls.fill(step.url, environment)
    try:
        urlsplit(url)
    except ValueError:
        raise urls.invalid(label) from None
    environment.hide(*redaction.literals(url))
    headers = tuple(
        (h.name, environment.fill(h.value, f"header {h.name} of {label}").strip(" ")) for h in step.headers or ()
    )
    for name, value in headers:
        if redaction.is_sensitive(name):
            environment.hide(value, value.rpartition(" ")[2])
        if not _HEADER_NAME.fullmatch(name):
            raise InvalidInput(f"{label}: {name!r} is not a valid header name")
        if not (value.isascii() and value.isprintable()):
            raise InvalidInput(f"header {name} of {label}: the value has line breaks or other invalid characters")
    return Address(step, url, headers, label)

"""Choose the code that fetches a step."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.manifest.model import FetchStepContainer, FetchStepFilesGlob, FetchStepUrl
from airflow_provider_odf.source import container, files_glob, local, source_state
from airflow_provider_odf.source.context import FetchResult

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStep
    from airflow_provider_odf.manifest.template import Environment
    from airflow_provider_odf.source.context import Context

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fetch:
    """How to fetch a step. ``texts`` are its texts with templates filled, ``is_kept`` whether a savepoint is worth
    its space, and ``askable`` the kinds of states that the source itself can compare."""

    run: Callable[[Context], FetchResult]
    texts: object = None
    is_kept: bool = False
    askable: frozenset[str] = frozenset()


def fetch_of(step: FetchStep, context: Context) -> Fetch:
    """Return how to fetch a step.

    :raises InvalidInput: a template cannot be filled, or such steps are not supported.
    """
    if isinstance(step, FetchStepFilesGlob):
        return Fetch(lambda context: files_glob.fetch(step, context))
    if isinstance(step, FetchStepUrl):
        return _url(step, context)
    if isinstance(step, FetchStepContainer):
        image = container.Image.of(step, context.environment)
        return Fetch(lambda context: container.fetch(image, context), texts=repr(image), is_kept=True)
    raise InvalidInput(f"fetch step {step.kind} is not supported: use Url, FilesGlob or Container")


def fill(step: FetchStepUrl, environment: Environment) -> tuple[str, Headers, str]:
    """Return URL and headers of a step with their templates filled, and the URL for messages: as written, without user
    and password.

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
    return url, headers, label


def _url(step: FetchStepUrl, context: Context) -> Fetch:
    url, headers, label = fill(step, context.environment)
    path = local.path_of(url, context.base)
    if path is not None:
        return Fetch(lambda context: local.fetch(step, path, label, context))
    scheme = urlsplit(url).scheme
    if scheme in ("ftp", "ftps"):
        from airflow_provider_odf.source import ftp

        return Fetch(lambda context: ftp.fetch(step, url, label, context), texts=url, is_kept=True)
    if scheme not in ("http", "https"):
        raise InvalidInput(f"{label}: unknown scheme: use http, https, ftp, ftps or file")
    from airflow_provider_odf.source import http, http_fetch  # a poll of files needs no HTTP library

    follows, setting = context.options.private_redirects, context.options.where("private_redirects")
    target = http.Target(url, headers, label, context.environment.redact, context.allows, follows, setting)
    return Fetch(
        run=lambda context: http_fetch.fetch(step, target, context),
        texts=[url, headers],
        is_kept=True,
        askable=frozenset((source_state.ETAG, source_state.LAST_MODIFIED)),
    )

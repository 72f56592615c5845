"""Paths and URIs that runs, XComs and templates may push: ``[odf] push_paths``.

A conf, an XCom and the values of a template come from users, who often may not log in to workers. The DAG author's own
text is trusted: a path or URI without a template, and the folder before the first template in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.fetch_kinds import REMOTE
from airflow_provider_odf.source import uris

NONE, ALL = "none", "*"
"""Values of the setting that allow only records, and every file that workers can read."""

_PORTS = {"http": 80, "https": 443, "ftp": 21, "ftps": 990}
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")
_TEMPLATE = re.compile(r"\{\{|\{%")


def parse(text: str) -> tuple[str, ...] | None:
    """Return the prefixes of a setting, or None if it allows everything.

    >>> parse("/data/in, https://example.org/drop")
    ('/data/in', 'https://example.org/drop')

    :raises ValueError: a prefix is neither an absolute path nor a URI of a scheme that can be pushed.
    """
    if text == ALL:
        return None
    prefixes = () if text.lower() == NONE else tuple(part.strip() for part in text.split(",") if part.strip())
    for prefix in prefixes:
        if not _is_prefix(prefix):
            kinds = ", ".join(REMOTE)
            raise ValueError(f"{prefix} is neither an absolute path nor a URI ({kinds}); {ALL} allows everything")
    return prefixes


def author_prefixes(data: Any) -> tuple[str, ...] | None:
    """Return the folders and URIs before the templates of an operator's ``data``, or None if it has no templates.

    >>> author_prefixes("/data/in/{{ ds }}.csv"), author_prefixes("/data/in.csv"), author_prefixes("{{ params.file }}")
    (('/data/in/',), None, ())
    """
    match data:
        case str():
            return _authored(data)
        case Mapping():
            return author_prefixes([value for key, value in data.items() if key in ("file", "uri")])
        case list() | tuple():
            parts = [author_prefixes(item) for item in data]
            outside = [part for part in parts if part is not None]
            literal = [item for item in data if isinstance(item, str) and author_prefixes(item) is None]
            return (*literal, *(prefix for part in outside for prefix in part)) if outside else None
        case _:
            return ()


def allows(uri: str, prefixes: Iterable[str]) -> bool:
    """Return whether a path or URI lies under one of the prefixes, after following symbolic links, also those in a
    folder."""
    path = uris.path_of(uri)
    if path is None:
        return any(_is_below(uri, prefix) for prefix in prefixes)
    roots = [Path(os.path.realpath(root)) for prefix in prefixes if (root := uris.path_of(prefix)) is not None]
    return _is_in(path, roots) and all(_is_in(file.path, roots) for file in uris.local_files(uri))


def check(pushed: Iterable[str], prefixes: Sequence[str] | None) -> None:
    """Check that all paths and URIs lie under the prefixes.

    :raises InvalidInput: one does not; the message does not tell whether it exists.
    """
    for uri in pushed:
        if prefixes is not None and not allows(uri, prefixes):
            allowed = ", ".join(prefixes) or "records"
            raise InvalidInput(f"{uris.shown(uri)}: [odf] push_paths does not allow it; allowed: {allowed}")


def _authored(text: str) -> tuple[str, ...] | None:
    template = _TEMPLATE.search(text)
    if template is None:
        return None
    folder = text[: text.rfind("/", 0, template.start()) + 1]
    return (folder,) if _is_prefix(folder) and folder.strip("/") not in ("", "file:") else ()


def _is_prefix(text: str) -> bool:
    parts = urlsplit(text)
    is_file = text.startswith("/") or parts.scheme == "file"
    return is_file or bool(parts.scheme in REMOTE and parts.hostname and not parts.query)


def _is_in(path: Path, roots: list[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)


def _is_below(uri: str, prefix: str) -> bool:
    """Return whether a URI has the server of another and lies, segment by segment, under its path.

    False with spaces, backslashes, encoded slashes or ``..``: servers and clients resolve them differently.
    """
    root, path = urlsplit(prefix).path.rstrip("/"), urlsplit(uri).path
    segments = [unquote(segment) for segment in path.split("/")]
    if _ODD.search(uri) or any(segment in (".", "..") or {*segment} & {"/", "\\"} for segment in segments):
        return False
    return _server(uri) == _server(prefix) and (path == root or path.startswith(f"{root}/"))


def _server(uri: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port, or scheme and bucket; the port is -1 if it is not a number."""
    parts = urlsplit(uri)
    if parts.scheme in object_stores.SCHEMES:
        return parts.scheme, parts.netloc, None
    try:
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return parts.scheme, parts.hostname, -1

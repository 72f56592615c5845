"""Which paths and URIs may come from outside a DAG's own text: ``[odf] push_paths``.

A conf, an XCom and what fills a template come from users, who often may not log in to workers. What the author of a DAG
wrote out is trusted: a path or URI without a template, and the folder before the first template in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.source import uris

NONE, ALL = "none", "*"
"""Settings that leave nothing but records, and everything that workers can read."""

_PORTS = {"http": 80, "https": 443, "ftp": 21, "ftps": 990}
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")
_TEMPLATE = re.compile(r"\{\{|\{%")


def parse(text: str) -> tuple[str, ...] | None:
    """The prefixes of a setting; None where it leaves everything open.

    >>> parse("/data/in, https://example.org/drop")
    ('/data/in', 'https://example.org/drop')

    :raises ValueError: a prefix is neither an absolute path nor a URI of a scheme that can be pushed.
    """
    if text == ALL:
        return None
    prefixes = () if text.lower() == NONE else tuple(part.strip() for part in text.split(",") if part.strip())
    for prefix in prefixes:
        if not _is_prefix(prefix):
            kinds = ", ".join(uris.REMOTE)
            raise ValueError(f"{prefix} is neither an absolute path nor a URI ({kinds}); {ALL} opens everything")
    return prefixes


def authored(data: Any) -> tuple[str, ...] | None:
    """The folders and URIs that the author of a DAG wrote out before the templates of an operator's ``data``; None
    where all of it is the author's own text.

    >>> authored("/data/in/{{ ds }}.csv"), authored("/data/in.csv"), authored("{{ params.file }}")
    (('/data/in/',), None, ())
    """
    match data:
        case str():
            return _authored(data)
        case Mapping():
            return authored([value for key, value in data.items() if key in ("file", "uri")])
        case list() | tuple():
            parts = [authored(item) for item in data]
            outside = [part for part in parts if part is not None]
            literal = [item for item in data if isinstance(item, str) and authored(item) is None]
            return (*literal, *(prefix for part in outside for prefix in part)) if outside else None
        case _:
            return ()


def allows(uri: str, prefixes: Iterable[str]) -> bool:
    """Whether a path or URI lies under one of the prefixes. Links of the file system are followed, also those in a
    folder."""
    path = uris.path_of(uri)
    if path is None:
        return any(_is_below(uri, prefix) for prefix in prefixes)
    roots = [Path(os.path.realpath(root)) for prefix in prefixes if (root := uris.path_of(prefix)) is not None]
    return _is_in(path, roots) and all(_is_in(file.path, roots) for file in uris.local_files(uri))


def check(pushed: Iterable[str], prefixes: Sequence[str] | None) -> None:
    """Passes where all of them lie under the prefixes.

    :raises InvalidInput: one does not; whether it exists is not said.
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
    return is_file or bool(parts.scheme in uris.REMOTE and parts.hostname and not parts.query)


def _is_in(path: Path, roots: list[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)


def _is_below(uri: str, prefix: str) -> bool:
    """Whether a URI is on the server of another and, segment by segment, under its path. Spaces, backslashes, packed
    slashes and steps upwards are not: servers and clients do not all read them as one path."""
    root, path = urlsplit(prefix).path.rstrip("/"), urlsplit(uri).path
    segments = [unquote(segment) for segment in path.split("/")]
    if _ODD.search(uri) or any(segment in (".", "..") or {*segment} & {"/", "\\"} for segment in segments):
        return False
    return _server(uri) == _server(prefix) and (path == root or path.startswith(f"{root}/"))


def _server(uri: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port; -1 where a port is no number."""
    parts = urlsplit(uri)
    try:
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return parts.scheme, parts.hostname, -1

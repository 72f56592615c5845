"""Which paths and URIs the conf of a run may name: ``[odf] push_paths``. Who may trigger a DAG is often not who may log
in to its workers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.source import handed

NONE = "none"
"""The setting that leaves nothing but records."""

_PORTS = {"http": 80, "https": 443, "ftp": 21, "ftps": 990}
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")


def parse(text: str) -> tuple[str, ...] | None:
    """The prefixes of a setting; None where it leaves everything open.

    >>> parse("/data/in, https://example.org/drop")
    ('/data/in', 'https://example.org/drop')

    :raises ValueError: a prefix is neither an absolute path nor a URI of a scheme that can be pushed.
    """
    if not text:
        return None
    prefixes = () if text.lower() == NONE else tuple(part.strip() for part in text.split(",") if part.strip())
    for prefix in prefixes:
        parts = urlsplit(prefix)
        if not (prefix.startswith("/") or (parts.scheme in handed.REMOTE and parts.hostname and not parts.query)):
            kinds = ", ".join(handed.REMOTE)
            raise ValueError(f"{prefix} is neither an absolute path nor a URI ({kinds}); {NONE} leaves only records")
    return prefixes


def check(uris: Iterable[str], prefixes: tuple[str, ...] | None) -> None:
    """Passes where all of them lie under the prefixes. Links of the file system are followed, also those in a folder.

    :raises InvalidInput: one does not; whether it exists is not said.
    """
    if prefixes is None:
        return
    for uri in uris:
        path = handed.path_of(uri)
        if path is None:
            is_allowed = any(_is_below(uri, prefix) for prefix in prefixes)
        else:
            roots = [Path(os.path.realpath(prefix)) for prefix in prefixes if prefix.startswith("/")]
            is_allowed = _is_in(path, roots) and all(_is_in(file.path, roots) for file in handed.local_files(uri))
        if not is_allowed:
            allowed = ", ".join(prefixes) or "records"
            raise InvalidInput(f"{handed.shown(uri)}: [odf] push_paths does not allow it; allowed: {allowed}")


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

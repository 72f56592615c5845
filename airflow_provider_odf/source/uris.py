"""Paths and URIs of pushed data: their files on this machine, and their form in messages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import url as urls

REMOTE = ("http", "https", "ftp", "ftps")


@dataclass(frozen=True)
class LocalFile:
    """A file and its name in the folder that was named."""

    path: Path
    relative: Path


def path_of(uri: str) -> Path | None:
    """Return the absolute path of a path or ``file:`` URI, or None for other schemes."""
    scheme = scheme_of(uri)
    if scheme not in ("", "file"):
        return None
    return Path(os.path.abspath(unquote(urlsplit(uri).path) if scheme else uri))


def local_files(uri: str) -> list[LocalFile]:
    """Return the files of a path or ``file:`` URI: itself, or those of a folder that Spark would read.

    :raises InvalidInput: there are none, or the URI has another scheme.
    """
    path = path_of(uri)
    if path is None:
        raise InvalidInput(
            f"{shown(uri)}: {scheme_of(uri)}: is an unknown scheme: use a path, or a URI of file, http, https or ftp"
        )
    if path.is_file():
        return [LocalFile(path, Path(path.name))]
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] not in "._")
    if not files:
        raise InvalidInput(f"{uri}: no such file, or no files in it")
    return [LocalFile(file, file.relative_to(path)) for file in files]


def shown(uri: str) -> str:
    """Return a URI without user, password and query, as messages show it. A path is shown as it is.

    >>> shown("https://me:secret@example.org/a.csv?sig=1a2b")
    'https://example.org/a.csv?***'
    """
    if not scheme_of(uri):
        return uri
    plain, separator, _ = uri.partition("?")
    return urls.public(plain) + ("?***" if separator else "")


def scheme_of(uri: str) -> str:
    """Return the scheme of a URI, or an empty text for a path."""
    scheme, separator, _ = uri.partition("://")
    if separator and scheme.isalnum():
        return scheme.lower()
    return "file" if uri.startswith("file:") else ""

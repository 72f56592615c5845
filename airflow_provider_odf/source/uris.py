"""Paths and URIs of pushed data: their local files, and their form in messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, urlsplit

from airflow_provider_odf import redaction
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.file_status import is_file, is_folder
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.manifest.fetch_kinds import REMOTE

_JDBC = re.compile(r"jdbc:\w*", re.IGNORECASE)


@dataclass(frozen=True)
class LocalFile:
    """A file and its path in the pushed folder."""

    path: Path
    relative: Path


def path_of(uri: str) -> Path | None:
    """Return the absolute path of a path or ``file:`` URI, or None for other schemes."""
    scheme = scheme_of(uri)
    if scheme not in ("", "file"):
        return None
    return Path(os.path.abspath(unquote(urlsplit(uri).path) if scheme else uri))


def local_files(uri: str) -> list[LocalFile]:
    """Return the file of a path or ``file:`` URI, or the files of a folder that Spark would read.

    :raises InvalidInput: there is no file, or the URI has another scheme.
    :raises StorageError: a file or folder cannot be read.
    """
    path = path_of(uri)
    if path is None:
        raise InvalidInput(
            f"{shown(uri)}: unknown scheme {scheme_of(uri)}: use a path, or a URI of file, {', '.join(REMOTE)}"
        )
    with storage_errors(path):
        if is_file(path):
            return [LocalFile(path, Path(path.name))]
        files = sorted(file for file in _below(path) if file.name[0] not in "._" and is_file(file))
    if not files:
        raise InvalidInput(f"{uri}: no such file, or a folder without files")
    return [LocalFile(file, file.relative_to(path)) for file in files]


def _below(folder: Path) -> Iterator[Path]:
    """Yield the entries of a folder and its subfolders, without links to folders."""

    def refuse(error: OSError) -> NoReturn:
        raise error

    if is_folder(folder):
        for place, _, names in os.walk(folder, onerror=refuse):
            yield from (Path(place, name) for name in names)


def shown(uri: str) -> str:
    """Return a URI without user, password and query, for messages. A path is returned unchanged.

    >>> shown("https://me:secret@example.org/a.csv?sig=1a2b")
    'https://example.org/a.csv?***'
    >>> shown("jdbc:oracle:thin:me/secret@db:1521/shop")
    'jdbc:oracle:***'
    """
    if not scheme_of(uri):
        return uri
    if jdbc := _JDBC.match(uri):
        return f"{jdbc[0]}:***"
    plain, separator, _ = uri.partition("?")
    return redaction.without_users(urls.public(plain)) + ("?***" if separator else "")


def scheme_of(uri: str) -> str:
    """Return the scheme of a URI, or an empty text for a path."""
    if _JDBC.match(uri):
        return "jdbc"
    scheme, separator, _ = uri.partition("://")
    if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return scheme.lower()
    return "file" if uri.startswith("file:") else ""

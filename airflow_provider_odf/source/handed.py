"""What somebody hands over, as files: paths and URIs, or records that come along with the request itself.

What is fetched, goes through prepare steps or shall outlive its original lies in a directory of its own; other files
are taken where they are.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.source import local, poll

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant

REMOTE = ("http", "https", "ftp", "ftps")

_QUERY = "${{ env.QUERY }}"
_FORMS = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"PAR1": "Parquet"}
_READERS = {"Parquet": ("Parquet",), "zip": ("EsriShapefile",), "gzip": ()}


@dataclass(frozen=True)
class Handed:
    """Files that are read together as one input; ``event_time`` is None where nothing says it."""

    paths: tuple[Path, ...]
    event_time: Instant | None = None


@dataclass(frozen=True)
class Taking:
    """How things are taken in. ``directory`` makes the directory for what does not stay where it is.

    ``prepare`` and ``event_time`` are those of a polling source, which push sources do not have."""

    directory: Callable[[], Path]
    system_time: Instant
    tell: Callable[[str], None]
    options: poll.Options
    prepare: Sequence[model.PrepStep] = ()
    event_time: model.EventTimeSource | None = None
    copies: bool = False
    """Copy files, too: whoever reads them comes later, or elsewhere."""
    allows: Callable[[str], bool] | None = None
    """Whether a redirect may lead to a URL, see `poll.poll`."""

    def take(self, uris: Iterable[str]) -> Handed:
        """The files of paths and URIs. A folder stands for the part files in it.

        :raises InvalidInput: there is no such file, or nothing here fetches such a URI.
        :raises SourceError: a URI cannot be fetched.
        """
        handed = [one for uri in uris for one in self._take(uri)]
        times = [one.event_time for one in handed if one.event_time is not None]
        return Handed(tuple(path for one in handed for path in one.paths), max(times, default=None))

    def _take(self, uri: str) -> list[Handed]:
        if _scheme(uri) in REMOTE:
            return [self._polled(uri, shown(uri))]
        files = local_files(uri)
        if self.prepare or self.event_time is not None:
            return [self._polled(file.path.as_uri(), str(file.path)) for file in files]
        if self.copies:
            return [Handed((self._copied(file),)) for file in files]
        return [Handed((file.path,)) for file in files]

    def _copied(self, file: LocalFile) -> Path:
        """A copy under the same relative name: files of one set know each other by name."""
        target = self._copies / file.relative
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise InvalidInput(f"{file.path}: another file of this name is handed over with it: rename one")
        local.copy(file.path, target, str(file.path))
        return target

    @cached_property
    def _copies(self) -> Path:
        return self.directory() / "files"

    def _polled(self, uri: str, label: str) -> Handed:
        """What a Url source of this URI would fetch and prepare. The query may hold keys: messages are without it."""
        plain, separator, query = uri.partition("?")
        step = model.FetchStepUrl(url=f"{plain}?{_QUERY}" if separator else uri, event_time=self.event_time)
        try:
            polled = poll.poll(
                step,
                self.prepare,
                base=Path.cwd(),
                state=None,
                system_time=self.system_time,
                work=self.directory(),
                dataset_id=None,
                environment={"QUERY": query},
                progress=lambda message: self.tell(_told(message)),
                allows=self.allows,
                options=self.options,
            )
        except OdfError as e:
            raise type(e)(_told(str(e))) from None
        if polled is None:
            raise InvalidInput(f"{label}: nothing came")
        (file,) = polled.files
        return Handed(file.paths, file.event_time if self.event_time is not None else None)


@dataclass(frozen=True)
class LocalFile:
    """A file and its name among those that it came with."""

    path: Path
    relative: Path


def path_of(uri: str) -> Path | None:
    """The absolute path that a path or ``file:`` URI means; None for other schemes."""
    scheme = _scheme(uri)
    if scheme not in ("", "file"):
        return None
    return Path(os.path.abspath(unquote(urlsplit(uri).path) if scheme else uri))


def local_files(uri: str) -> list[LocalFile]:
    """The files of a path or ``file:`` URI: itself, or a folder's, without those that Spark does not read either.

    :raises InvalidInput: there are none, or the URI has another scheme.
    """
    path = path_of(uri)
    if path is None:
        raise InvalidInput(
            f"{shown(uri)}: {_scheme(uri)}: is not known here: take a path, or a URI of file, http, https or ftp"
        )
    if path.is_file():
        return [LocalFile(path, Path(path.name))]
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] not in "._")
    if not found:
        raise InvalidInput(f"{uri}: no such file, or no files in it")
    return [LocalFile(file, file.relative_to(path)) for file in found]


def write_records(records: Sequence[Any], path: Path) -> Path:
    """The records as NdJson. Dates, times and decimals of Python become texts that readers take.

    :raises InvalidInput: a record is no object, or holds what JSON has no form for.
    """
    with path.open("w", encoding="utf-8") as file:
        for index, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise InvalidInput(f"records[{index}] is no object: {json.dumps(record, default=str)[:80]}")
            try:
                file.write(json.dumps(record, ensure_ascii=False, allow_nan=False, default=_text))
            except (TypeError, ValueError) as e:
                raise InvalidInput(f"records[{index}]: {e}") from None
            file.write("\n")
    return path


def check_form(path: Path, kind: str, label: str) -> None:
    """Passes unless a file shows by its first bytes that a reader of this kind is not for it.

    :raises InvalidInput: it does.
    """
    with path.open("rb") as file:
        begin = file.read(4)
    form = next((form for magic, form in _FORMS.items() if begin.startswith(magic)), None)
    if form is None or kind in _READERS[form]:
        return
    hint = "" if form == "Parquet" else ": push sources have no prepare steps, unpack it first"
    raise InvalidInput(f"{label}: is a {form} file, and the source reads {kind}{hint}")


def shown(uri: str) -> str:
    """A URI as messages may show it: without user, password and query. A path is shown as it is.

    >>> shown("https://me:secret@example.org/a.csv?sig=1a2b")
    'https://example.org/a.csv?***'
    """
    if not _scheme(uri):
        return uri
    plain, separator, _ = uri.partition("?")
    return urls.public(plain) + ("?***" if separator else "")


def _scheme(uri: str) -> str:
    """The scheme of a URI, empty for a path."""
    scheme, separator, _ = uri.partition("://")
    if separator and scheme.isalnum():
        return scheme.lower()
    return "file" if uri.startswith("file:") else ""


def _told(message: str) -> str:
    return message.replace(_QUERY, "***")


def _text(value: object) -> str:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")

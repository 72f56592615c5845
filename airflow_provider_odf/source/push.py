"""Files of pushed data: those of paths and URIs, or records that the push itself contains.

Fetched, prepared and copied files are in a directory of their own; other files are read in place.
"""

from __future__ import annotations

import datetime
import decimal
import glob
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.fetch_kinds import REMOTE
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.read_steps import COMPRESSIONS, READ_STEPS
from airflow_provider_odf.source import local, objects, poll
from airflow_provider_odf.source.fetching import Context
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.uris import LocalFile, local_files, scheme_of, shown

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant

_QUERY = "${{ env.QUERY }}"
_FORMS = {magic: name.lower() for name, magic in COMPRESSIONS.items()} | {
    row.magic: kind for kind, row in READ_STEPS.items() if row.magic not in (b"", *COMPRESSIONS.values())
}
"""First bytes of a file -> its form."""


@dataclass(frozen=True)
class InputFiles:
    """Files of one input, and their event time, or None if the source has none."""

    paths: tuple[Path, ...]
    event_time: Instant | None = None


@dataclass(frozen=True)
class Receiver:
    """Turns pushed paths and URIs into files. ``directory`` creates the directory for fetched and copied files.

    ``prepare`` and ``event_time`` are those of a polling source; push sources have neither."""

    directory: Callable[[], Path]
    system_time: Instant
    progress: Callable[[str], None]
    options: Options
    prepare: Sequence[model.PrepStep] = ()
    event_time: model.EventTimeSource | None = None
    copies: bool = False
    """Whether local files are copied, because they are read later or on another machine."""
    allows: Callable[[str], bool] | None = None
    """Whether a redirect may lead to a URL, see `Context.allows`."""

    def receive(self, uris: Iterable[str]) -> InputFiles:
        """Return the files of paths and URIs. A folder means the part files in it.

        :raises InvalidInput: there is no such file, or the scheme of a URI is not supported.
        :raises SourceError: a URI cannot be fetched.
        """
        inputs = [one for uri in uris for one in self._receive(uri)]
        times = [one.event_time for one in inputs if one.event_time is not None]
        return InputFiles(tuple(path for one in inputs for path in one.paths), max(times, default=None))

    def _receive(self, uri: str) -> list[InputFiles]:
        if object_stores.is_object(uri) and uri.endswith("/"):
            return [self._fetch(part, part) for part in self._part_objects(uri)]
        if scheme_of(uri) in REMOTE:
            return [self._fetch(uri, shown(uri))]
        files = local_files(uri)
        if self.prepare or self.event_time is not None:
            return [self._fetch(file.path.as_uri(), str(file.path)) for file in files]
        if self.copies:
            return [InputFiles((self._copy(file),)) for file in files]
        return [InputFiles((file.path,)) for file in files]

    def _part_objects(self, uri: str) -> list[str]:
        """Return the objects below a URI that ends with a slash, as of a folder."""
        paths = [entry.path for entry in objects.entries(f"{glob.escape(uri)}**", Path.cwd(), self.options)]
        parts = sorted(path for path in paths if not path.rpartition("/")[2].startswith("_"))
        if not parts:
            raise InvalidInput(f"{uri}: no objects below this URI")
        return parts

    def _copy(self, file: LocalFile) -> Path:
        """Return a copy with the same relative path, since files of a set refer to each other by name."""
        target = self._copies / file.relative
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise InvalidInput(f"{file.path}: another pushed file has the same name: rename one of them")
        local.copy(file.path, target, str(file.path))
        return target

    @cached_property
    def _copies(self) -> Path:
        return self.directory() / "files"

    def _fetch(self, uri: str, label: str) -> InputFiles:
        """Fetch and prepare a URI like a Url source. Messages omit its query, which may contain keys."""
        plain, separator, query = uri.partition("?")
        step = model.FetchStepUrl(url=f"{plain}?{_QUERY}" if separator else uri, event_time=self.event_time)
        try:
            result = poll.poll(
                step,
                self.prepare,
                Context(
                    base=Path.cwd(),
                    state=None,
                    system_time=self.system_time,
                    directory=self.directory(),
                    environment=Environment({"QUERY": query}),
                    tell=lambda message: self.progress(_without_query(message)),
                    options=self.options,
                    allows=self.allows,
                ),
            )
        except OdfError as e:
            raise type(e)(_without_query(str(e))) from None
        if result is None:
            raise InvalidInput(f"{label}: no data")
        (file,) = result.files
        return InputFiles(file.paths, file.event_time if self.event_time is not None else None)


def write_records(records: Sequence[Any], path: Path) -> Path:
    """Write records as NdJson and return the file. Dates, times and decimals become texts that readers accept.

    :raises InvalidInput: a record is not an object, or has a value that JSON cannot represent.
    """
    with path.open("w", encoding="utf-8") as file:
        for index, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise InvalidInput(f"records[{index}] is not an object: {json.dumps(record, default=str)[:80]}")
            try:
                file.write(json.dumps(record, ensure_ascii=False, allow_nan=False, default=_text))
            except (TypeError, ValueError) as e:
                raise InvalidInput(f"records[{index}]: {e}") from None
            file.write("\n")
    return path


def check_form(path: Path, kind: str, label: str) -> None:
    """Check that the first bytes of a file fit the kind of reader.

    :raises InvalidInput: the file has another format.
    """
    with path.open("rb") as file:
        begin = file.read(max(map(len, _FORMS)))
    magic = next((magic for magic in _FORMS if begin.startswith(magic)), None)
    if magic is None or magic == READ_STEPS[kind].magic:
        return
    form = _FORMS[magic]
    hint = "" if form in READ_STEPS else ": decompress it first, since push sources have no prepare steps"
    raise InvalidInput(f"{label}: is a {form} file, but the source reads {kind}{hint}")


def _without_query(message: str) -> str:
    return message.replace(_QUERY, "***")


def _text(value: object) -> str:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise TypeError(f"JSON cannot represent a {type(value).__name__}")

"""A sample of a source: its rows, and the read step that reads them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.errors import InvalidInput, SourceUnavailable

MAX_BYTES = 64 << 20
"""Largest sample."""

_SEPARATORS = (",", ";", "\t", "|")
_COMPRESSED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip or xlsx", b"BZh": "bzip2", b"\xfd7zX": "xz"}


@dataclass(frozen=True)
class Sample:
    """Rows of a file: texts or None for CSV, JSON values, or Python values of Parquet."""

    place: str
    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the read step, by name in a manifest."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Option -> why it was chosen."""

    @property
    def is_text(self) -> bool:
        return self.kind == "Csv"

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, None for null."""
        at = self.columns.index(column)
        return [row[at] for row in self.rows]


def read(place: str) -> Sample:
    """Return the sample at a path or URL.

    :raises InvalidInput: the file does not exist, is too large, has no rows, or no form that ``odf`` reads.
    :raises SourceUnavailable: the URL cannot be fetched.
    """
    data = _fetch(place)
    if compression := next((name for magic, name in _COMPRESSED.items() if data.startswith(magic)), None):
        raise InvalidInput(f"{place}: the file is {compression}: extract it, and use the file in it as the sample")
    sample = _parquet(place, data) if data.startswith(b"PAR1") else _text(place, data)
    if not sample.rows:
        raise InvalidInput(f"{place}: the sample has no rows: use a file with typical rows")
    return sample


def _fetch(place: str) -> bytes:
    url = urlsplit(place)
    if url.scheme in ("http", "https"):
        return _download(place)
    path = Path(unquote(url.path)) if url.scheme == "file" else Path(place).expanduser()
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{place}: a sample has at most {MAX_BYTES >> 20} MiB: use the first rows of the file")
        return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"{place}: {e.strerror}: check the path of the sample") from e


def _download(url: str) -> bytes:
    import httpx

    try:
        with httpx.stream("GET", url, follow_redirects=True, timeout=30) as response:
            response.raise_for_status()
            data = bytearray()
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise InvalidInput(f"{url}: a sample has at most {MAX_BYTES >> 20} MiB: use a file of first rows")
            return bytes(data)
    except httpx.HTTPError as e:
        raise SourceUnavailable(f"{url}: {e}: check the URL of the sample") from e


def _parquet(place: str, data: bytes) -> Sample:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as e:
        raise InvalidInput(f"{place}: not a readable Parquet file: {e}") from e
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return Sample(place, "Parquet", tuple(table.column_names), tuple(rows))


def _text(place: str, data: bytes) -> Sample:
    text, encoding = _decoded(place, data)
    options, reasons = {}, {}
    if encoding != "utf-8":
        options["encoding"], reasons["encoding"] = encoding, "the bytes are not UTF-8"
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return _json(place, text, options, reasons)
    return _csv(place, text, options, reasons)


def _decoded(place: str, data: bytes) -> tuple[str, str]:
    if b"\0" in data:
        raise InvalidInput(f"{place}: neither text nor Parquet: `odf new` reads CSV, JSON, GeoJSON and Parquet")
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace"), "windows-1252"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json(place: str, text: str, options: dict[str, Any], reasons: dict[str, str]) -> Sample:
    try:
        document = json.loads(text)
    except ValueError:
        return _json_lines(place, text, options, reasons)
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        return _features(place, "GeoJson", document.get("features", []))
    path, records = _records(document)
    if records is None:  # a file with one line
        return _json_lines(place, text, options, reasons)
    if path:
        options["subPath"], reasons["subPath"] = path, "the rows are in this array"
    return _objects(place, "Json", records, options, reasons)


def _records(document: Any) -> tuple[str, list[Any] | None]:
    """Return the path and the items of the first array of objects in a document."""
    if isinstance(document, list):
        return "", document
    for key, value in document.items() if isinstance(document, dict) else ():
        path, records = _records(value) if isinstance(value, dict | list) else ("", None)
        if records and all(isinstance(record, dict) for record in records):
            return f"{key}.{path}".rstrip("."), records
    return "", None


def _json_lines(place: str, text: str, options: dict[str, Any], reasons: dict[str, str]) -> Sample:
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            records += [json.loads(line)] if line.strip() else []
        except ValueError as e:
            raise InvalidInput(f"{place}:{number}: neither a JSON document nor JSON lines: {e}") from None
    if records and all(isinstance(r, dict) and r.get("type") == "Feature" for r in records):
        return _features(place, "NdGeoJson", records)
    return _objects(place, "NdJson", records, options, reasons)


def _features(place: str, kind: str, features: Sequence[Any]) -> Sample:
    return _objects(place, kind, [{**f.get("properties", {}), "geometry": f.get("geometry")} for f in features], {}, {})


def _objects(place: str, kind: str, records: Sequence[Any], options: dict[str, Any], reasons: dict[str, str]) -> Sample:
    if not all(isinstance(record, dict) for record in records):
        raise InvalidInput(f"{place}: the rows must be JSON objects")
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    rows = tuple(tuple(record.get(name) for name in columns) for record in records)
    return Sample(place, kind, columns, rows, options, reasons)


# --- CSV ------------------------------------------------------------------------------------------------------------


def _csv(place: str, text: str, options: dict[str, Any], reasons: dict[str, str]) -> Sample:
    from airflow_provider_odf.inference.column_types import is_value

    separator = _separator(text)
    records = [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(record)]
    if not records:
        raise InvalidInput(f"{place}: the sample is empty: use a file with typical rows")
    if separator != ",":
        options["separator"], reasons["separator"] = separator, "most values of the first line are between these"
    width = len(records[0])
    for number, record in enumerate(records, 1):
        if len(record) != width:
            what = f"record {number} has {len(record)} values, but the first one has {width}"
            raise InvalidInput(f"{place}: {what}: the file is no CSV, or has lines above its header: remove these")
    has_header = not any(is_value(cell) for cell in records[0])
    options["header"] = has_header
    reasons["header"] = "the first line has names" if has_header else "the first line has values"
    names = records[0] if has_header else [""] * width
    rows = tuple(tuple(cell if cell != "" else None for cell in record) for record in records[has_header:])
    return Sample(place, "Csv", tuple(_names(names)), rows, options, reasons)


def _separator(text: str) -> str:
    lines = [line for line in text.splitlines()[:20] if line.strip()] or [""]
    return max(_SEPARATORS, key=lambda s: (min(line.count(s) for line in lines), lines[0].count(s)))


def _names(header: Sequence[str]) -> Iterator[str]:
    """Yield names for SQL that have the letters and digits of the header, by which columns are matched."""
    seen: set[str] = set()
    for number, text in enumerate(header, 1):
        words = "".join(c if c.isalnum() else " " for c in text).split()
        name = "_".join(words).lower() or f"column_{number}"
        name = next(n for n in (name, *(f"{name}_{i}" for i in range(2, len(header) + 2))) if n not in seen)
        seen.add(name)
        yield name

"""Samples of a source: their rows, the read step that reads them, and the key and the merge strategy that fit them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import IO, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput, SourceUnavailable
from airflow_provider_odf.inference.column_types import ColumnType, is_value
from airflow_provider_odf.source import decompress
from airflow_provider_odf.wording import counted, listed

MAX_BYTES = 64 << 20
"""Largest sample."""

Options: TypeAlias = dict[str, tuple[Any, str]]
"""Options of the read step by name in a manifest, each with the reason why it was chosen."""

_SEPARATORS = (",", ";", "\t", "|")
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_COMPRESSED = {b"BZh": "bzip2", b"\xfd7zX": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_XLSX = "xl/workbook.xml"
"""A file that every workbook of Excel has."""
_WIDEST_KEY = 3
_MOST_COLUMNS = 8
"""Columns of which combinations are tried."""

_NAMES = ("id", "key", "code", "uuid", "number", "no", "nr", "sku", "name")


@dataclass(frozen=True)
class Archive:
    """How a file is compressed: ``Gzip`` or ``Zip``, and the file in it, if it has several."""

    form: str
    path: str | None = None


@dataclass(frozen=True)
class Sample:
    """Rows of a file: texts or None for CSV, JSON values, or Python values of Parquet. ``headers`` are the names in the
    file of columns that have others; ``archive`` is the Decompress step of a compressed file."""

    place: str
    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    options: Options = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    archive: Archive | None = None

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
    :raises StorageError: the object cannot be read.
    """
    data, archive = _extracted(place, _fetch(place))
    if compression := next((name for magic, name in _COMPRESSED.items() if data.startswith(magic)), None):
        raise InvalidInput(f"{place}: the file is {compression}: extract it, and use the file in it as the sample")
    sample = _parquet(place, data) if data.startswith(b"PAR1") else _text(place, data)
    if not sample.rows:
        raise InvalidInput(f"{place}: the sample has no rows: use a file with typical rows")
    return replace(sample, archive=archive)


def _extracted(place: str, data: bytes) -> tuple[bytes, Archive | None]:
    """Return the content of a file, and how it is compressed."""
    try:
        if data.startswith(_GZIP):
            with gzip.open(io.BytesIO(data)) as stream:
                return _limited(place, stream), Archive("Gzip")
        if data.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                chosen, is_only = _largest(place, archive)
                with archive.open(chosen) as stream:
                    return _limited(place, stream), Archive("Zip", None if is_only else chosen)
    except (*decompress.ZIP_ERRORS, RuntimeError) as e:  # the last one of passwords and unknown methods
        raise InvalidInput(f"{place}: the file cannot be extracted: {e}") from e
    return data, None


def _largest(place: str, archive: zipfile.ZipFile) -> tuple[str, bool]:
    """Return the name of the largest file of an archive, and whether it is the only one."""
    files = filter(decompress.is_file, archive.infolist())
    sizes = {entry.filename: entry.file_size for entry in files if entry.file_size}
    if _XLSX in sizes:
        raise InvalidInput(
            f"{place}: the file is a workbook of Excel, which no read step reads: save its sheet as CSV, or convert it "
            "in a Pipe step of the manifest, or in a task before PushSourceOperator"
        )
    if not sizes:
        raise InvalidInput(f"{place}: the zip file has no file with content")
    return max(sizes, key=lambda name: sizes[name]), len(sizes) == 1


def _limited(place: str, stream: IO[bytes] | gzip.GzipFile) -> bytes:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{place}: a sample has at most {MAX_BYTES >> 20} MiB: use the first rows of the file")
    return data


def _fetch(place: str) -> bytes:
    url = urlsplit(place)
    if url.scheme in ("http", "https"):
        return _download(place)
    if object_stores.is_object(place):
        return _object(place)
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


def _object(uri: str) -> bytes:
    bucket, key = object_stores.split(uri)
    with object_stores.errors(uri):
        try:
            result = object_stores.client(bucket).get(key)
        except FileNotFoundError:
            raise InvalidInput(f"{uri}: no such object or bucket: check the URI of the sample") from None
        if result.meta["size"] > MAX_BYTES:
            raise InvalidInput(f"{uri}: a sample has at most {MAX_BYTES >> 20} MiB: use an object of first rows")
        return bytes(result.bytes())


def _parquet(place: str, data: bytes) -> Sample:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
        rows = tuple(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return Sample(place, "Parquet", tuple(table.column_names), rows)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as e:  # the last two for texts and times
        raise InvalidInput(f"{place}: not a readable Parquet file: {e}") from e


def _text(place: str, data: bytes) -> Sample:
    text, encoding = _decoded(place, data)
    options: Options = {}
    if encoding != "utf-8":
        options["encoding"] = encoding, "the bytes are not UTF-8"
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return _json(place, text, options)
    return _csv(place, text, options)


def _decoded(place: str, data: bytes) -> tuple[str, str]:
    if b"\0" in data:
        raise InvalidInput(f"{place}: neither text nor Parquet: `odf new` reads CSV, JSON, GeoJSON and Parquet")
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace"), "windows-1252"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json(place: str, text: str, options: Options) -> Sample:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _json_lines(place, text, options)
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        return _features(place, "GeoJson", document.get("features", []))
    path, records = _records(document)
    if records is None:  # a file with one line
        return _json_lines(place, text, options)
    if path:
        options["subPath"] = path, "the rows are in this array"
    return _objects(place, "Json", records, options)


def _records(document: Any) -> tuple[str, list[Any] | None]:
    """Return the path and the items of the first array of objects in a document."""
    if isinstance(document, list):
        return "", document
    for key, value in document.items() if isinstance(document, dict) else ():
        path, records = _records(value) if isinstance(value, dict | list) else ("", None)
        if records and all(isinstance(record, dict) for record in records):
            return f"{key}.{path}".rstrip("."), records
    return "", None


def _json_lines(place: str, text: str, options: Options) -> Sample:
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            records += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as e:
            raise InvalidInput(f"{place}:{number}: neither a JSON document nor JSON lines: {e}") from None
    if records and all(isinstance(r, dict) and r.get("type") == "Feature" for r in records):
        return _features(place, "NdGeoJson", records)
    return _objects(place, "NdJson", records, options)


def _features(place: str, kind: str, features: Any) -> Sample:
    if not isinstance(features, list) or not all(
        isinstance(f, dict) and isinstance(f.get("properties") or {}, dict) for f in features
    ):
        raise InvalidInput(f"{place}: the features must be GeoJSON Features")
    records = [{**(f.get("properties") or {}), "geometry": f.get("geometry")} for f in features]
    if all(record["geometry"] is None for record in records):  # a column without any value says nothing
        records = [{name: value for name, value in record.items() if name != "geometry"} for record in records]
    return _objects(place, kind, records, {})


def _objects(place: str, kind: str, records: Sequence[Any], options: Options) -> Sample:
    if not all(isinstance(record, dict) for record in records):
        raise InvalidInput(f"{place}: the rows must be JSON objects")
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    rows = tuple(tuple(record.get(name) for name in columns) for record in records)
    return Sample(place, kind, columns, rows, options)


# --- CSV ------------------------------------------------------------------------------------------------------------


def _csv(place: str, text: str, options: Options) -> Sample:
    separator = _separator(text)
    reader, limit = csv.reader(io.StringIO(text, newline=""), delimiter=separator), csv.field_size_limit(MAX_BYTES)
    try:
        records = [record for record in reader if any(record)]
    except csv.Error as e:
        raise InvalidInput(f"{place}:{reader.line_num}: the file is no CSV: {e}") from None
    finally:
        csv.field_size_limit(limit)
    if not records:
        raise InvalidInput(f"{place}: the sample is empty: use a file with typical rows")
    if separator != ",":
        options["separator"] = separator, "most values of the first line are between these"
    width = len(records[0])
    for number, record in enumerate(records, 1):
        if len(record) != width:
            what = f"record {number} has {len(record)} values, but the first one has {width}"
            raise InvalidInput(f"{place}: {what}: the file is no CSV, or has lines above its header: remove these")
    has_header = not any(is_value(cell) for cell in records[0])
    options["header"] = has_header, "the first line has names" if has_header else "the first line has values"
    names = records[0] if has_header else [""] * width
    rows = tuple(tuple(cell if cell != "" else None for cell in record) for record in records[has_header:])
    columns = tuple(_names(names))
    headers = {column: name for column, name in zip(columns, names, strict=True) if name and column != name.lower()}
    return Sample(place, "Csv", columns, rows, options, headers)


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


# --- key and strategy -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merge:
    """Merge strategy with its key, and the column of event times if it has one."""

    kind: str
    key: tuple[str, ...]
    reasons: tuple[str, ...]
    event_time: str | None = None


def merge_of(samples: Sequence[Sample], types: Mapping[str, ColumnType]) -> Merge:
    """Return the merge strategy that fits samples of a source, the oldest first."""
    candidates = list(_keys(samples, types))
    times = [n for n, t in types.items() if t.sql in ("DATE", "TIMESTAMP") and is_full(samples, n)]
    time = times[0] if times else None
    if not candidates:
        why = ". ".join(
            ["no columns have unique values without nulls, so there is no key: rows are added", *_again(samples)]
        )
        return Merge("Append", (), (why,), time)
    key = candidates[0]
    kind, why = _strategy(samples, key, time)
    return Merge(kind, key, (why, _about(key, candidates[1:5], samples)), time if kind == "Ledger" else None)


def _about(key: Sequence[str], others: Sequence[Sequence[str]], samples: Sequence[Sample]) -> str:
    where = {1: "the sample", 2: "both samples"}.get(len(samples), "all samples")
    about = f"{', '.join(key)} {'is' if len(key) == 1 else 'are'} unique and never null in {where}"
    also = [other[0] if len(other) == 1 else f"({', '.join(other)})" for other in others]
    return f"{about}, as {'are' if len(also) > 1 else 'is'} {listed(also)}" if also else about


def _strategy(samples: Sequence[Sample], key: Sequence[str], time: str | None) -> tuple[str, str]:
    if len(samples) == 1:
        return "Snapshot", (
            "assumes that each file has all current rows. If files have only new rows, use Ledger. "
            "A second sample, `odf new A B`, shows it"
        )
    before, after = (_by_key(sample, key, samples[0].columns) for sample in (samples[0], samples[-1]))
    shared = before.keys() & after.keys()
    changed, gone = sum(before[k] != after[k] for k in shared), len(before) - len(shared)
    if changed:
        first_and_last = "both samples" if len(samples) == 2 else "the first and the last sample"
        return "Snapshot", f"{counted(changed, 'row')} of {first_and_last} changed under the same key"
    if not shared:
        return "Ledger", f"the {_last(samples)} sample has only new keys, so each file has new rows"
    if gone:
        return "Snapshot", f"{counted(gone, 'row')} of the first sample disappeared"
    if time is not None and len(after) > len(before):
        return "Ledger", f"rows were only added, and {time} has their times"
    return "Snapshot", "nothing shows that rows are events: they have no times, or none was added"


def _last(samples: Sequence[Sample]) -> str:
    return "second" if len(samples) == 2 else "last"


def _again(samples: Sequence[Sample]) -> Iterator[str]:
    if len(samples) > 1 and (again := len(set(map(repr, samples[0].rows)) & set(map(repr, samples[-1].rows)))):
        what = f"the {_last(samples)} sample repeats {counted(again, 'row')} of the first one"
        yield f"{what}, which would be added again"


def _by_key(sample: Sample, key: Sequence[str], columns: Sequence[str]) -> dict[tuple[Any, ...], str]:
    keys = zip(*(sample.values(name) for name in key), strict=True)
    places = [sample.columns.index(name) if name in sample.columns else None for name in columns]
    rows = (repr([None if at is None else row[at] for at in places]) for row in sample.rows)
    return dict(zip(keys, rows, strict=True))


def _keys(samples: Sequence[Sample], types: Mapping[str, ColumnType]) -> Iterator[tuple[str, ...]]:
    """Yield the narrowest keys, the likeliest first."""
    usable = [n for n, t in types.items() if t.sql not in ("DOUBLE", "BOOLEAN") and "nested" not in t.reason]
    usable = sorted((n for n in usable if is_full(samples, n)), key=lambda n: _rank(n, types[n], list(types)))
    for width in range(1, _WIDEST_KEY + 1):
        # Of several columns, the first ones say what a row is about; the last ones are measured.
        columns = usable if width == 1 else [n for n in types if n in usable][:_MOST_COLUMNS]
        keys = [key for key in combinations(columns, width) if all(_is_unique(s, key) for s in samples)]
        if keys:
            yield from keys
            return


def _rank(name: str, kind: ColumnType, order: Sequence[str]) -> tuple[bool, bool, int]:
    is_named = name.lower().split("_")[-1] in _NAMES or name.lower().endswith("id")
    return kind.sql in ("DATE", "TIMESTAMP") or kind.sql.startswith("DECIMAL"), not is_named, order.index(name)


def is_full(samples: Sequence[Sample], name: str) -> bool:
    """Return whether all samples have a column, and no null in it."""
    return all(name in s.columns and None not in s.values(name) for s in samples)


def _is_unique(sample: Sample, key: Sequence[str]) -> bool:
    try:
        values = list(zip(*(sample.values(name) for name in key), strict=True))
        return len(set(values)) == len(values)
    except TypeError:  # nested values
        return False

"""A manifest as YAML, with the reason of each choice as a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from textwrap import wrap
from typing import Any

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.inference.column_types import ColumnType, json_type, null_text, one_format, text_type
from airflow_provider_odf.inference.sample import Merge, Options, Sample, merge_of, read
from airflow_provider_odf.manifest import ddl_parser
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.wording import counted

_SYSTEM = {
    "offset": "offsetColumn",
    "op": "operationTypeColumn",
    "system_time": "systemTimeColumn",
    "event_time": "eventTimeColumn",
}


def manifest(places: Sequence[str], name: str | None = None, folder: Path | None = None) -> str:
    """Return the manifest of a source, inferred from one or two samples.

    :param places: paths or URLs of samples, the older one first.
    :param name: name of the dataset, by default made from the first sample's.
    :param folder: folder of the manifest, to which paths are relative, by default the working directory.
    :raises InvalidInput: a sample cannot be read, or the two have no column in common.
    :raises SourceUnavailable: a URL cannot be fetched.
    """
    samples = [read(place) for place in places]
    if len({s.kind for s in samples}) > 1:
        raise InvalidInput(
            f"{places[0]} is {samples[0].kind}, {places[1]} is {samples[1].kind}: use samples of one kind"
        )
    if len(samples) > 1 and not set(samples[0].columns) & set(samples[1].columns):
        raise InvalidInput(f"{places[0]} and {places[1]} have no column in common: use two samples of one source")
    samples, options, types = _typed(samples)
    chosen = merge_of(samples, types)
    return "\n".join(_lines(samples, options, types, chosen, _name(name, places[0]), folder or Path.cwd())) + "\n"


def _typed(samples: Sequence[Sample]) -> tuple[list[Sample], Options, dict[str, ColumnType]]:
    """Return the samples with nulls, the options of the read step with their reasons, and the types of columns."""
    first = samples[0]
    options = dict(first.options)
    names = list(dict.fromkeys(name for s in samples for name in s.columns))
    values = {n: [v for s in samples if n in s.columns for v in s.values(n) if v is not None] for n in names}
    if not first.is_text:
        return list(samples), options, {name: json_type(vs) for name, vs in values.items()}
    null = null_text(values)
    if null is not None:
        options["nullValue"] = (null, "stands for null in columns of numbers or times")
        values = {name: [v for v in vs if v != null] for name, vs in values.items()}
        rows = [tuple(tuple(None if v == null else v for v in row) for row in s.rows) for s in samples]
        samples = [replace(s, rows=r) for s, r in zip(samples, rows, strict=True)]
    types = {name: text_type(vs) for name, vs in values.items()}
    for sql, option in (("DATE", "dateFormat"), ("TIMESTAMP", "timestampFormat")):
        pattern, types = one_format(types, sql)
        if pattern:
            options[option] = (pattern, "")
    return list(samples), options, types


def _lines(
    samples: Sequence[Sample],
    options: Options,
    types: Mapping[str, ColumnType],
    chosen: Merge,
    name: str,
    folder: Path,
) -> Iterator[str]:
    rows = " and ".join(f"{counted(len(s.rows), 'row')} of {_printable(s.place)}" for s in samples)
    yield f"# Inferred by `odf new` from {rows}: check each choice."
    yield from ("kind: DatasetSnapshot", "version: 1", "content:", f"  name: {_scalar(name)}", "  kind: Root")
    yield from ("  metadata:", "    - kind: SetPollingSource", "      fetch:")
    yield from (f"        {line}" for line in _fetch(samples, folder))
    yield from ("      read:", f"        kind: {samples[0].kind}")
    yield from (f"        {key}: {_scalar(value)}{_comment(why)}" for key, (value, why) in options.items())
    yield from _schema(samples[0].kind, types)
    yield "      merge:"
    yield from (f"        # {line}" for line in wrap(f"{chosen.kind}: {chosen.reasons[0]}.", 100))
    yield f"        kind: {chosen.kind}"
    yield from (f"        # {line}" for r in chosen.reasons[1:] for line in wrap(_printable(f"{r}."), 100))
    if chosen.key:
        yield f"        primaryKey: [{', '.join(map(_scalar, chosen.key))}]"
    yield from _vocabulary(types, chosen)


def _schema(kind: str, types: Mapping[str, ColumnType]) -> Iterator[str]:
    if kind == "Parquet":
        yield "        # no schema: the file has the types of its columns"
        return
    yield "        schema:"
    for name, column in types.items():
        yield f"          - {_scalar(f'{ddl_parser.quoted(name)} {column.sql}')}{_comment(column.reason)}"


def _vocabulary(types: Mapping[str, ColumnType], chosen: Merge) -> Iterator[str]:
    lower = {name.lower(): name for name in types}
    renamed = {
        role: (f"odf_{system}", f"the data has a column {lower[system]}")
        for system, role in _SYSTEM.items()
        if system in lower and not (system == "event_time" and types[lower[system]].sql in ("DATE", "TIMESTAMP"))
    }
    if chosen.event_time is not None and chosen.event_time != "event_time":
        renamed["eventTimeColumn"] = (chosen.event_time, "the time at which each row happened")
    if renamed:
        yield "    - kind: SetVocab"
        yield from (f"      {role}: {_scalar(name)}{_comment(why)}" for role, (name, why) in renamed.items())


def _fetch(samples: Sequence[Sample], folder: Path) -> Iterator[str]:
    place = samples[0].place
    folders = {sample.place.rpartition("/")[0] for sample in samples}
    if object_stores.is_object(place) and len({sample.place for sample in samples}) > 1 and len(folders) == 1:
        names = [sample.place.rpartition("/")[2] for sample in samples]
        yield f"kind: FilesGlob{_comment('each object is read once, in the order of names')}"
        yield f"path: {_scalar(f'{folders.pop()}/{_pattern(*names[:2])}')}"
        return
    if "://" in place:
        yield from ("kind: Url", f"url: {_scalar(place)}")
        return
    paths = [Path(s.place).expanduser().absolute() for s in samples]
    if len(paths) == 1 or paths[0].parent != paths[1].parent or len(set(paths)) == 1:
        yield from (f"kind: Url{_comment('this file is read again when it changes')}", f"url: {paths[0].as_uri()}")
        return
    below = paths[0].parent
    where = below.relative_to(folder.absolute()) if below.is_relative_to(folder.absolute()) else below
    yield f"kind: FilesGlob{_comment('each file is read once, in the order of names')}"
    yield f"path: {_scalar(str(where / _pattern(paths[0].name, paths[1].name)))}"


def _pattern(one: str, other: str) -> str:
    start = _common_start(one, other)
    end = _common_start(one[len(start) :][::-1], other[len(start) :][::-1])[::-1]
    return re.sub(r"([*?\[])", r"[\1]", start) + "*" + re.sub(r"([*?\[])", r"[\1]", end)


def _common_start(one: str, other: str) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(a for a, _ in pairs)


def _name(name: str | None, place: str) -> str:
    stem = Path(place.split("?")[0]).name.partition(".")[0]
    text = name or re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "dataset"
    try:
        return str(DatasetAlias.parse(text))
    except ValueError as e:
        raise InvalidInput(f"{e}: choose another name with --name") from None


def _scalar(value: Any) -> str:
    """Return a value as YAML on one line: plain if that is unambiguous, else quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Z]+(\(\d+,\d+\))?)?", text)
    is_word = text.lower() in ("yes", "no", "on", "off", "y", "n", "true", "false", "null")
    return text if is_plain and not is_word else json.dumps(text, ensure_ascii=False)


def _comment(reason: str) -> str:
    return f"  # {_printable(reason)}" if reason else ""


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)

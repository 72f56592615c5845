"""A manifest as YAML, with the reason of each choice as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import takewhile
from pathlib import Path
from textwrap import wrap

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.inference.column_types import ColumnType, json_type, null_text, one_format, text_type
from airflow_provider_odf.inference.sample import Merge, Options, Sample, merge_of, read
from airflow_provider_odf.inference.yaml_lines import comment, printable, scalar
from airflow_provider_odf.manifest import ddl_parser
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.wording import counted, listed

_SYSTEM = {
    "offset": "offsetColumn",
    "op": "operationTypeColumn",
    "system_time": "systemTimeColumn",
    "event_time": "eventTimeColumn",
}


@dataclass(frozen=True)
class Inferred:
    """What samples tell of a source: the name of its dataset, the options of the read step with their reasons, the
    types of its columns, and how it is merged."""

    name: str
    samples: Sequence[Sample]
    options: Options
    types: Mapping[str, ColumnType]
    merge: Merge


def infer(places: Sequence[str], name: str | None = None) -> Inferred:
    """Return what samples of a source tell.

    :param places: paths or URLs of samples, the oldest first.
    :param name: name of the dataset, by default made from the first sample's.
    :raises InvalidInput: a sample cannot be read, or two have no column in common.
    :raises SourceUnavailable: a URL cannot be fetched.
    """
    samples = [read(place) for place in places]
    for place, sample in zip(places[1:], samples[1:], strict=True):
        if _form(sample) != _form(samples[0]):
            both = f"{places[0]} is {_form(samples[0])}, {place} is {_form(sample)}"
            raise InvalidInput(f"{both}: use samples of one kind")
        if not set(samples[0].columns) & set(sample.columns):
            raise InvalidInput(f"{places[0]} and {place} have no column in common: use samples of one source")
    typed, options, types = _typed(samples)
    return Inferred(_name(name, places[0]), typed, options, types, merge_of(typed, types))


def manifest(inferred: Inferred, folder: Path) -> str:
    """Return the manifest of a source.

    :param folder: folder of the manifest, to which paths are relative.
    """
    return "\n".join(_lines(inferred, folder)) + "\n"


def _form(sample: Sample) -> str:
    return sample.kind if sample.archive is None else f"{sample.kind} in {sample.archive.form}"


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


def _lines(inferred: Inferred, folder: Path) -> Iterator[str]:
    samples, options, types, chosen = inferred.samples, inferred.options, inferred.types, inferred.merge
    rows = listed([f"{counted(len(s.rows), 'row')} of {printable(s.place)}" for s in samples])
    yield f"# Inferred by `odf new` from {rows}: check each choice."
    yield from ("kind: DatasetSnapshot", "version: 1", "content:", f"  name: {scalar(inferred.name)}", "  kind: Root")
    yield from ("  metadata:", "    - kind: SetPollingSource", "      fetch:")
    yield from (f"        {line}" for line in _fetch(samples, folder))
    if (archive := samples[0].archive) is not None:
        yield from ("      prepare:", "        - kind: Decompress", f"          format: {archive.form}")
        if archive.path is not None:
            yield f"          subPath: {scalar(archive.path)}{comment('the largest file in it')}"
    yield from ("      read:", f"        kind: {samples[0].kind}")
    yield from (f"        {key}: {scalar(value)}{comment(why)}" for key, (value, why) in options.items())
    yield from _schema(samples[0], types)
    yield "      merge:"
    yield from (f"        # {line}" for line in wrap(f"{chosen.kind}: {chosen.reasons[0]}.", 100))
    yield f"        kind: {chosen.kind}"
    yield from (f"        # {line}" for r in chosen.reasons[1:] for line in wrap(printable(f"{r}."), 100))
    if chosen.key:
        yield f"        primaryKey: [{', '.join(map(scalar, chosen.key))}]"
    yield from _vocabulary(types, chosen)


def _schema(sample: Sample, types: Mapping[str, ColumnType]) -> Iterator[str]:
    if sample.kind == "Parquet":
        yield "        # no schema: the file has the types of its columns"
        return
    yield "        schema:"
    for name, column in types.items():
        named = f"{sample.headers[name]!r} in the file" if name in sample.headers else ""
        reason = "; ".join(filter(None, (named, column.reason)))
        yield f"          - {scalar(f'{ddl_parser.quoted(name)} {column.sql}')}{comment(reason)}"


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
        yield from (f"      {role}: {scalar(name)}{comment(why)}" for role, (name, why) in renamed.items())


def _fetch(samples: Sequence[Sample], folder: Path) -> Iterator[str]:
    place = samples[0].place
    folders = {sample.place.rpartition("/")[0] for sample in samples}
    if object_stores.is_object(place) and len({sample.place for sample in samples}) > 1 and len(folders) == 1:
        names = [sample.place.rpartition("/")[2] for sample in samples]
        yield f"kind: FilesGlob{comment('each object is read once, in the order of names')}"
        yield f"path: {scalar(f'{folders.pop()}/{_pattern(names)}')}"
        return
    if "://" in place:
        yield from ("kind: Url", f"url: {scalar(place)}")
        return
    paths = [Path(s.place).expanduser().absolute() for s in samples]
    if len({path.parent for path in paths}) > 1 or len(set(paths)) == 1:
        yield from (f"kind: Url{comment('this file is read again when it changes')}", f"url: {paths[0].as_uri()}")
        return
    below = paths[0].parent
    where = below.relative_to(folder.absolute()) if below.is_relative_to(folder.absolute()) else below
    yield f"kind: FilesGlob{comment('each file is read once, in the order of names')}"
    yield f"path: {scalar(str(where / _pattern([path.name for path in paths])))}"


def _pattern(names: Sequence[str]) -> str:
    """Return the glob of the beginning and the end that all names have."""
    start = reduce(_common_start, names)
    end = reduce(_common_start, (name[len(start) :][::-1] for name in names))[::-1]
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

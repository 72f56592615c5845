"""Rules across the events of one dataset: what belongs together, and names that must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, step_rules
from airflow_provider_odf.manifest import events as e
from airflow_provider_odf.manifest.base import suggestion
from airflow_provider_odf.manifest.finding import Finding
from airflow_provider_odf.manifest.model import DatasetSnapshot
from airflow_provider_odf.protocol import Column, DatasetVocabulary

Source: TypeAlias = e.SetPollingSource | e.AddPushSource

_WRITTEN_BY_RUNS = (e.Seed, e.AddData, e.ExecuteTransform)
_DISABLING = (e.DisablePollingSource, e.DisablePushSource)
_SINGLE = (e.SetInfo, e.SetLicense, e.SetVocab, e.SetAttachments, e.SetDataSchema)
_TIMES = ("DATE", "TIMESTAMP")


@dataclass(frozen=True)
class Declared:
    """The events of a manifest that are valid by themselves, with their indices; ``kind`` is None if it is invalid."""

    kind: str | None
    events: Sequence[tuple[int, e.MetadataEvent]]
    is_whole: bool = True

    @classmethod
    def of(cls, snapshot: DatasetSnapshot) -> Declared:
        return cls(snapshot.kind, list(enumerate(snapshot.metadata)))

    def has(self, kind: type[e.MetadataEvent]) -> bool:
        return any(isinstance(event, kind) for _, event in self.events)


def check(declared: Declared) -> Iterator[Finding]:
    """Everything wrong with a dataset by itself; paths start at the snapshot."""
    for rule in (_membership, _repeated, _sources, _each):
        yield from (finding.under("metadata") for finding in rule(declared))
    if declared.is_whole:
        yield from _completeness(declared)


# --- which events belong together -----------------------------------------------------------------------------------


def _membership(declared: Declared) -> Iterator[Finding]:
    for index, event in declared.events:
        if isinstance(event, _WRITTEN_BY_RUNS):
            yield Finding((index,), f"{event.kind} is written by runs, not declared", "remove it")
        elif isinstance(event, _DISABLING):
            yield Finding((index,), f"{event.kind} is not declared", "leave the source itself out of the manifest")
        elif isinstance(event, Source) and declared.kind == "Derivative":
            yield Finding((index,), f"a Derivative has no {event.kind}", "`kind: Root`, or a SetTransform")
        elif isinstance(event, e.SetTransform) and declared.kind == "Root":
            yield Finding((index,), "a Root has no SetTransform", "`kind: Derivative`, or a `preprocess` in the source")


def _repeated(declared: Declared) -> Iterator[Finding]:
    seen: set[type[e.MetadataEvent]] = set()
    for index, event in declared.events:
        kind = type(event)
        if kind in seen and kind in (e.SetPollingSource, e.SetTransform):
            yield Finding((index,), f"a second {event.kind}: a dataset has one")
        elif kind in seen and kind in _SINGLE:
            yield Finding((index,), f"a second {event.kind}: the last one counts", is_warning=True)
        seen.add(kind)


def _sources(declared: Declared) -> Iterator[Finding]:
    names: set[str] = set()
    for index, event in declared.events:
        if not isinstance(event, e.AddPushSource):
            continue
        if declared.has(e.SetPollingSource):
            yield Finding((index,), "a dataset has a polling source or push sources, not both", "split the dataset")
        if not event.source_name.strip():
            yield Finding(
                (index, "source_name"), "`sourceName` is empty", "a single source is usually called `default`"
            )
        if event.source_name in names:
            yield Finding((index, "source_name"), f"a second push source {event.source_name!r}")
        names.add(event.source_name)


def _completeness(declared: Declared) -> Iterator[Finding]:
    if declared.kind == "Derivative" and not declared.has(e.SetTransform):
        yield Finding(("metadata",), "a Derivative needs a SetTransform")
    if declared.kind == "Root" and not declared.has(e.SetPollingSource) and not declared.has(e.AddPushSource):
        yield Finding(("metadata",), "the dataset has no source: nothing will ever be added to it", is_warning=True)


# --- each event -----------------------------------------------------------------------------------------------------


def _each(declared: Declared) -> Iterator[Finding]:
    vocabs = [event for _, event in declared.events if isinstance(event, e.SetVocab)]
    vocabulary = ddl.vocabulary(vocabs[-1] if vocabs else None)
    for index, event in declared.events:
        findings: Iterable[Finding] = ()
        if isinstance(event, Source):
            findings = _source(event, vocabulary)
        elif isinstance(event, e.SetTransform):
            findings = _transform(event)
        elif isinstance(event, e.SetVocab):
            findings = _vocab(event)
        elif isinstance(event, e.SetLicense) and "://" not in event.website_url:
            findings = [Finding(("website_url",), "not a URL", "such as https://…", is_warning=True)]
        yield from (finding.under(index) for finding in findings)


def _source(source: Source, vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    if isinstance(source, e.SetPollingSource):
        yield from (finding.under("fetch") for finding in step_rules.check_fetch(source.fetch))
        yield from (finding.under("prepare") for finding in step_rules.check_prepare(source.prepare or ()))
    yield from (finding.under("read") for finding in step_rules.check_read(source.read))
    if source.preprocess is not None:
        yield from (finding.under("preprocess") for finding in step_rules.check_preprocess(source.preprocess))
    yield from (finding.under("merge") for finding in _merge_lists(source))
    if source.preprocess is None and (columns := _columns(source)):
        yield from _merge_columns(source, columns, vocabulary)
        yield from (finding.under("read") for finding in _system_columns(source, columns, vocabulary))


def _columns(source: Source) -> tuple[Column, ...]:
    """The declared columns; none where they cannot be known (what is wrong with them is found elsewhere)."""
    try:
        return ddl.columns(source.read) or ()
    except InvalidInput:
        return ()


def _merge_lists(source: Source) -> Iterator[Finding]:
    merge = ddl.merge_strategy(source.merge)
    if merge.kind != "Append" and not merge.primary_key:
        yield Finding(("primary_key",), "`primaryKey` is empty", "name the columns that identify a record")
    if merge.compare_columns == ():
        yield Finding(("compare_columns",), "`compareColumns` is empty", "leave it out to compare all columns")
    for name, columns in (("primary_key", merge.primary_key), ("compare_columns", merge.compare_columns or ())):
        folded = [column.lower() for column in columns]
        for index, column in enumerate(columns):
            if column.lower() in folded[:index]:
                yield Finding((name, index), f"column {column} is given twice")


def _merge_columns(source: Source, columns: tuple[Column, ...], vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    merge, names = ddl.merge_strategy(source.merge), [column.name for column in columns]
    known = {name.lower() for name in names}
    for attribute, named in (("primary_key", merge.primary_key), ("compare_columns", merge.compare_columns or ())):
        for index, name in enumerate(named):
            if name.lower() not in known:
                message = f"column {name} is not in the declared schema"
                yield Finding(("merge", attribute, index), message, suggestion(name, names))
    if merge.kind == "ChangelogStream" and vocabulary.operation_type_column.lower() not in known:
        message = f"a ChangelogStream needs the column {vocabulary.operation_type_column} in the data"
        yield Finding(("merge",), message, "add it to the schema, or name it in SetVocab.operationTypeColumn")


def _system_columns(source: Source, columns: tuple[Column, ...], vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    """System columns are added by the merge; only event time, and for streams the operation, may come with the data."""
    added = {vocabulary.offset_column.lower(), vocabulary.system_time_column.lower()}
    if source.merge.kind not in ("ChangelogStream", "UpsertStream"):
        added.add(vocabulary.operation_type_column.lower())
    for index, column in enumerate(columns):
        path = _column_path(source, index, len(columns))
        if column.name.lower() in added:
            fix = "rename it in `preprocess`, or the system column in SetVocab"
            yield Finding(path, f"column {column.name} has the name of a system column", fix)
        if column.name.lower() == vocabulary.event_time_column.lower() and column.type not in _TIMES:
            fix = "cast it in `preprocess`, or name another column in SetVocab.eventTimeColumn"
            yield Finding(path, f"event time {column.name} must be DATE or TIMESTAMP, not {column.type}", fix)


def _column_path(source: Source, index: int, count: int) -> tuple[str | int, ...]:
    if source.read.schema_ is not None:
        return ("schema_", "fields", index, "name")
    entries = source.read.ddl_schema or ()
    return ("ddl_schema", index) if len(entries) == count else ("ddl_schema",)


def _transform(event: e.SetTransform) -> Iterator[Finding]:
    yield from (finding.under("transform") for finding in step_rules.check_transform(event.transform))
    if not event.inputs:
        yield Finding(("inputs",), "a SetTransform needs at least one input")
    seen: set[str] = set()
    for index, given in enumerate(event.inputs):
        for attribute, name in (("dataset_ref", given.dataset_ref), ("alias", given.alias)):
            if name is not None and f"{attribute} {name.lower()}" in seen:
                yield Finding(("inputs", index, attribute), f"{name} is given twice")
            seen.add(f"{attribute} {(name or '').lower()}")
    names = [name for given in event.inputs for name in (given.alias, given.dataset_ref) if name]
    for index, table in enumerate(event.transform.temporal_tables or ()):
        if table.name not in names:
            path = ("transform", "temporal_tables", index, "name")
            yield Finding(path, f"{table.name} is not an input", suggestion(table.name, names))


def _vocab(event: e.SetVocab) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    given = {name for name, value in event if name != "kind" and value is not None}
    for name, column in vars(ddl.vocabulary(event)).items():
        if not column.strip():
            yield Finding((name,), "the name of a column is empty")
        if other := seen.get(column.lower()):
            path = (name,) if name in given else (other,)
            message = f"{name.replace('_', ' ')} and {other.replace('_', ' ')} are both called {column!r}"
            yield Finding(path, message, "give one of them another name")
        seen[column.lower()] = name

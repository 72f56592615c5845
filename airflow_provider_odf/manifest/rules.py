"""Rules across the events of one dataset: required combinations, and names that must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from airflow_provider_odf import column_rules
from airflow_provider_odf.manifest import (
    airflow_rules,
    attachment_rules,
    ddl,
    push_rules,
    read_rules,
    step_rules,
    transform_rules,
)
from airflow_provider_odf.manifest import model as e
from airflow_provider_odf.manifest.findings import INVALID, Finding, rule, valid
from airflow_provider_odf.manifest.fragments import TransformInput
from airflow_provider_odf.manifest.model import DatasetSnapshot
from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES
from airflow_provider_odf.protocol import DatasetVocabulary, MergeStrategy
from airflow_provider_odf.wording import suggestion

Source: TypeAlias = e.SetPollingSource | e.AddPushSource

_WRITTEN_BY_RUNS = (e.Seed, e.AddData, e.ExecuteTransform)
_DISABLING = (e.DisablePollingSource, e.DisablePushSource)
_SINGLE = (e.SetInfo, e.SetLicense, e.SetVocab, e.SetAttachments, e.SetDataSchema)


@dataclass(frozen=True)
class Declared:
    """Events of a manifest with a valid kind, with their indices; parts may be ``INVALID``."""

    kind: str
    events: Sequence[tuple[int, e.MetadataEvent]]
    is_whole: bool

    @classmethod
    def of(cls, snapshot: DatasetSnapshot) -> Declared:
        events = list(valid(enumerate(snapshot.metadata)))
        return cls(snapshot.kind, events, is_whole=len(events) == len(snapshot.metadata))

    def has(self, kind: type[e.MetadataEvent]) -> bool:
        return any(isinstance(event, kind) for _, event in self.events)


@rule
def check(snapshot: DatasetSnapshot) -> Iterator[Finding]:
    """Yield all problems of a single dataset; paths start at the snapshot, parts of which may be ``INVALID``."""
    yield from airflow_rules.name(snapshot.name)
    declared = Declared.of(snapshot)
    for check_events in (_membership, _repeated, _sources, _each):
        yield from (finding.under("metadata") for finding in check_events(declared))
    if declared.is_whole:
        yield from _completeness(declared)


# --- which events belong together -----------------------------------------------------------------------------------


def _membership(declared: Declared) -> Iterator[Finding]:
    for index, event in declared.events:
        if isinstance(event, _WRITTEN_BY_RUNS):
            yield Finding((index,), f"{event.kind} cannot be declared: runs write it", "remove it")
        elif isinstance(event, _DISABLING):
            yield Finding((index,), f"{event.kind} cannot be declared", "remove the source from the manifest instead")
    yield from _membership_of_kind(declared)


@rule
def _membership_of_kind(declared: Declared) -> Iterator[Finding]:
    for index, event in declared.events:
        if isinstance(event, Source) and declared.kind == "Derivative":
            yield Finding((index,), f"a Derivative cannot have {event.kind}", "set `kind: Root`, or use SetTransform")
        elif isinstance(event, e.SetTransform) and declared.kind == "Root":
            yield Finding((index,), "a Root cannot have SetTransform", "use `preprocess` in the source instead")


def _repeated(declared: Declared) -> Iterator[Finding]:
    seen: set[type[e.MetadataEvent]] = set()
    for index, event in declared.events:
        kind = type(event)
        if kind in seen and kind in (e.SetPollingSource, e.SetTransform):
            yield Finding((index,), f"duplicate {event.kind}: a dataset can have only one")
        elif kind in seen and kind in _SINGLE:
            yield Finding((index,), f"duplicate {event.kind}: only the last one applies", is_warning=True)
        seen.add(kind)


def _sources(declared: Declared) -> Iterator[Finding]:
    names: set[str] = set()
    for index, event in declared.events:
        if not isinstance(event, e.AddPushSource):
            continue
        if declared.has(e.SetPollingSource):
            yield Finding((index,), "a dataset cannot have both a polling source and push sources", "split the dataset")
        yield from (finding.under(index, "source_name") for finding in _source_name(event.source_name, names))


@rule
def _source_name(name: str, seen: set[str]) -> Iterator[Finding]:
    if not name.strip():
        yield Finding((), "`sourceName` is empty", "a single source is usually called `default`")
    if name in seen:
        yield Finding((), f"duplicate push source {name!r}", "choose another name")
    seen.add(name)


@rule
def _completeness(declared: Declared) -> Iterator[Finding]:
    if declared.kind == "Derivative" and not declared.has(e.SetTransform):
        yield Finding(("metadata",), "a Derivative needs a SetTransform")
    if declared.kind == "Root" and not declared.has(e.SetPollingSource) and not declared.has(e.AddPushSource):
        yield Finding(("metadata",), "the dataset has no source: no run can add data", is_warning=True)


# --- each event -----------------------------------------------------------------------------------------------------


def _each(declared: Declared) -> Iterator[Finding]:
    vocabs = [event for _, event in declared.events if isinstance(event, e.SetVocab)]
    vocabulary = ddl.vocabulary(vocabs[-1] if vocabs else None)
    pushed = [(index, event) for index, event in declared.events if isinstance(event, e.AddPushSource)]
    yield from push_rules.check(pushed, vocabulary)
    for index, event in declared.events:
        findings: Iterable[Finding] = ()
        if isinstance(event, Source):
            findings = _source(event, vocabulary)
        elif isinstance(event, e.SetTransform):
            findings = _transform(event)
        elif isinstance(event, e.SetVocab):
            findings = _vocab(event)
        elif isinstance(event, e.SetInfo):
            findings = airflow_rules.keywords(event.keywords)
        elif isinstance(event, e.SetLicense):
            findings = _website(event.website_url)
        elif isinstance(event, e.SetAttachments):
            findings = (finding.under("attachments") for finding in attachment_rules.check(event.attachments))
        yield from (finding.under(index) for finding in findings)


@rule
def _website(url: str) -> Iterator[Finding]:
    if "://" not in url:
        yield Finding(("website_url",), "not a URL", "such as https://…", is_warning=True)


def _source(source: Source, vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    if isinstance(source, e.SetPollingSource):
        yield from (finding.under("fetch") for finding in step_rules.check_fetch(source.fetch))
        yield from (finding.under("prepare") for finding in step_rules.check_prepare(source.prepare))
    yield from (finding.under("read") for finding in read_rules.check(source.read))
    if source.preprocess is not None:
        yield from (finding.under("preprocess") for finding in transform_rules.check_preprocess(source.preprocess))
    yield from (finding.under("merge") for finding in _merge_lists(source))
    if source.preprocess is None:
        yield from (finding.under("read") for finding in read_rules.check_stored(source.read))
        yield from _columns(source, vocabulary)


@rule
def _merge_lists(source: Source) -> Iterator[Finding]:
    merge = ddl.merge_strategy(source.merge)
    if MERGE_STRATEGIES[merge.kind].has_key:
        nothing = Finding(("primary_key",), "`primaryKey` is empty", "name the columns that identify a record")
        yield from _column_list("primary_key", merge.primary_key, nothing)
    if merge.compare_columns is not None:
        nothing = Finding(("compare_columns",), "`compareColumns` is empty", "leave it out to compare all columns")
        yield from _column_list("compare_columns", merge.compare_columns, nothing)


@rule
def _column_list(attribute: str, columns: Sequence[str], nothing: Finding) -> Iterator[Finding]:
    if not columns:
        yield nothing
    seen: set[str] = set()
    for index, column in valid(enumerate(columns)):
        if column.lower() in seen:
            yield Finding((attribute, index), f"column {column} is repeated")
        seen.add(column.lower())


@rule
def _columns(source: Source, vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    """Check the declared columns against the merge, if no query changes them before it."""
    paths = {column.name: column.path for column in read_rules.columns(source.read)}
    types = {column.name: column.type for column in read_rules.columns(source.read)}
    merge = ddl.merge_strategy(source.merge)
    if not types:
        return
    for problem in column_rules.check(types, vocabulary, _without_invalid(merge), "the declared schema"):
        path: tuple[str | int, ...] = ("merge",)
        if problem.part == "columns":
            path = ("read", *paths[problem.name])
        elif problem.part != "merge":
            path = ("merge", problem.part, [*getattr(merge, problem.part)].index(problem.name))
        yield Finding(path, problem.message, problem.fix)


def _without_invalid(merge: MergeStrategy) -> MergeStrategy:
    """Return the strategy with only its valid columns."""
    key, compared = merge.primary_key, merge.compare_columns
    return replace(
        merge,
        primary_key=tuple(name for _, name in valid(enumerate(key))),
        compare_columns=None if compared is None else tuple(name for _, name in valid(enumerate(compared))),
    )


def _transform(event: e.SetTransform) -> Iterator[Finding]:
    yield from (finding.under("transform") for finding in transform_rules.check_transform(event.transform))
    yield from _inputs(event.inputs)
    yield from _temporal_tables(event)


@rule
def _inputs(inputs: Sequence[TransformInput]) -> Iterator[Finding]:
    if not inputs:
        yield Finding(("inputs",), "a SetTransform needs at least one input")
    seen: set[str] = set()
    for index, item in valid(enumerate(inputs)):
        for attribute, name in valid((("dataset_ref", item.dataset_ref), ("alias", item.alias))):
            key = f"{attribute} {name if name is None or '://' in name else name.lower()}"
            if name is not None and key in seen:
                yield Finding(("inputs", index, attribute), f"{name} is repeated")
            seen.add(key)


@rule
def _temporal_tables(event: e.SetTransform) -> Iterator[Finding]:
    names = [name for item in event.inputs for name in (item.alias, item.dataset_ref) if name]
    for index, table in valid(enumerate(event.transform.temporal_tables or ())):
        if table.name is not INVALID and table.name not in names:
            path = ("transform", "temporal_tables", index, "name")
            yield Finding(path, f"{table.name} is not an input", suggestion(table.name, names))


def _vocab(event: e.SetVocab) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    renamed = {name for name, value in event if name != "kind" and value is not None}
    for name, column in valid(vars(ddl.vocabulary(event)).items()):
        if not column.strip():
            yield Finding((name,), "the name of a column is empty")
        if other := seen.get(column.lower()):
            path = (name,) if name in renamed else (other,)
            message = f"{name.replace('_', ' ')} and {other.replace('_', ' ')} are both called {column!r}"
            yield Finding(path, message, "give one of them another name")
        seen[column.lower()] = name

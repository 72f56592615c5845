"""Rules of datasets and of their events: required combinations, names that must agree, queries, and Airflow's limits.

The rules of sources are in `source_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from airflow_provider_odf.manifest import ddl
from airflow_provider_odf.manifest import model as m
from airflow_provider_odf.manifest.findings import INVALID, Finding, Findings, findings, rule, rule_of, valid
from airflow_provider_odf.manifest.folder_settings import LONGEST_NAME, LONGEST_TAG
from airflow_provider_odf.manifest.source_rules import Source
from airflow_provider_odf.wording import suggestion

ENGINES = ("spark", "datafusion", "flink", "risingwave")
_SPARK_MAJOR = "4"
_SINGLE = (m.SetInfo, m.SetLicense, m.SetVocab, m.SetAttachments, m.SetDataSchema)
_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:")


def check(snapshot: m.DatasetSnapshot) -> Findings:
    """Return all problems of a single dataset; paths start at the snapshot, parts of which may be ``INVALID``."""
    return findings(snapshot)


def _events(snapshot: m.DatasetSnapshot) -> Iterator[tuple[tuple[str, int], m.MetadataEvent]]:
    """Yield the events with a valid kind, each with its path."""
    return ((("metadata", index), event) for index, event in valid(enumerate(snapshot.metadata)))


# --- which events belong together -----------------------------------------------------------------------------------


@rule_of(m.DatasetSnapshot)
def _name(snapshot: m.DatasetSnapshot) -> Findings:
    if len(snapshot.name) > LONGEST_NAME:
        message = f"the name has {len(snapshot.name)} characters: it is also the name of the DAG, which has at most"
        yield Finding(("name",), f"{message} {LONGEST_NAME}", "choose a shorter name")


@rule_of(m.Seed, m.AddData, m.ExecuteTransform)
def _is_written_by_runs(event: m.MetadataEvent) -> Findings:
    yield Finding((), f"{event.kind} cannot be declared: runs write it", "remove it")


@rule_of(m.DisablePollingSource, m.DisablePushSource)
def _is_disabling(event: m.MetadataEvent) -> Findings:
    yield Finding((), f"{event.kind} cannot be declared", "remove the source from the manifest instead")


@rule_of(m.DatasetSnapshot)
def _events_of_its_kind(snapshot: m.DatasetSnapshot) -> Findings:
    for path, event in _events(snapshot):
        if isinstance(event, Source) and snapshot.kind == "Derivative":
            yield Finding(path, f"a Derivative cannot have {event.kind}", "set `kind: Root`, or use SetTransform")
        elif isinstance(event, m.SetTransform) and snapshot.kind == "Root":
            yield Finding(path, "a Root cannot have SetTransform", "use `preprocess` in the source instead")


@rule_of(m.DatasetSnapshot)
def _repeated(snapshot: m.DatasetSnapshot) -> Findings:
    seen: set[type[m.MetadataEvent]] = set()
    for path, event in _events(snapshot):
        if type(event) in seen and isinstance(event, m.SetPollingSource | m.SetTransform):
            yield Finding(path, f"duplicate {event.kind}: a dataset can have only one")
        elif type(event) in seen and isinstance(event, _SINGLE):
            yield Finding(path, f"duplicate {event.kind}: only the last one applies", is_warning=True)
        seen.add(type(event))


@rule_of(m.DatasetSnapshot)
def _push_sources(snapshot: m.DatasetSnapshot) -> Findings:
    names: set[str] = set()
    events = list(_events(snapshot))
    is_polled = any(isinstance(event, m.SetPollingSource) for _, event in events)
    for path, event in events:
        if isinstance(event, m.AddPushSource):
            if is_polled:
                message = "a dataset cannot have both a polling source and push sources"
                yield Finding(path, message, "split the dataset")
            yield from (finding.under(*path, "source_name") for finding in _source_name(event.source_name, names))


@rule
def _source_name(name: str, seen: set[str]) -> Findings:
    if not name.strip():
        yield Finding((), "`sourceName` is empty", "a single source is usually called `default`")
    if name in seen:
        yield Finding((), f"duplicate push source {name!r}", "choose another name")
    seen.add(name)


@rule_of(m.DatasetSnapshot)
def _completeness(snapshot: m.DatasetSnapshot) -> Findings:
    kinds = [event.kind for event in snapshot.metadata]
    if snapshot.kind == "Derivative" and "SetTransform" not in kinds:
        yield Finding(("metadata",), "a Derivative needs a SetTransform")
    if snapshot.kind == "Root" and not {"SetPollingSource", "AddPushSource"} & {*kinds}:
        yield Finding(("metadata",), "the dataset has no source: no run can add data", is_warning=True)


# --- each event -----------------------------------------------------------------------------------------------------


@rule_of(m.SetInfo)
def _keywords(info: m.SetInfo) -> Findings:
    for index, text in valid(enumerate(info.keywords or ())):
        if len(text) > LONGEST_TAG:
            message = f"the keyword has {len(text)} characters: as a tag of the DAG it is cut after {LONGEST_TAG}"
            yield Finding(("keywords", index), message, is_warning=True)


@rule_of(m.SetLicense)
def _website(event: m.SetLicense) -> Findings:
    if "://" not in event.website_url:
        yield Finding(("website_url",), "not a URL", "such as https://…", is_warning=True)


@rule_of(m.SetVocab)
def _vocab(event: m.SetVocab) -> Findings:
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


@rule_of(m.AttachmentsEmbedded)
def _attachments(attachments: m.AttachmentsEmbedded) -> Findings:
    """Check that paths name different files below the folder to which users export them."""
    seen: set[str] = set()
    for index, item in valid(enumerate(attachments.items)):
        yield from (finding.under("items", index, "path") for finding in _attachment_path(item.path, seen))


@rule
def _attachment_path(path: str, seen: set[str]) -> Findings:
    parts = path.split("/")
    if _ABSOLUTE.match(path) or "\\" in path or not path.isprintable() or {"", ".", ".."} & set(parts):
        fix = "use a relative path with `/`, such as `README.md` or `images/map.svg`"
        yield Finding((), f"an attachment's path cannot be {path!r}", fix)
    elif path.lower() in seen:
        yield Finding((), f"duplicate attachment path {path}", "choose another path")
    else:
        folders = {"/".join(parts[:depth]).lower() for depth in range(1, len(parts))}
        if clash := next((p for p in seen if p in folders or p.startswith(f"{path.lower()}/")), None):
            yield Finding((), f"{path} and {clash} conflict: one of them is a folder", "choose another path")
        seen.add(path.lower())


# --- queries --------------------------------------------------------------------------------------------------------


@rule_of(m.SetTransform)
def _inputs(event: m.SetTransform) -> Findings:
    if not event.inputs:
        yield Finding(("inputs",), "a SetTransform needs at least one input")
    seen: set[str] = set()
    for index, item in valid(enumerate(event.inputs)):
        for attribute, name in valid((("dataset_ref", item.dataset_ref), ("alias", item.alias))):
            key = f"{attribute} {name if name is None or '://' in name else name.lower()}"
            if name is not None and key in seen:
                yield Finding(("inputs", index, attribute), f"{name} is repeated")
            seen.add(key)


@rule_of(m.SetTransform)
def _temporal_tables(event: m.SetTransform) -> Findings:
    names = [name for item in event.inputs for name in (item.alias, item.dataset_ref) if name]
    for index, table in valid(enumerate(event.transform.temporal_tables or ())):
        if table.name is not INVALID and table.name not in names:
            path = ("transform", "temporal_tables", index, "name")
            yield Finding(path, f"{table.name} is not an input", suggestion(table.name, names))


@rule_of(m.TransformSql)
def _engine(transform: m.TransformSql) -> Findings:
    if transform.engine not in ENGINES:
        yield Finding(("engine",), f"engine {transform.engine!r} is not known", suggestion(transform.engine, ENGINES))


@rule_of(m.TransformSql)
def _version(transform: m.TransformSql) -> Findings:
    version = transform.version
    if transform.engine == "spark" and version and version.split(".")[0] != _SPARK_MAJOR:
        message = f"the transform declares Spark {version}, but runs on Spark {_SPARK_MAJOR}"
        yield Finding(("version",), message, "check its queries and update the version", is_warning=True)


@rule_of(m.TransformSql)
def _queries(transform: m.TransformSql) -> Findings:
    if transform.query is not None and transform.queries is not None:
        fix = "keep one: `query` is short for one step"
        yield Finding(("query",), "`query` and `queries` cannot be used together", fix)
    elif transform.query is not None:
        yield from _query_text(transform.query)
    else:
        yield from _steps(transform.queries)


@rule
def _steps(steps: Sequence[m.SqlQueryStep] | None) -> Findings:
    if not steps:
        yield Finding((), "the transform has no query", "add `query`, or `queries` with at least one step")
        return
    seen: set[str] = set()
    for index, step in valid(enumerate(steps)):
        for part in (_query_text(step.query), _alias(step, index == len(steps) - 1, seen)):
            yield from (finding.under("queries", index) for finding in part)


@rule
def _query_text(query: str) -> Findings:
    if not query.strip():
        yield Finding(("query",), "the query is empty")


@rule
def _alias(step: m.SqlQueryStep, is_last: bool, seen: set[str]) -> Findings:
    if is_last and step.alias is not None:
        yield Finding(("alias",), "the last query is the output and cannot have an alias", "remove the alias")
    if not is_last and step.alias is None:
        yield Finding((), "only the last query may have no alias", "add an alias, by which later queries refer to it")
    alias = (step.alias or "").lower()
    if alias and alias in seen:
        yield Finding(("alias",), f"alias {step.alias} is repeated")
    seen.add(alias)


@rule_of(m.SetPollingSource, m.AddPushSource)
def _no_temporal_tables(source: Source) -> Findings:
    if source.preprocess is not None and source.preprocess.temporal_tables:
        message = "temporal tables cannot be used in preprocess, which reads only new data"
        yield Finding(("preprocess", "temporal_tables"), message, "remove `temporalTables`")


@rule_of(m.SetPollingSource, m.AddPushSource)
def _input_alias(source: Source) -> Findings:
    for index, step in valid(enumerate(source.preprocess.queries or () if source.preprocess is not None else ())):
        if step.alias is not INVALID and (step.alias or "").lower() == "input":
            path = ("preprocess", "queries", index, "alias")
            yield Finding(path, "`input` is the name of the data that was read", "choose another alias")

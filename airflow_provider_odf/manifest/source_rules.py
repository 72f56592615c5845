"""Rules of sources: how they fetch, read and merge, and what the push sources of one dataset have in common."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pydantic.alias_generators import to_snake

from airflow_provider_odf import column_rules
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, ddl_parser, fetch_kinds
from airflow_provider_odf.manifest import model as m
from airflow_provider_odf.manifest.findings import INVALID, Finding, Findings, NotValid, rule, rule_of, valid
from airflow_provider_odf.manifest.fragments import Read
from airflow_provider_odf.manifest.time_format import java_pattern
from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES, can_follow
from airflow_provider_odf.protocol import Column, DatasetVocabulary, MergeStrategy
from airflow_provider_odf.read_steps import GEOMETRY, NOT_IN_CSV_FORMAT, READ_STEPS, Types, python_encoding
from airflow_provider_odf.wording import suggestion

Source: TypeAlias = m.SetPollingSource | m.AddPushSource

_NESTED = ("ARRAY<", "MAP<", "STRUCT<")
_MOST_PIECES = 20
_LIST_OF_STRUCTS = re.compile("(ARRAY<)+STRUCT<")
_KEY = re.compile(r"\bMAP<(\w+)")


@rule_of(m.SetPollingSource)
def _fetch(source: m.SetPollingSource) -> Findings:
    yield from (finding.under("fetch") for finding in fetch_kinds.check(source.fetch))
    kind = fetch_kinds.kind_of(source.fetch).reads
    if kind not in (None, source.read.kind) and not source.prepare:
        message = f"{source.fetch.kind} gives {kind}, which {source.read.kind} cannot read"
        yield Finding(("read",), message, f"use `read: {{kind: {kind}}}`")


@rule_of(m.PrepStepPipe)
def _command(step: m.PrepStepPipe) -> Findings:
    if not step.command:
        yield Finding(("command",), "`command` is empty", "write the program and its arguments as separate list items")


# --- declared columns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeclaredColumn:
    """Column of a read step's schema; ``type`` is empty if it cannot be parsed."""

    path: tuple[str | int, ...]
    name: str
    type: str


def columns(read: m.ReadStep) -> Iterator[DeclaredColumn]:
    """Return the columns that a read step declares.

    :raises NotValid: the name in a definition cannot be parsed.
    """
    for index, entry in enumerate(read.ddl_schema or ()):
        path = ("ddl_schema", index)
        yield from (DeclaredColumn(path, column.name, column.type) for column in _ddl_columns(entry))
    for index, field in enumerate(read.schema_.fields if read.schema_ else ()):
        yield DeclaredColumn(("schema_", "fields", index, "name"), field.name, _spark_type(field))


def _ddl_columns(entry: str) -> list[Column]:
    if entry is INVALID:
        raise NotValid
    try:
        return [definition.column for definition in ddl_parser.parse(entry)]
    except ddl_parser.DdlError as e:
        if (name := ddl_parser.single_name(entry)) is None:
            raise NotValid from e
        return [Column(name, "")]


def _spark_type(field: m.DataField) -> str:
    try:
        return ddl.spark_type(field.type)
    except (InvalidInput, NotValid):
        return ""


@rule_of(Read)
def _repeated_columns(read: m.ReadStep) -> Findings:
    seen: dict[str, str] = {}
    for column in columns(read):
        name = column.name
        if first := seen.get(name.lower()):
            message = f"column {name} is declared twice" + (f", also as {first}" if first != name else "")
            yield Finding(column.path, message)
        seen.setdefault(name.lower(), name)


@rule_of(Read)
def _types(read: m.ReadStep) -> Findings:
    """Check that a format has columns of the declared types."""
    step = READ_STEPS[read.kind]
    for column in columns(read):
        name, kind = column.name, column.type
        if step.types is Types.TEXT and kind.startswith(_NESTED):
            message = f"column {name}: {kind} cannot be read from {read.kind}"
            yield Finding(column.path, message, "declare STRING, and use from_json in preprocess")
        if step.types is Types.JSON and any(key != "STRING" for key in _KEY.findall(kind)):
            yield Finding(column.path, f"column {name}: keys of a MAP are STRING in JSON")
        if step.has_geometry and name.lower() == GEOMETRY and kind not in ("", "STRING"):
            yield Finding(column.path, f"column {name} is the text of a GeoJSON geometry", "declare it STRING")


@rule_of(m.SetPollingSource, m.AddPushSource)
def _stored(source: Source) -> Findings:
    """Check that slices can have the columns, where no query converts them."""
    for column in columns(source.read) if source.preprocess is None else ():
        kind = re.sub("`[^`]*`", "", column.type)
        what = "a map" if "MAP<" in kind else "a list of structs" if _LIST_OF_STRUCTS.search(kind) else ""
        if what:
            name = column.name
            rows = f", or one row for each: `inline({name})`" if kind.startswith("ARRAY<STRUCT<") else ""
            fix = f"select in preprocess, in Spark SQL: `to_json({name}) AS {name}`{rows}"
            yield Finding(("read", *column.path), f"column {name} has {what}, which datasets do not support", fix)


@rule_of(Read)
def _ddl_schema(read: m.ReadStep) -> Findings:
    pieces, entries = range(0), read.ddl_schema or ()
    for index, entry in valid(enumerate(entries)):
        if index in pieces:
            continue
        path = ("ddl_schema", index)
        try:
            for definition in ddl_parser.parse(entry):
                if definition.note:
                    yield Finding(path, f"column {definition.column.name}: {definition.note}", is_warning=True)
        except ddl_parser.DdlError as e:
            if pieces := _pieces(entries, index):
                column = ", ".join(entries[index : pieces.stop]).replace('"', "'")
                fix = f'quote the column: "{column}", or write one column per line'
                yield Finding(path, "a comma splits the items of a list in [...]", fix, offset=len(entry))
            else:
                yield Finding(path, str(e), suggestion(e.word, ddl_parser.KNOWN) if e.word else "", offset=e.offset)


def _pieces(entries: Sequence[str], first: int) -> range:
    """Return the indices of entries that form one column, which YAML split at its commas; empty if they do not."""
    for end in range(first + 2, min(len(entries), first + _MOST_PIECES) + 1):
        with contextlib.suppress(ddl_parser.DdlError, TypeError):
            ddl_parser.parse(",".join(entries[first:end]))
            return range(first, end)
    return range(0)


@rule_of(Read)
def _odf_schema(read: m.ReadStep) -> Findings:
    for index, field in valid(enumerate(read.schema_.fields if read.schema_ else ())):
        yield from (finding.under("schema_", "fields", index) for finding in _field(field))


@rule
def _field(field: m.DataField) -> Findings:
    try:
        ddl.spark_type(field.type)
    except InvalidInput as e:
        yield Finding(("type",), f"column {field.name}: {e}")


@rule_of(Read)
def _empty_schema(read: m.ReadStep) -> Findings:
    attribute, schema = ("ddl_schema", read.ddl_schema) if read.schema_ is None else ("schema_", read.schema_.fields)
    if schema is not None and not schema:
        yield Finding((attribute,), "the schema has no columns", "leave it out")


# --- options of read steps ------------------------------------------------------------------------------------------


@rule_of(m.ReadStepCsv)
def _characters(read: m.ReadStepCsv) -> Findings:
    separator = "," if read.separator is None else read.separator.replace("\\t", "\t")
    quote, escape = ('"' if read.quote is None else read.quote), ("\\" if read.escape is None else read.escape)
    if quote is INVALID or escape is INVALID:
        return
    for name, value in (("separator", separator), ("quote", quote), ("escape", escape)):
        if len(value) > 1:
            yield Finding((name,), f"`{name}` must be a single character")
        if value in NOT_IN_CSV_FORMAT:
            yield Finding((name,), f"`{name}` cannot be a line end or NUL")
    if separator == "":
        yield Finding(("separator",), "`separator` is empty")
    elif len(separator) == 1 and separator in (quote, escape):
        yield Finding(("separator",), "`separator` is also the quote or the escape character", "choose another")


@rule_of(m.ReadStepCsv, m.ReadStepJson, m.ReadStepNdJson)
def _encoding(read: m.ReadStepCsv | m.ReadStepJson | m.ReadStepNdJson) -> Findings:
    try:
        python_encoding(read.encoding or "")
    except ValueError as e:
        yield Finding(("encoding",), str(e), "such as utf-8, latin1, windows-1252")


@rule_of(m.ReadStepCsv, m.ReadStepJson, m.ReadStepNdJson)
def _formats(read: m.ReadStepCsv | m.ReadStepJson | m.ReadStepNdJson) -> Findings:
    for name, pattern in valid((("date_format", read.date_format), ("timestamp_format", read.timestamp_format))):
        try:
            java_pattern(pattern or "")
        except ValueError as e:
            yield Finding((name,), str(e))


@rule_of(m.ReadStepEsriShapefile)
def _sub_path(read: m.ReadStepEsriShapefile) -> Findings:
    if read.sub_path == "":
        yield Finding(("sub_path",), "`subPath` is empty", "remove it if the archive has only one shapefile")


# --- merge ----------------------------------------------------------------------------------------------------------


@rule_of(m.SetPollingSource, m.AddPushSource)
def _merge_lists(source: Source) -> Findings:
    merge = ddl.merge_strategy(source.merge)
    if MERGE_STRATEGIES[merge.kind].has_key:
        yield from _column_list("primaryKey", merge.primary_key, "name the columns that identify a record")
    if merge.compare_columns is not None:
        yield from _column_list("compareColumns", merge.compare_columns, "leave it out to compare all columns")


@rule
def _column_list(key: str, columns: Sequence[str], fix: str) -> Findings:
    path = ("merge", to_snake(key))
    if not columns:
        yield Finding(path, f"`{key}` is empty", fix)
    seen: set[str] = set()
    for index, column in valid(enumerate(columns)):
        if column.lower() in seen:
            yield Finding((*path, index), f"column {column} is repeated")
        seen.add(column.lower())


@rule_of(m.DatasetSnapshot)
def _columns_of_sources(snapshot: m.DatasetSnapshot) -> Findings:
    """Check columns against the merge and, of push sources, those of the first one: their records form one history."""
    events = list(valid(enumerate(snapshot.metadata)))
    vocabs = [event for _, event in events if isinstance(event, m.SetVocab)]
    vocabulary = ddl.vocabulary(vocabs[-1] if vocabs else None)
    first: m.AddPushSource | None = None
    for index, source in events:
        if not isinstance(source, Source):
            continue
        checks = [_columns(source, vocabulary)] if source.preprocess is None else []
        if isinstance(source, m.AddPushSource):
            checks += [_same_history(first, source), _same_columns(first, source, vocabulary)] if first else []
            first = first or source
        yield from (finding.under("metadata", index) for check in checks for finding in check)


@rule
def _columns(source: Source, vocabulary: DatasetVocabulary) -> Findings:
    """Check the declared columns against the merge, if no query changes them before it."""
    paths = {column.name: column.path for column in columns(source.read)}
    types = {column.name: column.type for column in columns(source.read)}
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


# --- push sources of one dataset ------------------------------------------------------------------------------------


@rule
def _same_history(first: m.AddPushSource, source: m.AddPushSource) -> Findings:
    """Check that the strategies share one history: Append and Ledger only add, the others have a newest record of each
    key."""
    one, two = ddl.merge_strategy(first.merge), ddl.merge_strategy(source.merge)
    if not (can_follow(one.kind, two.kind) and can_follow(two.kind, one.kind)):
        message = f"{two.kind} cannot share a history with source {first.source_name}, which merges by {one.kind}"
        yield Finding(("merge",), message, "use one strategy, or split the dataset")
    elif {k.lower() for k in one.primary_key} != {k.lower() for k in two.primary_key}:
        keys = f"({', '.join(two.primary_key)}), that of source {first.source_name} is ({', '.join(one.primary_key)})"
        yield Finding(("merge", "primary_key"), f"the key is {keys}", "use the same key in all sources")


@rule
def _same_columns(first: m.AddPushSource, source: m.AddPushSource, vocabulary: DatasetVocabulary) -> Findings:
    """Compare declared columns; columns of a query are compared when its SQL is translated."""
    one, two = (_declared(s, vocabulary) for s in (first, source))
    if not one or not two:
        return
    for missing in sorted(one.keys() - two.keys()):
        message = f"column {one[missing].name} of source {first.source_name} is missing here"
        yield Finding(("read",), message, "all sources must have the same columns: add it to the schema")
    for name, column in two.items():
        if name not in one:
            message = f"column {column.name} is not in source {first.source_name}"
            yield Finding(("read", *column.path), message, "all sources must have the same columns: add it there")
        elif "" not in (column.type, one[name].type) and column.type != one[name].type:
            message = f"column {column.name} is {column.type} here and {one[name].type} in source {first.source_name}"
            yield Finding(("read", *column.path), message, "declare one type, or convert it in `preprocess`")


def _declared(source: m.AddPushSource, vocabulary: DatasetVocabulary) -> dict[str, DeclaredColumn]:
    """Return the data's columns by lower-case name; none if only the data or a query defines them."""
    if source.preprocess is not None:
        return {}
    own = {vocabulary.event_time_column.lower(), vocabulary.operation_type_column.lower()}
    return {c.name.lower(): c for c in columns(source.read) if c.name.lower() not in own}

"""Whether the columns that a manifest declares go with those that the dataset has: found before anything runs.

Only a read step without preprocess says what the dataset's columns are. What a query makes of them, the engine sees
(`engine.schema`), by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.cycle.difference import column_text
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, model, read_rules
from airflow_provider_odf.manifest.finding import Finding
from airflow_provider_odf.protocol import Column, DatasetVocabulary

_GEOMETRY = "geometry"
_GEO_KINDS = ("GeoJson", "NdGeoJson", "EsriShapefile")
"""Readers that make a column which needs no declaration."""

_SYSTEM_TYPES = (
    (model.DataTypeInt64(),),
    (model.DataTypeInt32(),),
    (model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"),),
    (model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"), model.DataTypeDate()),
)
_IRRELEVANT = re.compile(r" NOT NULL|\s|(?<=TIME)\(\d\)")
"""Of nested types: slices do not keep it."""

Source = model.SetPollingSource | model.AddPushSource


@dataclass(frozen=True)
class Compared:
    """What came of a comparison: paths of the findings start at the source event."""

    findings: list[Finding] = field(default_factory=list)
    added: list[Column] = field(default_factory=list)
    """Columns that the dataset gains with the next data."""


def compare(source: Source, declared: model.SetDataSchema, vocab: DatasetVocabulary, *, is_final: bool) -> Compared:
    """The columns of a source beside those that the dataset has, or is declared to have: if the manifest itself
    declares them (``is_final``), none are gained."""
    result = Compared()
    given = _given(source, vocab) if source.preprocess is None else None
    stored = _stored(declared, vocab)
    if given is None or stored is None:
        return result
    for name, (path, column) in given.items():
        if name in stored:
            result.findings.extend(
                _changed(path, column, stored[name], is_event=name == vocab.event_time_column.lower())
            )
        elif is_final:
            message = f"column {column.name} is not in the SetDataSchema of this manifest"
            result.findings.append(Finding(path, message, "add it there"))
        elif name == vocab.event_time_column.lower():
            continue
        elif not column.is_nullable:
            message = f"column {column.name} is new and NOT NULL, but the records before have no value for it"
            result.findings.append(Finding(path, message, "declare it without NOT NULL"))
        else:
            result.added.append(column)
    result.findings.extend(_missing(source, given, stored, vocab))
    return result


def system_columns(event: model.SetDataSchema, vocab: DatasetVocabulary) -> Iterator[Finding]:
    """What is wrong with the system columns of a declared schema: it is that of slices, which begin with them."""
    fields = chain_schema.resolved(chain_schema.data_schema(event)).fields
    path = ("schema_", "fields") if event.schema_ is not None else ("raw_arrow_schema",)
    for index, (name, types) in enumerate(zip(vocab.columns, _SYSTEM_TYPES, strict=True)):
        found = fields[index] if index < len(fields) else None
        if found is None or found.name != name or found.type not in types:
            wanted = ", ".join(f"{n} {t[0].kind}" for n, t in zip(vocab.columns, _SYSTEM_TYPES, strict=True))
            message = f"the schema of slices begins with the system columns {wanted}, in this order and not optional"
            given = f"{found.name} {found.type.kind}" if found is not None else "nothing"
            yield Finding(path, f"{message}; here {given} stands in place of {name}", "write them first")
            return


def _given(source: Source, vocab: DatasetVocabulary) -> dict[str, tuple[tuple[str | int, ...], Column]] | None:
    """Lower-case name -> path and declaration of each column that reaches the dataset."""
    columns = ddl.columns(source.read)
    if columns is None:
        return None
    operation = vocab.operation_type_column.lower()
    paths = (("read", *found.path) for found in read_rules.columns(source.read))
    pairs = zip(paths, columns, strict=True)
    return {column.name.lower(): (path, column) for path, column in pairs if column.name.lower() != operation}


def _stored(declared: model.SetDataSchema, vocab: DatasetVocabulary) -> dict[str, Column] | None:
    """Lower-case name -> column, of the event time and the data; None where Spark cannot hold one of them."""
    try:
        columns = ddl.odf_columns(chain_schema.data_schema(declared))
    except InvalidInput:
        return None
    system = vocab.columns[:3]
    return {column.name.lower(): column for column in columns if column.name not in system}


def _changed(path: tuple[str | int, ...], given: Column, stored: Column, *, is_event: bool) -> Iterator[Finding]:
    if _bare(given.type) != _bare(stored.type):
        fix = (
            f"convert it back in preprocess, `cast({stored.name} AS {stored.type})`, or give the new form a new name"
            if not is_event
            else "a dataset of another name can have it"
        )
        yield Finding(path, f"column {stored.name} is {stored.type} in the dataset, not {given.type}", fix)
    elif is_event or given.is_nullable == stored.is_nullable:
        return
    elif stored.is_nullable:
        fix = "leave NOT NULL out; a `required` of a data contract refuses nulls from now on"
        yield Finding(path, f"column {stored.name} is nullable in the dataset, and cannot become NOT NULL", fix)
    else:
        fix = f"write `{column_text(stored)}`; nulls need a dataset of another name, or a value from preprocess"
        yield Finding(path, f"column {stored.name} is NOT NULL in the dataset, and stays so", fix)


def _missing(
    source: Source,
    given: dict[str, tuple[tuple[str | int, ...], Column]],
    stored: dict[str, Column],
    vocab: DatasetVocabulary,
) -> Iterator[Finding]:
    attribute = "ddl_schema" if source.read.schema_ is None else "schema_"
    for name, column in stored.items():
        if name in given or name == vocab.event_time_column.lower():
            continue
        if name == _GEOMETRY and source.read.kind in _GEO_KINDS:
            continue
        message = f"column {column_text(column)} of the dataset is missing: columns are neither removed nor renamed"
        fix = (
            f"put it back; where the source no longer has it: `select *, cast(null AS {column.type}) AS {column.name}`"
        )
        yield Finding(("read", attribute), message, fix if column.is_nullable else "put it back")


def _bare(spark_type: str) -> str:
    return _IRRELEVANT.sub("", spark_type).lower()

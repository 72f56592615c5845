"""Whether the columns that a manifest declares go with those that the dataset has: found before anything runs.

A read step without preprocess declares the dataset's columns. Queries of DataFusion are planned here: where the columns
that they read are declared, names and types of their results are known. Of other queries only the names are known,
where they are written out; the rest the engine sees (`engine.schema`), by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from airflow_provider_odf import datafusion
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.cycle.difference import column_text
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, model, read_rules
from airflow_provider_odf.manifest.finding import Finding
from airflow_provider_odf.protocol import Column, DatasetVocabulary

_SYSTEM_TYPES: tuple[tuple[model.DataType, ...], ...] = (
    (model.DataTypeInt64(),),
    (model.DataTypeInt32(),),
    (model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"),),
    (model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"), model.DataTypeDate()),
)
_IRRELEVANT = re.compile(r" NOT NULL|\s|(?<=TIME)\(\d\)")
"""Of nested types: slices do not keep it."""

Source = model.SetPollingSource | model.AddPushSource


Path = tuple[str | int, ...]
Found = tuple[Path, Column]
"""A column and the path of its declaration in the source event."""


@dataclass(frozen=True)
class Compared:
    """What came of a comparison: paths of the findings start at the source event."""

    findings: list[Finding] = field(default_factory=list)
    added: list[Column] = field(default_factory=list)
    """Columns that the dataset gains with the next data; without a type where only the engine knows it."""


def compare(source: Source, declared: model.SetDataSchema, vocab: DatasetVocabulary, *, is_final: bool) -> Compared:
    """The columns of a source beside those that the dataset has, or is declared to have: if the manifest itself
    declares them (``is_final``), none are gained."""
    given, stored = _given(source, vocab), _stored(declared, vocab)
    result = Compared()
    if given is None or stored is None:
        return result
    event_time = vocab.event_time_column.lower()
    for name, (path, column) in given.items():
        if name in stored:
            result.findings.extend(_retyped(path, column, stored[name], is_event=name == event_time))
            # Nulls of a query are found when they come.
            if source.preprocess is None and name != event_time:
                result.findings.extend(_renulled(path, column, stored[name]))
        elif is_final:
            message = f"column {column.name} is not in the SetDataSchema of this manifest"
            result.findings.append(Finding(path, message, "add it there"))
        elif not column.is_nullable:
            message = f"column {column.name} is new and NOT NULL, but the records before have no value for it"
            result.findings.append(Finding(path, message, "declare it without NOT NULL"))
        elif name != event_time:
            result.added.append(column)
    result.findings.extend(_missing(source, given, stored, event_time))
    return result


def lacking(source: Source, added: Sequence[Column], vocab: DatasetVocabulary) -> Iterator[Finding]:
    """Columns that the dataset gains by another source, and that this one does not have."""
    given = _given(source, vocab)
    for column in added if given is not None else ():
        if given is not None and column.name.lower() not in given:
            message = f"column {_text(column)} comes from another source of the dataset, and is missing here"
            yield Finding(_last(source), message, "all sources give the same columns: add it")


def only_data_tell(source: Source) -> bool:
    """Whether a source has a query over columns that nobody declares, so that only data show whether it is valid."""
    return source.preprocess is not None and ddl.columns(source.read) is None


def of_manifest(snapshot: model.DatasetSnapshot) -> dict[str, str] | None:
    """Return the columns that data bring to a dataset as its manifest declares them, with their types as far as they
    are known; None where only the data tell."""
    vocab = ddl.vocabulary(snapshot.last(model.SetVocab))
    schema = snapshot.last(model.SetDataSchema)
    source = snapshot.last(model.SetPollingSource) or snapshot.last(model.AddPushSource)
    columns: Iterable[Column] | None = None
    if schema is not None:
        columns = (_stored(schema, vocab) or {}).values() or None
    elif source is not None and source.preprocess is not None:
        columns = _output(source, source.preprocess)
    elif source is not None:
        columns = ddl.columns(source.read)
    if columns is None:
        return None
    operation = vocab.operation_type_column.lower()
    return {column.name: column.type for column in columns if column.name.lower() != operation}


def known(schema: model.SetDataSchema | None, vocab: DatasetVocabulary) -> tuple[Column, ...]:
    """The columns that a dataset has, as readers without a schema of their own take them.

    The first three system columns have no type there, since the merge makes them of what is given. The event time has
    the dataset's, and may be missing: then it is the source's."""
    stored = _stored(schema, vocab) if schema is not None else None
    if not stored:
        return ()
    system = [Column(name, "") for name in vocab.columns[:3]]
    names = {column.name for column in system}
    data = (column for column in stored.values() if column.name not in names)
    event_time = vocab.event_time_column
    return (*system, *(replace(c, is_nullable=True) if c.name == event_time else c for c in data))


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


def _given(source: Source, vocab: DatasetVocabulary) -> dict[str, Found] | None:
    """By lower-case name each column that reaches the dataset; None where only the data tell."""
    declared = ddl.columns(source.read)
    paths: Iterable[Path]
    if source.preprocess is not None:
        columns = _output(source, source.preprocess)
        paths = repeat(_last(source))
    else:
        columns = declared
        paths = (("read", *found.path) for found in read_rules.columns(source.read))
    if columns is None:
        return None
    operation = vocab.operation_type_column.lower()
    found = zip(paths, columns, strict=False)
    return {column.name.lower(): (path, column) for path, column in found if column.name.lower() != operation}


def _output(source: Source, preprocess: model.TransformSql) -> tuple[Column, ...] | None:
    """The columns that preprocess gives, without types where only the engine knows these; None if nothing is known."""
    # sqlglot takes a third of a second to import.
    from airflow_provider_odf.dialect.place import QueryRefused
    from airflow_provider_odf.dialect.translate import input_columns, translate

    try:
        columns = translate(preprocess, {"input": input_columns(ddl.read_step(source.read))}).columns
    except QueryRefused:  # which is told when the query is translated
        return None
    if columns.others is not None:
        return None
    is_exact = preprocess.engine == datafusion.NAME
    return tuple(Column(name, type_.ddl if is_exact and type_.is_known else "") for name, type_ in columns.known)


def _last(source: Source) -> Path:
    """Where the columns that reach the dataset are written."""
    if source.preprocess is not None:
        return ("preprocess", "queries", max(len(source.preprocess.steps) - 1, 0), "query")
    return ("read", "ddl_schema" if source.read.schema_ is None else "schema_")


def _stored(declared: model.SetDataSchema, vocab: DatasetVocabulary) -> dict[str, Column] | None:
    """Lower-case name -> column, of the event time and the data; None where Spark cannot hold one of them."""
    try:
        columns = ddl.odf_columns(chain_schema.data_schema(declared))
    except InvalidInput:
        return None
    system = vocab.columns[:3]
    return {column.name.lower(): column for column in columns if column.name not in system}


def _retyped(path: Path, given: Column, stored: Column, *, is_event: bool) -> Iterator[Finding]:
    if given.type and _bare(given.type) != _bare(stored.type):
        fix = f"convert it back in preprocess, `cast({stored.name} AS {stored.type})`, or give the new form a new name"
        other = "convert it in preprocess, or start a dataset of another name"
        message = f"column {stored.name} is {stored.type} in the dataset, not {given.type}"
        yield Finding(path, message, other if is_event else fix)


def _renulled(path: Path, given: Column, stored: Column) -> Iterator[Finding]:
    if _bare(given.type) != _bare(stored.type) or given.is_nullable == stored.is_nullable:
        return
    if stored.is_nullable:
        fix = "leave NOT NULL out; a `required` of a data contract refuses nulls from now on"
        yield Finding(path, f"column {stored.name} is nullable in the dataset, and cannot become NOT NULL", fix)
    else:
        fix = f"write `{column_text(stored)}`; nulls need a dataset of another name, or a value from preprocess"
        yield Finding(path, f"column {stored.name} is NOT NULL in the dataset, and stays so", fix)


def _missing(
    source: Source, given: Mapping[str, Found], stored: Mapping[str, Column], event_time: str
) -> Iterator[Finding]:
    for name, column in stored.items():
        if name in given or name == event_time:
            continue
        message = f"column {column_text(column)} of the dataset is missing: columns are neither removed nor renamed"
        null = f"cast(null AS {column.type}) AS {column.name}"
        fix = f"put it back; where the source no longer has it, have preprocess select `{null}`"
        yield Finding(_last(source), message, fix if column.is_nullable else "put it back")


def _text(column: Column) -> str:
    return column_text(column).strip()


def _bare(spark_type: str) -> str:
    return _IRRELEVANT.sub("", spark_type).lower().replace("`", "")

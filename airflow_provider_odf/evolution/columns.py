"""Compare the columns that a manifest declares with those that the dataset has, before anything runs.

A read step without preprocess declares the dataset's columns. Queries of DataFusion are planned here: where the columns
that they read are declared, names and types of their results are known. Of other queries only the names are known, if
they are explicit; the engine checks the rest by the same rules (`engine.schema`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from airflow_provider_odf import datafusion
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, model, source_rules
from airflow_provider_odf.manifest.findings import Finding
from airflow_provider_odf.protocol import Column, DatasetVocabulary, ReadStep, Transform

_SYSTEM_TYPES: tuple[tuple[model.DataType, ...], ...] = (
    (model.DataTypeInt64(),),
    (model.DataTypeInt32(),),
    (model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"),),
    (model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"), model.DataTypeDate()),
)
_IRRELEVANT = re.compile(r" NOT NULL|\s|(?<=TIME)\(\d\)")
"""Parts of nested types that slices do not keep."""

Source = model.SetPollingSource | model.AddPushSource


Path = tuple[str | int, ...]
Declaration = tuple[Path, Column]
"""A column, and the path in the source event where it is declared."""


@dataclass(frozen=True)
class Compared:
    """Result of a comparison. Paths of the findings start at the source event."""

    findings: list[Finding] = field(default_factory=list)
    added: list[Column] = field(default_factory=list)
    """Columns that the dataset gains with the next data; without a type where only the engine knows it."""


def compare(source: Source, declared: model.SetDataSchema, vocab: DatasetVocabulary, *, is_final: bool) -> Compared:
    """Compare the columns of a source with those that the dataset has, or is declared to have. A dataset whose manifest
    declares its columns (``is_final``) gains none."""
    declarations, stored = _source_columns(source, vocab), _dataset_columns(declared, vocab)
    result = Compared()
    if declarations is None or stored is None:
        return result
    event_time = vocab.event_time_column.lower()
    for name, (path, column) in declarations.items():
        if name in stored:
            result.findings.extend(_type_findings(path, column, stored[name], is_event=name == event_time))
            # The merge checks nulls that a query returns.
            if source.preprocess is None and name != event_time:
                result.findings.extend(_null_findings(path, column, stored[name]))
        elif is_final:
            message = f"column {column.name} is not in the SetDataSchema of this manifest"
            result.findings.append(Finding(path, message, "add it there"))
        elif not column.is_nullable:
            message = f"column {column.name} is new and NOT NULL, but earlier records have no value for it"
            result.findings.append(Finding(path, message, "declare it without NOT NULL"))
        elif name != event_time:
            result.added.append(column)
    result.findings.extend(_missing_columns(source, declarations, stored, event_time))
    return result


def absent(source: Source, added: Sequence[Column], vocab: DatasetVocabulary) -> Iterator[Finding]:
    """Yield a finding for each column that the dataset gains by another source and that this source does not have."""
    columns = _source_columns(source, vocab)
    for column in added:
        if columns is not None and column.name.lower() not in columns:
            message = (
                f"column {column_text(column).strip()} comes from another source of the dataset, and is missing here"
            )
            yield Finding(_last(source), message, "all sources must have the same columns: add it")


def needs_data(source: Source) -> bool:
    """Return whether a source has a query over columns that nobody declares: only data show whether it is valid."""
    return source.preprocess is not None and ddl.columns(source.read) is None


def preprocess(source: Source, read: ReadStep) -> Transform | None:
    """Return the preprocess step of a source in Spark SQL, or None.

    :raises InvalidInput: the SQL has no exact translation.
    """
    if source.preprocess is None:
        return None
    # sqlglot takes a third of a second to import.
    from airflow_provider_odf.dialect.translate import input_columns, preprocess_to_spark

    return preprocess_to_spark(source.preprocess, {"input": input_columns(read)})


def of_manifest(snapshot: model.DatasetSnapshot) -> dict[str, str] | None:
    """Return the columns that data bring to a dataset as its manifest declares them, with their types as far as they
    are known; None if only the data show them."""
    vocab = ddl.vocabulary(snapshot.last(model.SetVocab))
    schema = snapshot.last(model.SetDataSchema)
    source = snapshot.last(model.SetPollingSource) or snapshot.last(model.AddPushSource)
    columns: Iterable[Column] | None = None
    if schema is not None:
        columns = (_dataset_columns(schema, vocab) or {}).values() or None
    elif source is not None and source.preprocess is not None:
        columns = _output(source, source.preprocess)
    elif source is not None:
        columns = ddl.columns(source.read)
    if columns is None:
        return None
    operation = vocab.operation_type_column.lower()
    return {column.name: column.type for column in columns if column.name.lower() != operation}


def reader_columns(schema: model.SetDataSchema | None, vocab: DatasetVocabulary) -> tuple[Column, ...]:
    """Return the columns of a dataset for read steps that have no schema of their own.

    The first three system columns have no type, since the merge computes them. The event time has the dataset's type,
    and may be missing: then it is the source's."""
    stored = _dataset_columns(schema, vocab) if schema is not None else None
    if not stored:
        return ()
    system = [Column(name, "") for name in vocab.columns[:3]]
    names = {column.name for column in system}
    data = (column for column in stored.values() if column.name not in names)
    event_time = vocab.event_time_column
    return (*system, *(replace(c, is_nullable=True) if c.name == event_time else c for c in data))


def system_columns(event: model.SetDataSchema, vocab: DatasetVocabulary) -> Iterator[Finding]:
    """Yield a finding if a declared schema does not begin with the system columns."""
    fields = chain_schema.with_defaults(chain_schema.data_schema(event)).fields
    path = ("schema_", "fields") if event.schema_ is not None else ("raw_arrow_schema",)
    for index, (name, types) in enumerate(zip(vocab.columns, _SYSTEM_TYPES, strict=True)):
        field = fields[index] if index < len(fields) else None
        if field is None or field.name != name or field.type not in types:
            expected = ", ".join(f"{n} {t[0].kind}" for n, t in zip(vocab.columns, _SYSTEM_TYPES, strict=True))
            message = f"the schema must start with the required system columns {expected}, in this order"
            actual = f"{field.name} {field.type.kind}" if field is not None else "nothing"
            yield Finding(path, f"{message}; found {actual} instead of {name}", "declare them first")
            return


def _source_columns(source: Source, vocab: DatasetVocabulary) -> dict[str, Declaration] | None:
    """Return each column that reaches the dataset by its lower-case name; None if only the data show them."""
    declared = ddl.columns(source.read)
    paths: Iterable[Path]
    if source.preprocess is not None:
        columns = _output(source, source.preprocess)
        paths = repeat(_last(source))
    else:
        columns = declared
        paths = (("read", *column.path) for column in source_rules.columns(source.read))
    if columns is None:
        return None
    operation = vocab.operation_type_column.lower()
    placed = zip(paths, columns, strict=False)
    return {column.name.lower(): (path, column) for path, column in placed if column.name.lower() != operation}


def _output(source: Source, preprocess: model.TransformSql) -> tuple[Column, ...] | None:
    """Return the result columns of preprocess, without types where only the engine knows them; None if unknown."""
    # sqlglot takes a third of a second to import.
    from airflow_provider_odf.dialect.translate import input_columns, translate

    try:
        columns = translate(preprocess, {"input": input_columns(ddl.read_step(source.read))}).columns
    except QueryProblem:  # It is reported when the query is translated.
        return None
    if columns.others is not None:
        return None
    is_exact = preprocess.engine == datafusion.NAME
    return tuple(Column(name, type_.ddl if is_exact and type_.is_known else "") for name, type_ in columns.items)


def _last(source: Source) -> Path:
    """Return the path of the text that decides which columns reach the dataset."""
    if source.preprocess is not None:
        return ("preprocess", "queries", max(len(source.preprocess.steps) - 1, 0), "query")
    return ("read", "ddl_schema" if source.read.schema_ is None else "schema_")


def _dataset_columns(declared: model.SetDataSchema, vocab: DatasetVocabulary) -> dict[str, Column] | None:
    """Return event time and data columns by lower-case name; None where Spark cannot hold one of them."""
    try:
        columns = ddl.odf_columns(chain_schema.data_schema(declared))
    except InvalidInput:
        return None
    system = vocab.columns[:3]
    return {column.name.lower(): column for column in columns if column.name not in system}


def column_text(column: Column) -> str:
    """``trees INT``, ``park STRING NOT NULL``."""
    return f"{column.name} {column.type}" + ("" if column.is_nullable else " NOT NULL")


def _type_findings(path: Path, column: Column, stored: Column, *, is_event: bool) -> Iterator[Finding]:
    if column.type and _bare(column.type) != _bare(stored.type):
        fix = f"convert it back in preprocess, `cast({stored.name} AS {stored.type})`, or use a new column name"
        other = "convert it in preprocess, or start a new dataset with another name"
        message = f"column {stored.name} is {stored.type} in the dataset, not {column.type}"
        yield Finding(path, message, other if is_event else fix)


def _null_findings(path: Path, column: Column, stored: Column) -> Iterator[Finding]:
    if _bare(column.type) != _bare(stored.type) or column.is_nullable == stored.is_nullable:
        return
    if stored.is_nullable:
        fix = "remove NOT NULL; to reject nulls from now on, use `required` in a data contract"
        yield Finding(path, f"column {stored.name} is nullable in the dataset, and cannot become NOT NULL", fix)
    else:
        fix = f"write `{column_text(stored)}`; replace nulls in preprocess, or start a new dataset with another name"
        yield Finding(path, f"column {stored.name} is NOT NULL in the dataset, and must stay NOT NULL", fix)


def _missing_columns(
    source: Source, declarations: Mapping[str, Declaration], stored: Mapping[str, Column], event_time: str
) -> Iterator[Finding]:
    for name, column in stored.items():
        if name in declarations or name == event_time:
            continue
        message = f"column {column_text(column)} of the dataset is missing: columns cannot be removed or renamed"
        null = f"cast(null AS {column.type}) AS {column.name}"
        fix = f"restore it; if the source no longer has it, select `{null}` in preprocess"
        yield Finding(_last(source), message, fix if column.is_nullable else "restore it")


def _bare(spark_type: str) -> str:
    return _IRRELEVANT.sub("", spark_type).lower().replace("`", "")

"""Rules for a read step: invalid schemas, patterns and options, and the declared columns."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, ddl_parser
from airflow_provider_odf.manifest.data_schema import DataField, DataSchema
from airflow_provider_odf.manifest.encoding import python_name
from airflow_provider_odf.manifest.findings import INVALID, Finding, NotValid, rule, valid
from airflow_provider_odf.manifest.fragments import ReadStep
from airflow_provider_odf.manifest.time_format import java_pattern
from airflow_provider_odf.protocol import Column
from airflow_provider_odf.read_steps import GEOMETRY, NOT_IN_CSV_FORMAT, READ_STEPS, Types
from airflow_provider_odf.wording import suggestion

_NESTED = ("ARRAY<", "MAP<", "STRUCT<")
_MOST_PIECES = 20
_LIST_OF_STRUCTS = re.compile("(ARRAY<)+STRUCT<")
_KEY = re.compile(r"\bMAP<(\w+)")


@dataclass(frozen=True)
class DeclaredColumn:
    """Column of a read step's schema; ``type`` is empty if it cannot be parsed."""

    path: tuple[str | int, ...]
    name: str
    type: str


@rule
def check(read: ReadStep) -> Iterator[Finding]:
    yield from _ddl_schema(read.ddl_schema)
    yield from _odf_schema(read.schema_)
    yield from _empty_schema(read)
    yield from _repeated_columns(read)
    if read.kind == "Csv":
        yield from _characters(read.separator, read.quote, read.escape)
    if READ_STEPS[read.kind].types is Types.TEXT:
        yield from _flat(read)
    if READ_STEPS[read.kind].types is Types.JSON:
        yield from _keys_of_maps(read)
    yield from _encoding(getattr(read, "encoding", None))
    for name in ("date_format", "timestamp_format"):
        yield from _format(name, getattr(read, name, None))
    if READ_STEPS[read.kind].has_geometry:
        yield from _geometry(read)
    if read.kind == "EsriShapefile" and read.sub_path == "":
        yield Finding(("sub_path",), "`subPath` is empty", "remove it if the archive has only one shapefile")


@rule
def _characters(separator: str | None, quote: str | None, escape: str | None) -> Iterator[Finding]:
    separator = "," if separator is None else separator.replace("\\t", "\t")
    quote, escape = ('"' if quote is None else quote), ("\\" if escape is None else escape)
    for name, value in (("separator", separator), ("quote", quote), ("escape", escape)):
        if len(value) > 1:
            yield Finding((name,), f"`{name}` must be a single character")
        if value in NOT_IN_CSV_FORMAT:
            yield Finding((name,), f"`{name}` cannot be a line end or NUL")
    if separator == "":
        yield Finding(("separator",), "`separator` is empty")
    elif len(separator) == 1 and separator in (quote, escape):
        yield Finding(("separator",), "`separator` is also the quote or the escape character", "choose another")


@rule
def _flat(read: ReadStep) -> Iterator[Finding]:
    for column in columns(read):
        if column.type.startswith(_NESTED):
            message = f"column {column.name}: {column.type} cannot be read from CSV"
            yield Finding(column.path, message, "declare STRING, and use from_json in preprocess")


@rule
def check_stored(read: ReadStep) -> Iterator[Finding]:
    """Yield columns that slices cannot have, where no query converts them."""
    for column in columns(read):
        kind = re.sub("`[^`]*`", "", column.type)
        what = "a map" if "MAP<" in kind else "a list of structs" if _LIST_OF_STRUCTS.search(kind) else ""
        if what:
            name = column.name
            rows = f", or one row for each: `inline({name})`" if kind.startswith("ARRAY<STRUCT<") else ""
            message = f"column {name} has {what}, which datasets do not support"
            yield Finding(
                column.path, message, f"select in preprocess, in Spark SQL: `to_json({name}) AS {name}`{rows}"
            )


@rule
def _keys_of_maps(read: ReadStep) -> Iterator[Finding]:
    for column in columns(read):
        if any(key != "STRING" for key in _KEY.findall(column.type)):
            yield Finding(column.path, f"column {column.name}: keys of a MAP are STRING in JSON")


@rule
def _encoding(encoding: str | None) -> Iterator[Finding]:
    try:
        python_name(encoding or "")
    except ValueError as e:
        yield Finding(("encoding",), str(e), "such as utf-8, latin1, windows-1252")


@rule
def _format(name: str, pattern: str | None) -> Iterator[Finding]:
    try:
        java_pattern(pattern or "")
    except ValueError as e:
        yield Finding((name,), str(e))


@rule
def _ddl_schema(entries: Sequence[str] | None) -> Iterator[Finding]:
    pieces = range(0)
    for index, entry in valid(enumerate(entries or ())):
        if index in pieces:
            continue
        path = ("ddl_schema", index)
        try:
            for definition in ddl_parser.parse(entry):
                if definition.note:
                    yield Finding(path, f"column {definition.column.name}: {definition.note}", is_warning=True)
        except ddl_parser.DdlError as e:
            if pieces := _pieces(entries or (), index):
                column = ", ".join((entries or ())[index : pieces.stop]).replace('"', "'")
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


@rule
def _odf_schema(schema: DataSchema | None) -> Iterator[Finding]:
    for index, field in valid(enumerate(schema.fields if schema else ())):
        yield from (finding.under("schema_", "fields", index) for finding in _field(field))


@rule
def _field(field: DataField) -> Iterator[Finding]:
    try:
        ddl.spark_type(field.type)
    except InvalidInput as e:
        yield Finding(("type",), f"column {field.name}: {e}")


@rule
def _empty_schema(read: ReadStep) -> Iterator[Finding]:
    attribute, schema = ("ddl_schema", read.ddl_schema) if read.schema_ is None else ("schema_", read.schema_.fields)
    if schema is not None and not schema:
        yield Finding((attribute,), "the schema has no columns", "leave it out")


def columns(read: ReadStep) -> Iterator[DeclaredColumn]:
    """Return the columns that a read step declares.

    :raises NotValid: the name in a definition cannot be parsed.
    """
    for index, entry in enumerate(read.ddl_schema or ()):
        path = ("ddl_schema", index)
        yield from (DeclaredColumn(path, column.name, column.type) for column in _ddl_columns(entry))
    for index, field in enumerate(read.schema_.fields if read.schema_ else ()):
        yield DeclaredColumn(("schema_", "fields", index, "name"), field.name, _spark_type(field))


@rule
def _geometry(read: ReadStep) -> Iterator[Finding]:
    for column in columns(read):
        if column.name.lower() == GEOMETRY and column.type not in ("", "STRING"):
            yield Finding(column.path, f"column {column.name} is the text of a GeoJSON geometry", "declare it STRING")


@rule
def _repeated_columns(read: ReadStep) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for column in columns(read):
        name = column.name
        if first := seen.get(name.lower()):
            message = f"column {name} is declared twice" + (f", also as {first}" if first != name else "")
            yield Finding(column.path, message)
        seen.setdefault(name.lower(), name)


def _ddl_columns(entry: str) -> list[Column]:
    if entry is INVALID:
        raise NotValid
    try:
        return [definition.column for definition in ddl_parser.parse(entry)]
    except ddl_parser.DdlError as e:
        if (name := ddl_parser.single_name(entry)) is None:
            raise NotValid from e
        return [Column(name, "")]


def _spark_type(field: DataField) -> str:
    try:
        return ddl.spark_type(field.type)
    except (InvalidInput, NotValid):
        return ""

"""ReadStep::Json and ReadStep::NdJson of the specification.

Keys are matched ignoring case. Numbers as TIMESTAMP are milliseconds. ``"1"`` and ``1.0`` are valid BIGINTs. STRING
accepts any value as its JSON text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import types as st

from airflow_provider_odf.engine.read import convert, json_text, raw, source
from airflow_provider_odf.engine.read.convert import OpenFile
from airflow_provider_odf.engine.read.json_text import Number, brief, compact
from airflow_provider_odf.engine.read.scalar import MILLIS, NESTED
from airflow_provider_odf.engine.read.source import Chunk, Malformed, ignored_columns
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep
from airflow_provider_odf.read_steps import MAX_DEPTH
from airflow_provider_odf.wording import listed

_SAMPLE = 10_000
"""Number of records that are searched for keys outside the schema."""

_FIRST_ROWS, _MOST_ROWS = 500, 20_000
_BATCH_BYTES = 4 << 20
"""Size of a batch in Arrow. As Python objects, it takes ten times as much."""


def open_json(step: ReadStep, path: str, label: str) -> OpenFile:
    """Open one file with an array of objects at ``subPath``."""
    records = JsonRecords(source.encoding(step.encoding), tuple(filter(None, (step.sub_path or "").split("."))))
    return open_records(step, records, path, label)


def open_ndjson(step: ReadStep, path: str, label: str) -> OpenFile:
    """Open one file with an object on each line."""
    return open_records(step, JsonLines(source.encoding(step.encoding)), path, label)


@dataclass(frozen=True)
class JsonRecords:
    encoding: str
    path: tuple[str, ...] = ()
    unit = "record"
    is_divisible = False

    def objects(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        return json_text.in_array(source.texts(chunk, self.encoding), self.path)


@dataclass(frozen=True)
class JsonLines:
    encoding: str
    unit = "line"

    @property
    def is_divisible(self) -> bool:
        return source.is_cut_at_newline_bytes(self.encoding)

    def objects(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        return json_text.on_lines(source.texts(chunk, self.encoding), chunk.first_line)


def open_records(step: ReadStep, records: JsonRecords | JsonLines, path: str, label: str) -> OpenFile:
    """Open the records of one file.

    :raises InvalidQuery: a declared type or, without a schema, the data are not valid.
    """
    chunks = source.chunks(path, records.is_divisible)
    columns = step.columns or _inferred(records, chunks, step.known_columns, label)
    schema = convert.spark_types(columns)
    for name, kind in ((f.name, f.dataType) for f in schema if isinstance(f.dataType, st.MapType)):
        if not isinstance(kind.keyType, st.StringType):
            raise InvalidQuery(f"column {name}: keys of a MAP are STRING in JSON, not {kind.keyType.simpleString()}")
    notices = _ignored_keys(records, chunks, schema, label) if step.columns or step.known_columns else ()
    return OpenFile(step, JsonParser(records, schema), chunks, columns, label, records.unit, notices)


def _ignored_keys(
    records: JsonRecords | JsonLines, chunks: Sequence[Chunk], schema: st.StructType, label: str
) -> tuple[str, ...]:
    ignored, keys = dict[str, None](), set[str]()
    with suppress(Malformed):  # the check of the rows reports it
        for _, record in islice(records.objects(chunks[0]), _SAMPLE):
            ignored |= dict.fromkeys(undeclared_keys(record, schema))
            keys.update(map(str.lower, record))
    # One may be a misspelling of the other.
    absent = [name for name in schema.names if name.lower() not in keys]
    also = f"; no values for: {listed(absent)}" if absent else ""
    return tuple(notice + also for notice in ignored_columns(label, ignored))


def _inferred(
    records: JsonRecords | JsonLines, chunks: Sequence[Chunk], known: Sequence[Column], label: str
) -> tuple[Column, ...]:
    """Return the columns of the records. Columns of the dataset keep their types, also if this input lacks them.

    If there are new columns, missing ones are not added: a column may have been renamed, and the merge must report it.
    """
    try:
        kinds = inferred_types(record for chunk in chunks for _, record in records.objects(chunk))
    except Malformed as e:
        raise InvalidQuery(f"{label}: {e}") from None
    types = {column.name.lower(): column for column in known}
    inferred = tuple(convert.with_known_type(Column(name, kind), types) for name, kind in kinds.items())
    keys = {name.lower() for name in kinds}
    is_any_new = bool(keys - types.keys())
    absent = (column for column in known if column.type and column.name.lower() not in keys)
    return inferred if is_any_new else (*inferred, *absent)


@dataclass(frozen=True)
class JsonParser:
    records: JsonRecords | JsonLines
    schema: st.StructType

    @cached_property
    def columns(self) -> tuple[pa.Field, ...]:
        types = (arrow_type(f.dataType) for f in self.schema)
        return tuple(pa.field(convert.raw_name(i), t) for i, t in enumerate(types))

    def parse(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        records, length = self.records.objects(chunk), _FIRST_ROWS
        while block := list(islice(records, length)):
            rows = [self._row(place, record) for place, record in block]
            arrays = [pa.array([row[i] for row in rows], column.type) for i, column in enumerate(self.columns)]
            batch = raw.batch(self, arrays, pa.array([place for place, _ in block], pa.int64()))
            yield batch
            length = max(1, min(_MOST_ROWS, len(block) * _BATCH_BYTES // batch.nbytes))

    def _row(self, place: int, record: dict[str, Any]) -> list[Raw]:
        try:
            return [raw_value(find(record, f.name), f.dataType, f.name) for f in self.schema]
        except Malformed as e:
            raise Malformed(f"{self.records.unit} {place}, {e}") from None


Raw: TypeAlias = str | list[Any] | dict[str, Any] | None


def arrow_type(kind: st.DataType) -> pa.DataType:
    """Return the type of a raw value: text, or lists, structs and maps of text."""
    if isinstance(kind, st.ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, st.MapType):
        return pa.map_(pa.string(), arrow_type(kind.valueType))
    if isinstance(kind, st.StructType):
        return pa.struct([pa.field(f"r{i}", arrow_type(f.dataType)) for i, f in enumerate(kind)])
    return pa.string()


def find(record: dict[str, Any], name: str) -> Any:
    """Return the value of a key, or None. Keys are matched ignoring case, unless two differ only by case.

    :raises Malformed: several keys match, and none exactly.
    """
    if name in record:
        return record[name]
    matching = [key for key in record if key.lower() == name.lower()]
    if len(matching) > 1:
        raise Malformed(f"column {name}: the keys {' and '.join(matching)} differ only by case")
    return record[matching[0]] if matching else None


def raw_value(value: Any, kind: st.DataType, path: str) -> Raw:
    """Return a JSON value as the raw value of a column.

    :raises Malformed: the schema has ARRAY and the value is no array, or STRUCT or MAP and it is no object.
    """
    if value is None:
        return None
    if isinstance(kind, st.ArrayType):
        _expect(value, list, kind, path)
        return [raw_value(v, kind.elementType, f"{path}[]") for v in value]
    if isinstance(kind, st.StructType):
        _expect(value, dict, kind, path)
        return {f"r{i}": raw_value(find(value, f.name), f.dataType, f"{path}.{f.name}") for i, f in enumerate(kind)}
    if isinstance(kind, st.MapType):
        _expect(value, dict, kind, path)
        return [(key, raw_value(v, kind.valueType, f"{path}{{}}")) for key, v in value.items()]
    return _text(value, kind)


def undeclared_keys(value: Any, kind: st.DataType, path: str = "") -> Iterator[str]:
    """Yield the keys of a value, and of nested values, that its type has no field for: ``a``, ``a.b``, ``a[].b``."""
    if isinstance(kind, st.ArrayType) and isinstance(value, list):
        for v in value:
            yield from undeclared_keys(v, kind.elementType, f"{path}[]")
    elif isinstance(kind, st.MapType) and isinstance(value, dict):
        for v in value.values():
            yield from undeclared_keys(v, kind.valueType, f"{path}{{}}")
    elif isinstance(kind, st.StructType) and isinstance(value, dict):
        fields = {f.name.lower(): f for f in kind}
        for key, v in value.items():
            f = fields.get(key.lower())
            name = f"{path}.{key}" if path else key
            if f is None or (f.name != key and f.name in value):
                yield name
            elif isinstance(f.dataType, NESTED):
                yield from undeclared_keys(v, f.dataType, name)


def _expect(value: Any, form: type, kind: st.DataType, path: str) -> None:
    if not isinstance(value, form):
        raise Malformed(f"column {path}: {brief(value)} is not {kind.simpleString().upper()}")


def _text(value: Any, kind: st.DataType) -> str:
    if isinstance(kind, st.VariantType):
        return compact(value)
    if isinstance(value, Number):
        if isinstance(kind, st.TimestampType | st.TimestampNTZType):
            return MILLIS + _whole(value)
        return _whole(value) if isinstance(kind, st.IntegralType) else str(value)
    if isinstance(value, str):
        # A text in the data must not pass as a marked number.
        return f" {value}" if value.startswith(MILLIS) and isinstance(kind, st.TimestampType) else value
    return compact(value)


def _whole(number: str) -> str:
    """Return ``1.0`` and ``1e2`` as ``1`` and ``100``, and other numbers unchanged."""
    if number.lstrip("-").isdigit():
        return str(number)
    try:
        exact = Decimal(number)
        return str(int(exact)) if exact.adjusted() < 40 and exact == exact.to_integral_value() else str(number)
    except (InvalidOperation, ValueError, OverflowError):
        return str(number)


def inferred_types(records: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return column names with DDL types that hold all their values.

    The order of keys in an object has no meaning, so that a source may change it. The names of the first record come
    first, sorted, then those that later records add.

    :raises Malformed: an invalid name, two keys that differ only by case, or values nested too deeply for a type.
    """
    kinds: dict[str, Any] = {}
    for record in records:
        for key in sorted(record):
            kinds[key] = _merge(kinds.get(key), _kind(record[key], key))
    _expect_names(kinds)
    return {key: _ddl(kind) for key, kind in kinds.items()}


def _expect_names(keys: Iterable[str]) -> None:
    spellings: dict[str, str] = {}
    for key in keys:
        if not key:
            raise Malformed("a key is empty and cannot name a column: declare a schema")
        if other := spellings.get(key.lower()):
            raise Malformed(f"the keys {other} and {key} differ only by case: declare a schema with one of them")
        spellings[key.lower()] = key


def _kind(value: Any, column: str, depth: int = 0) -> Any:
    """Return the kind of a value.

    It is None for null, a type name, a dict of field kinds for an object, or a list of one kind for an array.
    """
    if value is None:
        return None
    if isinstance(value, dict | list) and depth == MAX_DEPTH:
        reason = f"column {column}: values are nested more than {MAX_DEPTH} deep"
        raise Malformed(f"{reason}: declare a schema in which it is STRING")
    if isinstance(value, dict):
        return {key: _kind(value[key], column, depth + 1) for key in sorted(value)}
    if isinstance(value, list):
        inner = None
        for v in value:
            inner = _merge(inner, _kind(v, column, depth + 1))
        return [inner]
    if isinstance(value, Number):
        return _kind_of_number(value)
    return "BOOLEAN" if isinstance(value, bool) else "STRING"


def _kind_of_number(number: str) -> str:
    """Return the type of a number; STRING if neither BIGINT nor DOUBLE keeps its digits, as for an id of 20 digits."""
    if not number.lstrip("-").isdigit():
        return "DOUBLE"
    if len(number) < 19 or (len(number) < 21 and -(2**63) <= int(number) < 2**63):
        return "BIGINT"
    return "DOUBLE" if len(number) < 310 and Decimal(repr(float(number))) == Decimal(number) else "STRING"


def _merge(a: Any, b: Any) -> Any:
    if a is None or b is None or a == b:
        return b if a is None else a
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: _merge(a.get(key), b.get(key)) for key in {**a, **b}}
    if isinstance(a, list) and isinstance(b, list):
        return [_merge(a[0], b[0])]
    return "DOUBLE" if a in _NUMERIC and b in _NUMERIC else "STRING"


_NUMERIC = ("BIGINT", "DOUBLE")


def _ddl(kind: Any) -> str:
    if isinstance(kind, dict) and kind:
        _expect_names(kind)
        fields = (f"`{key.replace('`', '``')}`: {_ddl(inner)}" for key, inner in kind.items())
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, list):
        return f"ARRAY<{_ddl(kind[0])}>"
    return kind if isinstance(kind, str) else "STRING"

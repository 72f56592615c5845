"""ReadStep::Json and ReadStep::NdJson of the specification.

Keys are matched ignoring case. Numbers as TIMESTAMP are milliseconds. ``"1"`` and ``1.0`` are valid BIGINTs. STRING
accepts any value as its JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

from airflow_provider_odf.engine.read import convert, infer, json_columns, json_values, raw, source
from airflow_provider_odf.engine.read.open_file import OpenFile
from airflow_provider_odf.engine.read.problem import Malformed, ignored_columns
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep
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

    def of(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        return json_values.in_array(source.texts(chunk, self.encoding), self.path)


@dataclass(frozen=True)
class JsonLines:
    encoding: str
    unit = "line"

    @property
    def is_divisible(self) -> bool:
        return source.is_cut_at_newline_bytes(self.encoding)

    def of(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        return json_values.on_lines(source.texts(chunk, self.encoding), chunk.first_line)


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
        for _, record in islice(records.of(chunks[0]), _SAMPLE):
            ignored |= dict.fromkeys(json_columns.undeclared_keys(record, schema))
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
        kinds = json_columns.infer(record for chunk in chunks for _, record in records.of(chunk))
    except Malformed as e:
        raise InvalidQuery(f"{label}: {e}") from None
    types = {column.name.lower(): column for column in known}
    inferred = tuple(infer.with_known_type(Column(name, kind), types) for name, kind in kinds.items())
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
        types = (json_columns.arrow_type(f.dataType) for f in self.schema)
        return tuple(pa.field(convert.raw_name(i), t) for i, t in enumerate(types))

    def parse(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        records, length = self.records.of(chunk), _FIRST_ROWS
        while block := list(islice(records, length)):
            rows = [self._row(place, record) for place, record in block]
            arrays = [pa.array([row[i] for row in rows], column.type) for i, column in enumerate(self.columns)]
            batch = raw.batch(self, arrays, pa.array([place for place, _ in block], pa.int64()))
            yield batch
            length = max(1, min(_MOST_ROWS, len(block) * _BATCH_BYTES // batch.nbytes))

    def _row(self, place: int, record: dict[str, Any]) -> list[json_columns.Raw]:
        try:
            return [json_columns.raw_value(json_columns.find(record, f.name), f.dataType, f.name) for f in self.schema]
        except Malformed as e:
            raise Malformed(f"{self.records.unit} {place}, {e}") from None

"""The columns of slices in Arrow, as text, and as those who write and read them see their types."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.types as pt

OP = "odf:op"
"""Column of records before they are written: the code of the operation."""

MILLISECONDS = pa.timestamp("ms", "UTC")

READ_AS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.time32("ms"): pa.time64("us"),
    pa.time64("ns"): pa.time64("us"),
    pa.string_view(): pa.string(),
    pa.large_string(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.large_binary(): pa.binary(),
}
"""Types that other writers of a dataset may have stored, and the types that Spark reads them as."""


def encode(schema: pa.Schema) -> str:
    """Return the schema as an Arrow IPC message in base64, as in requests and responses."""
    return base64.b64encode(schema.serialize()).decode()


def decode(text: str) -> pa.Schema:
    """Return the schema from the text of ``encode``."""
    return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text))).remove_metadata()


def plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema for writing: plain types instead of views and large types, which have the same hash."""
    views = {k: v for k, v in READ_AS.items() if pt.is_string(v) or pt.is_binary(v)}
    return pa.schema([f.with_type(with_types(f.type, views)) for f in schema])


def readable(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the types that Spark reads the columns as."""
    return pa.schema([f.with_type(with_types(f.type, READ_AS)) for f in schema])


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows of a file with the columns of a schema, in its types. Columns that the file lacks are null."""
    present = set(table.column_names)
    columns = [
        table[field.name].cast(field.type) if field.name in present else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def with_types(kind: pa.DataType, types: Mapping[pa.DataType, pa.DataType]) -> pa.DataType:
    """Return a type with replacements by ``types``, also of nested types. Nested fields become nullable."""
    if pt.is_struct(kind):
        return pa.struct([(f.name, with_types(f.type, types)) for f in kind.fields])
    if pt.is_list(kind) or pt.is_large_list(kind):
        return pa.list_(pa.field("element", with_types(kind.value_type, types)))
    return types.get(kind, kind)

from __future__ import annotations

import base64
import struct

import datafusion
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.chain import arrow_schema
from airflow_provider_odf.errors import ChainCorrupted, TypeUnsupported

TYPES = [
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.int64(),
    pa.uint16(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(5),
    pa.decimal128(9, 2),
    pa.decimal256(50, 2),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("ms"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("ns", "+02:00"),
    pa.duration("ms"),
    pa.list_(pa.int64()),
    pa.list_(pa.field("element", pa.string(), nullable=False)),
    pa.large_list(pa.int32()),
    pa.list_(pa.int32(), 3),
    pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.list_(pa.float64()), nullable=False)]),
    pa.map_(pa.string(), pa.int64()),
]
WIDE = pa.schema([pa.field(f"column-{n}", t, nullable=n % 3 != 1) for n, t in enumerate(TYPES)])


def written_by_rust(schema: pa.Schema, folder) -> bytes:
    """The IPC message that Arrow's library for Rust makes of a schema, out of the Parquet file in which it puts it."""
    datafusion.SessionContext().from_arrow(schema.empty_table()).write_parquet(str(folder / "x.parquet"))
    (path,) = [p for p in folder.rglob("*") if p.is_file()]
    return base64.b64decode(pq.ParquetFile(path).metadata.metadata[b"ARROW:schema"])[8:]


@pytest.mark.parametrize("schema", [*(pa.schema([pa.field("a", t)]) for t in TYPES), WIDE], ids=str)
def test_bytes_are_those_that_the_rust_library_writes(schema, tmp_path):
    """Flatbuffers are built from their end; only the start, up to the root table, depends on what is around it."""
    ours = arrow_schema.encode(schema)
    (root,) = struct.unpack_from("<I", ours)
    vtable = root - struct.unpack_from("<i", ours, root)[0]
    start = min(root, vtable)
    assert start <= 12
    assert written_by_rust(schema, tmp_path).endswith(ours[start:])


@pytest.mark.parametrize("schema", [*(pa.schema([pa.field("a", t)]) for t in TYPES), WIDE, pa.schema([])], ids=str)
def test_what_is_written_is_read(schema):
    assert arrow_schema.decode(arrow_schema.encode(schema)) == schema


def test_known_bytes():
    assert arrow_schema.encode(pa.schema([pa.field("offset", pa.int64(), nullable=False)])).hex() == (
        "0c00000008000800000004000800000004000000"  # Schema: its fields
        "01000000140000001000140010000000"  # one field, and the start of its vtable
        "0f00040000000800100000001800000020000000000000021c000000"  # Field: name, type Int, no children
        "08000c0004000b0008000000400000000000000100000000"  # Int: 64 bit, signed; an empty list of children
        "060000006f66667365740000"  # its name
    )


def test_truncated_bytes_are_corrupted():
    data = arrow_schema.encode(WIDE)
    for length in (0, 3, 4, 8, 20, len(data) // 2):
        with pytest.raises(ChainCorrupted, match="cannot be read"):
            arrow_schema.decode(data[:length])


def test_other_types_are_refused():
    with pytest.raises(TypeUnsupported, match="column a"):
        arrow_schema.encode(pa.schema([pa.field("a", pa.dictionary(pa.int8(), pa.string()))]))

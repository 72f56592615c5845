"""The hashes in ``golden_hashes`` come from the reference implementation's own digest."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_odf.errors import TypeUnsupported
from airflow_provider_odf.records.logical_hash import BATCH, LogicalHasher, logical_hash

from . import golden_hashes

TABLES = golden_hashes.TABLES | {
    name: (pa.table({"v": pa.array(values, kind)}), text)
    for name, (kind, values, text) in golden_hashes.COLUMNS.items()
}


@pytest.mark.parametrize(("table", "text"), TABLES.values(), ids=TABLES)
def test_the_reference_hashes_each_type_the_same(table: pa.Table, text: str, tmp_path: Path) -> None:
    assert logical_hash(table) == text
    pq.write_table(table, tmp_path / "t.parquet")
    assert logical_hash(tmp_path / "t.parquet") == text


def test_the_reference_hashes_a_table_of_spark_the_same() -> None:
    assert logical_hash(golden_hashes.table_of_spark()) == golden_hashes.HASH_OF_SPARK


@pytest.mark.parametrize(("kind", "values"), golden_hashes.WITHOUT_HASH.values(), ids=golden_hashes.WITHOUT_HASH)
def test_what_the_reference_refuses_is_refused_by_column(kind: pa.DataType, values: list) -> None:
    with pytest.raises(TypeUnsupported, match=r"column v: the type .* is not supported in datasets"):
        logical_hash(pa.table({"v": pa.array(values, kind)}))


def test_a_nested_column_is_named_by_its_path() -> None:
    schema = pa.schema([("a", pa.struct([("b", pa.struct([("c", pa.map_(pa.string(), pa.int64()))]))]))])
    with pytest.raises(TypeUnsupported, match=r"column a\.b\.c:"):
        LogicalHasher(schema)


def test_of_no_rows_and_no_columns() -> None:
    # The digest of nothing is SHA3-256 of nothing.
    assert logical_hash(pa.schema([]).empty_table()) == "f9680c00120" + hashlib.sha3_256(b"").hexdigest()


def test_by_hand() -> None:
    """One int32 column `n` with a value and a null, put together from the definition."""
    column = hashlib.sha3_256(bytes.fromhex("0100012000000000000000") + bytes.fromhex("0700000000"))
    whole = hashlib.sha3_256(bytes.fromhex("0100000000000000") + b"n" + bytes(8) + column.digest())
    assert logical_hash(pa.table({"n": pa.array([7, None], pa.int32())})) == "f9680c00120" + whole.hexdigest()


def _table(rows: int) -> pa.Table:
    """Columns of each form of encoding, with nulls, and struct nulls that differ between the batches of the quirk."""
    texts = [None if i % 7 == 0 else "x" * (i % 5) for i in range(rows)]
    lists = [None if i % 11 == 0 else [None if j == 2 else i + j for j in range(i % 4)] for i in range(rows)]
    pairs = [None if 10_000 < i < 10_050 else {"x": None if i % 3 == 0 else i, "y": str(i)} for i in range(rows)]
    return pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "m": pa.array([None if i % 5 == 0 else i / 2 for i in range(rows)], pa.float64()),
            "t": pa.array(texts, pa.string()),
            "b": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(rows)], pa.bool_()),
            "l": pa.array(lists, pa.list_(pa.int32())),
            "s": pa.array(pairs, pa.struct([("x", pa.int64()), ("y", pa.string())])),
        }
    )


def test_batches_and_row_groups_do_not_matter(tmp_path: Path) -> None:
    table = _table(25_003)
    whole = "f9680c0012032cb543224f45ab4bb1d5f2836cc96caa68d4cb160cdb6ade855c15dd2010711"
    assert logical_hash(table) == whole
    for rows in (777, 9_999, BATCH):
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=rows)
        assert logical_hash(tmp_path / "t.parquet") == whole
        hasher = LogicalHasher(table.schema)
        for batch in table.to_batches(max_chunksize=rows):
            hasher.update(batch)
        assert hasher.text() == whole


def test_null_structs_are_decided_in_batches_of_10000_rows() -> None:
    """In a batch without a null struct a null field is null; beside a null struct it counts as a zero."""
    kind = pa.struct([("x", pa.int64())])
    rows = [{"x": None}, *[{"x": 1}] * 9_999, None]
    apart, together = pa.array(rows, kind), pa.array([rows[0], rows[-1]], kind)
    head = (
        bytes.fromhex("0100000000000000")
        + b"s"
        + bytes(8)
        + bytes.fromhex("0100000000000000")
        + b"x"
        + b"\1"
        + bytes(7)
    )
    int64 = bytes.fromhex("0100014000000000000000")

    def expected(items: bytes) -> str:
        return "f9680c00120" + hashlib.sha3_256(head + hashlib.sha3_256(int64 + items).digest()).hexdigest()

    assert logical_hash(pa.table({"s": apart})) == expected(b"\0" + struct.pack("<q", 1) * 9_999 + b"\0")
    assert logical_hash(pa.table({"s": together})) == expected(bytes(8) + b"\0")


def test_what_must_and_must_not_change_the_hash() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    same = table.replace_schema_metadata({"k": "v"}).cast(
        pa.schema([pa.field("a", pa.int64(), nullable=False), ("b", "large_string")])
    )
    assert logical_hash(same) == logical_hash(table)
    others = [
        table.select(["b", "a"]),
        table.rename_columns(["a", "c"]),
        table.take([1, 0]),
        table.set_column(1, "b", pa.array(["x", ""])),
        table.set_column(0, "a", table["a"].cast(pa.int32())),
        table.slice(0, 1),
    ]
    assert len({logical_hash(t) for t in (table, *others)}) == 1 + len(others)
    stamps = pa.table({"t": pa.array([0], pa.timestamp("ms", "UTC"))})
    assert len({logical_hash(stamps.cast(pa.schema([("t", pa.timestamp("ms", tz))]))) for tz in ("UTC", "+00:00")}) == 2


LEAVES = {
    pa.bool_(): st.booleans(),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.decimal128(12, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.date32(): st.dates(),
}


def _items(values: list[object], kind: pa.DataType) -> bytes:
    """What the digest takes for the values, one at a time."""
    return b"".join(b"\0" if v is None else _item(v, kind) for v in values)


def _item(v: object, kind: pa.DataType) -> bytes:
    if isinstance(v, list):
        return struct.pack("<Q", len(v)) + _items(v, kind.value_type)
    if isinstance(v, bool):
        return b"\2" if v else b"\1"
    if isinstance(v, str | bytes):
        raw = v.encode() if isinstance(v, str) else v
        return struct.pack("<Q", len(raw)) + raw
    width = kind.bit_width // 8
    return pa.array([v], kind).buffers()[1].to_pybytes()[:width]


@st.composite
def _columns(draw: st.DrawFn) -> tuple[pa.DataType, list[object]]:
    kind = draw(st.sampled_from(list(LEAVES)))
    values = st.none() | LEAVES[kind]
    for _ in range(draw(st.integers(0, 2))):
        kind, values = pa.list_(kind), st.none() | st.lists(values, max_size=3)
    return kind, draw(st.lists(values, max_size=12))


@settings(max_examples=200, deadline=None)
@given(_columns(), st.integers(0, 3))
def test_values_one_by_one(column: tuple[pa.DataType, list[object]], skip: int) -> None:
    """Slices, nulls and nested lists against the plain definition; the type's bytes are taken as they are."""
    kind, values = column
    table = pa.table({"v": pa.array(values, kind)}).slice(skip)
    from airflow_provider_odf.records.logical_hash import _type_bytes

    digest = hashlib.sha3_256(_type_bytes(kind, "v") + _items(values[skip:], kind)).digest()
    head = bytes.fromhex("0100000000000000") + b"v" + bytes(8)
    assert logical_hash(table) == "f9680c00120" + hashlib.sha3_256(head + digest).hexdigest()

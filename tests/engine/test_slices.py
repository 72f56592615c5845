"""Slices written from tables: row groups, sorting, and nothing left behind by what fails."""

from __future__ import annotations

import gc
import os
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.engine import slices
from airflow_provider_odf.engine.column_layout import POSITION
from airflow_provider_odf.errors import InvalidQuery, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import NewSlice
from airflow_provider_odf.records import slice_file
from airflow_provider_odf.records.logical_hash import logical_hash
from airflow_provider_odf.records.schema import MILLISECONDS, OP
from airflow_provider_odf.records.slice_file import SlicePlan, write_file

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("op", pa.int32(), nullable=False),
        pa.field("system_time", MILLISECONDS, nullable=False),
        pa.field("event_time", MILLISECONDS, nullable=False),
        pa.field("k", pa.int64()),
        pa.field("t", pa.string()),
    ]
)


def _plan(directory: Path, schema: pa.Schema = SCHEMA) -> SlicePlan:
    day, source = Instant.parse("2024-05-01T00:00:00Z"), Instant.parse("2024-04-01T00:00:00.000999Z")
    return SlicePlan(str(directory), schema, day, source, 100, ("k",), "input.csv")


def _records(rows: int, **others: pa.Array) -> pa.Table:
    columns = {
        OP: pa.array([0] * rows, pa.int32()),
        "event_time": pa.nulls(rows, pa.timestamp("us", "UTC")),
        "k": pa.array(range(rows - 1, -1, -1), pa.int64()),
        "t": pa.array([f"text {i}" for i in range(rows)]),
        POSITION: pa.array(range(rows), pa.int64()),
    }
    return pa.table(columns | others)


def _write(records: pa.Table, plan: SlicePlan, *order: str) -> NewSlice | None:
    """Write records in an order, with the event time of the plan where they have none."""
    filled = slices.fill_event_time(records, plan.schema, plan.event_time) if plan.event_time else records
    return write_file(iter([filled.sort_by([(name, "ascending") for name in order])]), plan)


def test_rows_are_sorted_numbered_and_filled(tmp_path: Path) -> None:
    new = _write(_records(3), _plan(tmp_path), "k", OP)
    rows = pq.read_table(new.path).to_pylist()
    assert [(r["offset"], r["k"], r["t"]) for r in rows] == [(100, 0, "text 2"), (101, 1, "text 1"), (102, 2, "text 0")]
    assert {r["event_time"].isoformat() for r in rows} == {"2024-04-01T00:00:00+00:00"}
    assert new.newest_event_time == "2024-04-01T00:00:00Z"


def test_row_groups_are_of_one_size_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_file, "ROW_GROUP", 100)
    new = _write(_records(250), _plan(tmp_path), "k", OP)
    parquet = pq.ParquetFile(new.path)
    assert [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)] == [100, 100, 50]
    table = parquet.read()
    assert table["offset"].to_pylist() == list(range(100, 350))
    assert table["k"].to_pylist() == list(range(250))
    assert (new.offset_interval.start, new.offset_interval.end) == (100, 349)
    assert new.logical_hash == logical_hash(new.path)


def test_wide_rows_end_a_row_group_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_file, "ROW_GROUP_BYTES", 1000)
    batches = (_records(5).slice(i, 1) for i in range(5))
    wide = (b.set_column(3, "t", pa.array(["x" * 600])).drop_columns([POSITION]) for b in batches)
    filled = (b.set_column(1, "event_time", pa.array([0], MILLISECONDS)) for b in wide)
    new = write_file(filled, _plan(tmp_path))
    parquet = pq.ParquetFile(new.path)
    assert [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)] == [2, 2, 1]
    assert new.offset_interval.count == 5


def test_no_records_no_file(tmp_path: Path) -> None:
    assert _write(_records(0), _plan(tmp_path), "k", OP) is None
    assert list(tmp_path.iterdir()) == []


def test_strings_are_sorted_by_their_bytes(tmp_path: Path) -> None:
    texts = ["\U0001f600", "漢", "é", "z", "Z", "", "\uffff"]
    new = _write(_records(7, t=pa.array(texts)), _plan(tmp_path), "t", OP)
    assert pq.read_table(new.path)["t"].to_pylist() == ["", "Z", "z", "é", "漢", "\uffff", "\U0001f600"]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "k",
            pa.array([1, None, 3]),
            r"input\.csv: the primary key column k is null in 1 row, such as \(.*t=text 1\)",
        ),
        (OP, pa.array([0, 2, 0], pa.int32()), "a correction needs both -C and"),
        (OP, pa.array([0, 3, 0], pa.int32()), "a correction needs both -C and"),
        (OP, pa.array([0, 0, 2], pa.int32()), "a correction needs both -C and"),
        (OP, pa.array([0, 4, 0], pa.int32()), "an operation is not one of 0"),
        (OP, pa.array([-1, 0, 0], pa.int32()), "an operation is not one of 0"),
    ],
)
def test_what_is_refused_leaves_no_file(tmp_path: Path, column: str, values: pa.Array, message: str) -> None:
    records = _records(3).set_column(_records(3).schema.get_field_index(column), column, values)
    with pytest.raises(InvalidQuery, match=message):
        _write(records, _plan(tmp_path), POSITION)
    assert list(tmp_path.iterdir()) == []


def test_a_required_column_must_have_values(tmp_path: Path) -> None:
    required = SCHEMA.set(5, pa.field("t", pa.string(), nullable=False))
    with pytest.raises(InvalidQuery, match="column t, which is NOT NULL in the dataset, is null in 1 row"):
        _write(_records(2, t=pa.array(["a", None])), _plan(tmp_path, required), POSITION)


def test_a_full_disk_is_an_error_that_may_pass() -> None:
    with pytest.raises(
        StorageError, match=r"^/dev/full: (File exists|Not a directory) \(a file exists where a folder is expected"
    ):
        _write(_records(1), _plan(Path("/dev/full")), POSITION)


@pytest.mark.parametrize("rows", [5_000, 100_000, 600_000])
def test_a_disk_that_fills_up_leaves_nothing(tmp_path: Path, rows: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(StorageError, match=r"^/.*: File too large \(raise the limit for the size of files"):
            _write(_records(rows), _plan(tmp_path), POSITION)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    gc.collect()  # what is left of a writer must not speak up either
    assert list(tmp_path.iterdir()) == []


def test_a_slice_gets_its_name_when_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def fsync(file: int) -> None:
        if Path(f"/proc/self/fd/{file}").resolve().is_relative_to(tmp_path):
            seen.append([p.name[:6] for p in tmp_path.iterdir()])

    monkeypatch.setattr(os, "fsync", fsync)
    _write(_records(1), _plan(tmp_path), POSITION)
    file, directory = seen
    assert file[0].startswith(".")
    assert directory[0].startswith("f1620")

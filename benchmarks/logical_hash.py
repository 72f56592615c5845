"""The logical hash of a table, against SHA3-256 of as many bytes by the same library."""

from __future__ import annotations

import hashlib
import os
import statistics
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.records.logical_hash import logical_hash
from benchmarks import data
from benchmarks.measure import in_turns, timed
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "logical hash"
MOST_ROWS = 2_000_000
FLOOR = "sha3-256 of as many bytes"


def run(scale: Scale) -> list[Row]:
    with data.connect() as db:
        table = db.sql(data.rows(min(scale.rows, MOST_ROWS), [])).to_arrow_table().combine_chunks()
    columns = [bytes(_size(column)) for column in table.columns]
    in_pieces = pa.Table.from_batches(table.to_batches(max_chunksize=7_777))
    assert logical_hash(table) == logical_hash(in_pieces)

    def one_thread() -> None:
        for column in columns:
            hashlib.sha3_256(column).digest()

    def threads() -> None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda column: hashlib.sha3_256(column).digest(), columns))

    subjects = {
        FLOOR: one_thread,
        f"sha3-256, {os.cpu_count()} threads": threads,
        "odf logical hash": lambda: logical_hash(table),
    }
    runs = in_turns({name: lambda action=action: timed(action) for name, action in subjects.items()}, scale.reps)
    floor, rows = runs[FLOOR], []
    for name, done in runs.items():
        rate = table.num_rows / statistics.median(r.seconds for r in done) / 1e6
        note = f"{rate:.2f} M rows/s, {sum(map(len, columns)) / table.num_rows:.0f} bytes each"
        rows.append(row(CASE, name, done, *((FLOOR, floor) if done is not floor else ()), note=note))
    return rows


def _size(column: pa.ChunkedArray) -> int:
    """Bytes that the digest of a column takes: fixed widths, texts with eight bytes of length, a bit as a byte."""
    if pa.types.is_string(column.type):
        lengths = pc.sum(pc.binary_length(column)).as_py() or 0
        return int(lengths + 8 * (len(column) - column.null_count) + column.null_count)
    return len(column) * max(column.type.bit_width // 8, 1)

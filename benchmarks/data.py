"""Rows that change: made by DuckDB from the hash of a key and a version, so that every run has the same.

Keys fall into STEPS buckets; a step changes about 2 % of all rows, those of its bucket: half of these are changed, a
quarter removed, a quarter added. No two steps touch one key, and the number of rows stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb

STEPS = 64
COLUMNS = ("name", "city", "price", "ratio", "quantity", "day", "seen_at", "is_on")

_CITIES = "['Aarau', 'Basel', 'Bern', 'Chur', 'Genève', 'Lausanne', 'Lugano', 'Zürich']"
_VALUES = f"""
    'customer ' || h AS name,
    CASE WHEN h % 17 = 0 THEN NULL ELSE {_CITIES}[((h >> 8) % 8)::INT + 1] END AS city,
    (((h >> 12) % 10000000)::BIGINT / 100.0)::DECIMAL(12, 2) AS price,
    ((h >> 16) % 1000003)::DOUBLE / 997 AS ratio,
    ((h >> 20) % 1000 + 1000 * version)::INT AS quantity,
    DATE '2020-01-01' + ((h >> 24) % 2000)::INT AS day,
    to_timestamp(1577836800 + ((h >> 28) % 100000000)::BIGINT) AS seen_at,
    h % 3 = 0 AS is_on"""


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory, with as many threads as the machine has."""
    return duckdb.connect(config={"memory_limit": "6GB"})


def rows(count: int, steps: Collection[int]) -> str:
    """SQL of about ``count`` rows as they are after some steps, in no order of their keys."""
    done = f"id % {STEPS} IN ({', '.join(map(str, [-1, *steps]))})"
    keys = f"SELECT range AS id, range // {STEPS} % 4 AS fate FROM range({count * 4 // 3})"
    present = f"SELECT id, ({done} AND fate < 2)::INT AS version FROM ({keys}) WHERE fate < 2 OR (fate = 3) = ({done})"
    return f"SELECT id, {_VALUES} FROM (SELECT *, hash(id, version) AS h FROM ({present})) ORDER BY hash(id)"


def changes(count: int, step: int) -> str:
    """SQL of the records of a step in the order of a Snapshot slice: ``op``, the key and the columns."""
    records = f"""
        SELECT range AS id, unnest(CASE range // {STEPS} % 4
            WHEN 2 THEN [[1, 0]] WHEN 3 THEN [[0, 0]] ELSE [[2, 0], [3, 1]] END) AS record
        FROM range({count * 4 // 3}) WHERE range % {STEPS} = {step}"""
    hashed = (
        f"SELECT id, record[1]::INT AS op, record[2]::INT AS version, hash(id, record[2]::INT) AS h FROM ({records})"
    )
    return f"SELECT op, id, {_VALUES} FROM ({hashed}) ORDER BY id, op"


SMALL = 100
"""Records of a small step."""


def small_changes(first: int, last: int) -> str:
    """SQL of the records of small steps, in the order of their slices: 40 new rows each, and of the 40 of the step
    before 20 that change and 20 that go; the first step has only new rows."""
    records = f"""
        SELECT step, unnest(CASE
            WHEN n < 40 THEN [[0, step * 40 + n, 0]]
            WHEN n < 60 THEN [[2, (step - 1) * 40 + n - 40, 0], [3, (step - 1) * 40 + n - 40, 1]]
            ELSE [[1, (step - 1) * 40 + n - 40, 0]] END) AS record
        FROM (SELECT range // 80 AS step, range % 80 AS n FROM range({first * 80}, {last * 80}))
        WHERE step > 0 OR n < 40"""
    split = f"SELECT step, record[1]::INT AS op, record[2] AS id, record[3]::INT AS version FROM ({records})"
    hashed = f"SELECT *, hash(id, version) AS h FROM ({split})"
    return f"SELECT op, id, {_VALUES} FROM ({hashed}) ORDER BY step, id, op"


def write_csv(count: int, path: Path) -> Path:
    """``count`` rows by their keys as CSV, compressed if its name says so. Some texts are quoted; none has lines."""
    note = "CASE WHEN h % 100 = 0 THEN 'said \"yes\", ' || h % 977 END AS note"
    values = _VALUES.replace("AS seen_at", "AS event_time")
    query = f"SELECT id, {values}, {note} FROM (SELECT range AS id, 0 AS version, hash(range) AS h FROM range({count}))"
    with connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.execute(f"COPY ({query}) TO '{path}' (FORMAT csv, HEADER, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%SZ')")
    return path


def write(query: str, path: Path) -> Path:
    """The result of a query as a Parquet file."""
    with connect() as db:
        db.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION snappy)")
    return path

"""Derivatives: new records on top of a large history, against plain Spark that computes the whole result anew.

A row-wise query and a GROUP BY in 50,000 groups, also after fifty more blocks, and a join with 100,000 rows of which
100 change. Both sides are warm: their first run of the query is not timed.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.measure import Run, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale

HEAP = "4g"
GROUPS = 50_000
PLANES = 100_000
NEW = 1_000
MANY = 10_000
BLOCKS = 50
SPARK = "plain Spark, all rows"

ROW_WISE = "SELECT event_time, g, v * 2 AS v, upper(note) AS note FROM readings WHERE v % 3 > 0"
GROUP_BY = "SELECT max(event_time) AS event_time, g, count(*) AS n, sum(v) AS total FROM readings GROUP BY g"
JOIN = "SELECT r.event_time, r.v, r.p, p.name FROM readings r JOIN planes p ON p.id = r.p"

_READINGS = f"""
    SELECT range AS "offset", 0::INT AS op, TIMESTAMPTZ '2024-05-01 00:00:00Z' AS system_time,
        TIMESTAMPTZ '2024-01-01 00:00:00Z' + to_seconds(range % 8000000) AS event_time,
        hash(range) % {GROUPS} AS g, (hash(range + 1) % 1000)::BIGINT AS v, (hash(range + 2) % {PLANES})::BIGINT AS p,
        'note ' || range % 977 AS note
    FROM range({{start}}, {{end}})"""


class Files:
    """Slices of the inputs, as the product writes them."""

    def __init__(self, directory: Path, rows: int) -> None:
        self.directory, self.rows = directory, rows
        self.end = 0
        self.readings: list[list[Any]] = []
        self.planes: list[list[Any]] = []

    def read(self, rows: int) -> None:
        """Add a slice of readings."""
        start, self.end = self.end, self.end + rows
        path = self.directory / f"readings-{start}.parquet"
        self._write(_READINGS.format(start=start, end=self.end).replace("AS g", "::BIGINT AS g", 1), path)
        self.readings.append([str(path), start, self.end - 1])

    def change_planes(self, changed: int) -> None:
        """Add a slice of planes: all of them, then corrections of a few."""
        path = self.directory / f"planes-{len(self.planes)}.parquet"
        system = "TIMESTAMPTZ '2024-05-01 00:00:00Z' AS system_time, TIMESTAMPTZ '2024-05-01 00:00:00Z' AS event_time"
        if not self.planes:
            columns = "range AS id, 'plane ' || range AS name"
            sql = f'SELECT range AS "offset", 0::INT AS op, {system}, {columns} FROM range({PLANES})'
            self.planes.append([str(path), 0, PLANES - 1])
        else:
            start = self.planes[-1][2] + 1
            sql = (
                f'SELECT {start} + range AS "offset", (2 + range % 2)::INT AS op, {system}, range // 2 * 997 AS id, '
                f"CASE range % 2 WHEN 0 THEN 'plane ' ELSE 'new plane ' END || range // 2 * 997 AS name "
                f"FROM range({2 * changed})"
            )
            self.planes.append([str(path), start, start + 2 * changed - 1])
        self._write(sql, path)

    def _write(self, sql: str, path: Path) -> None:
        with duckdb.connect() as db:
            db.execute("SET TimeZone = 'UTC'")
            times = "system_time::TIMESTAMP_MS AS system_time, event_time::TIMESTAMP_MS AS event_time"
            table = db.sql(f"SELECT * REPLACE ({times}) FROM ({sql})").to_arrow_table()
        _as_slice(table, path)


def _as_slice(table: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    times = pa.timestamp("ms", "UTC")
    schema = pa.schema([f.with_type(times) if pa.types.is_timestamp(f.type) else f for f in table.schema])
    pq.write_table(table.cast(schema), path, compression="snappy", row_group_size=131_072, store_schema=False)


class Derivative:
    """A derivative of one query: its slices, and how far it has read its inputs."""

    def __init__(self, directory: Path, query: str, files: Files) -> None:
        self.directory, self.query, self.files = directory, query, files
        directory.mkdir()
        self.own: list[list[Any]] = []
        self._read = dict.fromkeys(self._slices(), 0)
        self._numbers = count()

    def first(self) -> Run:
        """Compute the whole result, after an untimed run of the same."""
        run = self._run([self._step(), self._step()], is_repeated=True)
        self.own = [run.answer["slice"]]
        self._mark()
        return run

    def grow(self, slices: int) -> None:
        """Compute the records of the newest slices of readings, one by one."""
        if not slices:
            return
        readings = self.files.readings
        steps = [
            {**self._step(), "readings": [n + 1, readings[n][1]]} for n in range(len(readings) - slices, len(readings))
        ]
        self.own = self._run(steps).answer["own"]
        self._mark()

    def new(self, *, by_arrow: bool = False) -> Run:
        """Compute what is new, without keeping it: twice in one process, of which the second one counts."""
        arguments = self._step()
        return self._run([arguments, arguments], is_repeated=True, by_arrow=by_arrow)

    def anew(self) -> Run:
        """Plain Spark over all rows."""
        inputs = {alias: [s[0] for s in slices] for alias, slices in self._slices().items()}
        target = self.directory / f"spark-{next(self._numbers)}"
        return peer("spark_query", query=self.query, inputs=inputs, target=target, heap=HEAP)

    def _run(self, steps: list[dict[str, list[int]]], *, is_repeated: bool = False, by_arrow: bool = False) -> Run:
        keys = {"planes": ["id"]}
        inputs = {alias: {"slices": s, "key": keys.get(alias)} for alias, s in self._slices().items()}
        target = str(self.directory / f"data-{next(self._numbers)}")
        return peer(
            "odf_transform",
            query=self.query,
            inputs=inputs,
            own=self.own,
            steps=steps,
            target=target,
            heap=HEAP,
            is_repeated=is_repeated,
            by_arrow=by_arrow,
        )

    def _step(self) -> dict[str, list[int]]:
        return {alias: [len(slices), self._read[alias]] for alias, slices in self._slices().items()}

    def _mark(self) -> None:
        self._read = {alias: slices[-1][2] + 1 for alias, slices in self._slices().items()}

    def _slices(self) -> Mapping[str, list[list[Any]]]:
        named = {"readings": self.files.readings, "planes": self.files.planes}
        return {alias: slices for alias, slices in named.items() if alias in self.query}


def run(scale: Scale) -> list[Row]:
    files = Files(scale.directory, scale.rows)
    files.read(scale.rows)
    files.change_planes(0)
    queries = {"row-wise": ROW_WISE, "groups": GROUP_BY, "join": JOIN}
    cases = {name: Derivative(scale.directory / name, query, files) for name, query in queries.items()}
    anew = {name: [of.anew() for _ in range(scale.reps)] for name, of in cases.items()}
    rows: list[Row] = []
    for name, of in cases.items():
        rows.append(row(f"derivative, {name}", SPARK, anew[name]))
        rows.append(row(f"derivative, {name}", "odf, all rows", [of.first()], SPARK, anew[name][:1]))
    files.change_planes(100)
    rows.append(_small(cases["join"], "join", "odf, 100 changed rows", anew, scale.reps))
    growing = {name: cases[name] for name in ("row-wise", "groups")}
    for blocks, size, later in ((1, MANY, ""), (1, NEW, ""), (BLOCKS, NEW, f", {BLOCKS} blocks later")):
        for _ in range(blocks - 1):
            files.read(NEW)
        for of in growing.values():
            of.grow(blocks - 1)
        files.read(size)
        for name, of in growing.items():
            subject = f"odf, {size:,} new{later}"
            rows.append(_small(of, name, subject, anew, scale.reps))
            if name == "groups":
                rows.append(_small(of, name, f"{subject}, by Arrow", anew, scale.reps, by_arrow=True))
            of.grow(1)
    return rows


def _small(
    of: Derivative, case: str, subject: str, anew: Mapping[str, list[Run]], reps: int, *, by_arrow: bool = False
) -> Row:
    runs = [of.new(by_arrow=by_arrow) for _ in range(reps)]
    return row(f"derivative, {case}", subject, runs, SPARK, anew[case], runs[0].answer["evaluation"])

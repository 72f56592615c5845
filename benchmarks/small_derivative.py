"""500 new rows on top of 500,000, added up by sensor: the derivative's own run, whole, without Spark and on it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import duckdb

from benchmarks import check, odf
from benchmarks.measure import Run, in_turns
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "small derivative"
MOST = 500_000
NEW = 500
READ = "{kind: Csv, header: true, schema: [event_time TIMESTAMP, sensor STRING, v BIGINT]}"
QUERY = (
    "SELECT max(event_time) AS event_time, sensor, count(*) AS n, sum(v) AS total FROM readings WHERE v > 3 "
    "GROUP BY sensor"
)


def run(scale: Scale) -> list[Row]:
    deliveries, store, rows = scale.directory / "in", scale.directory / "store", min(scale.rows, MOST)
    deliveries.mkdir()
    readings = odf.manifest(
        scale.directory / "readings.yaml", f"{{kind: FilesGlob, path: {deliveries}/*.csv}}", READ, "{kind: Append}"
    )
    totals = _derivative(scale.directory / "totals.yaml")
    _deliver(deliveries / "000.csv", 0, rows)
    odf.run(store, readings)
    first = odf.run(store, totals)
    check.said([first.text], "published ")
    numbers = count(1)

    def new(*options: str) -> Run:
        number = next(numbers)
        _deliver(deliveries / f"{number:03}.csv", rows + number * NEW, NEW)
        odf.run(store, readings)
        return odf.run(store, totals, *options)

    always = "odf run, always on Spark"
    runs = in_turns({always: lambda: new("--spark", "always"), "odf run": new}, scale.reps)
    check.said([run.text for run in runs["odf run"]], "published ")
    assert {run.jvms for run in runs["odf run"]} == {0}
    return [
        row(CASE, "odf run, all rows", [first]),
        row(CASE, always, runs[always]),
        row(CASE, "odf run", runs["odf run"], always, runs[always]),
    ]


def _derivative(path: Path) -> Path:
    path.write_text(
        f"""kind: DatasetSnapshot
version: 1
content:
  name: {path.stem}
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{{datasetRef: readings}}]
      transform: {{kind: Sql, engine: spark, query: "{QUERY}"}}
""",
        encoding="utf-8",
    )
    return path


def _deliver(path: Path, first: int, rows: int) -> None:
    with duckdb.connect() as db:
        time = "strftime(TIMESTAMP '2024-01-01' + to_seconds(range), '%Y-%m-%dT%H:%M:%SZ') AS event_time"
        values = f"{time}, 'sensor ' || range % 1000 AS sensor, hash(range) % 1000 AS v"
        db.execute(f"COPY (SELECT {values} FROM range({first}, {first + rows})) TO '{path}' (HEADER)")

"""``odf verify --replay``: fifty blocks of a GROUP BY computed again, against the runs that made them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Run, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale

BLOCKS = 50
ROWS = 2_000
"""Rows of each block of the input."""

_ROOT = """kind: DatasetSnapshot
version: 1
content:
  name: readings
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {{kind: FilesGlob, path: "{files}/*.csv", order: ByName}}
      read: {{kind: Csv, header: true, schema: [event_time TIMESTAMP, g BIGINT, v BIGINT]}}
      merge: {{kind: Append}}
"""

_DERIVATIVE = """kind: DatasetSnapshot
version: 1
content:
  name: totals
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{datasetRef: readings}]
      transform:
        kind: Sql
        engine: spark
        query: SELECT max(event_time) AS event_time, g, count(*) AS n, sum(v) AS total FROM readings GROUP BY g
"""


def run(scale: Scale) -> list[Row]:
    files = scale.directory / "files"
    files.mkdir()
    manifests = [_write(scale.directory / "a.yaml", _ROOT.format(files=files))]
    manifests.append(_write(scale.directory / "b.yaml", _DERIVATIVE))
    store = scale.directory / "store"
    replay = peer("odf_replay", manifests=manifests, store=store, files=files, blocks=BLOCKS, rows=ROWS, heap="2g")
    assert replay.answer["transformations"] == BLOCKS
    runs = Run(**replay.answer["runs"])
    case, note = f"replay of {BLOCKS} blocks", f"{BLOCKS * ROWS / replay.seconds:,.0f} rows/s"
    return [row(case, "runs", [runs]), row(case, "replay", [replay], "runs", [runs], note)]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path

"""A CSV of a gigabyte, and the same in gzip, by ``odf run`` in a gigabyte of memory for all its processes."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

from benchmarks import check, data, odf
from benchmarks.measure import Run, in_turns, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale

HEAP = "512m"
LARGER = 2
"""Times the rows of other large cases: 5 M are half a gigabyte."""

SCHEMA = (
    "id BIGINT, name STRING, city STRING, price DECIMAL(12,2), ratio DOUBLE, quantity INT, day DATE, "
    "event_time TIMESTAMP, is_on BOOLEAN, note STRING"
)
COLUMNS = ", ".join(f"'{column}'" for column in SCHEMA.split(", "))
READ = f"{{kind: Csv, header: true, schema: [{COLUMNS}]}}"

CASE = "large CSV"
FLOOR = "plain Spark, CSV to Parquet"


def run(scale: Scale) -> list[Row]:
    rows, numbers = scale.rows * LARGER, count()
    plain = data.write_csv(rows, scale.directory / "table.csv")
    compressed = data.write_csv(rows, scale.directory / "table.csv.gz")
    manifests = {
        "odf run, Append": _manifest(plain, "append", "{kind: Append}"),
        "odf run, gzip, Append": _manifest(compressed, "gzip", "{kind: Append}", "[{kind: Decompress, format: Gzip}]"),
        "odf run, Ledger": _manifest(plain, "ledger", "{kind: Ledger, primaryKey: [id]}"),
    }

    def ours(manifest: Path) -> Run:
        store = scale.directory / f"store-{next(numbers)}"
        done = odf.run(store, manifest, environment={"ODF_LOCAL_MEMORY": HEAP})
        check.said([done.text], f"published {rows:,} records")
        shutil.rmtree(store)
        return done

    def floor() -> Run:
        target = scale.directory / f"floor-{next(numbers)}"
        done = peer("spark_csv", sources=[plain], target=target, schema=SCHEMA, heap=HEAP)
        shutil.rmtree(target)
        return done

    subjects = {name: lambda manifest=manifest: ours(manifest) for name, manifest in manifests.items()}
    runs = in_turns({FLOOR: floor, **subjects}, scale.reps)
    note = f"{rows / 1e6:.1f} M rows, {plain.stat().st_size / 1e9:.2f} GB, heap {HEAP}"
    compared = [row(CASE, name, runs[name], FLOOR, runs[FLOOR]) for name in subjects]
    return [row(CASE, FLOOR, runs[FLOOR], note=note), *compared]


def _manifest(source: Path, name: str, merge: str, prepare: str = "[]") -> Path:
    return odf.manifest(source.with_name(f"{name}.yaml"), source.as_uri(), READ, merge, prepare)

"""A large Snapshot polled first, then with few changed rows, then with none but other bytes: whole programs."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

from benchmarks import check, data, odf, source
from benchmarks.measure import Run, in_turns, peer, whole
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "few changes"
FLOOR, FIRST, FEW, NONE = "plain Spark copy, started", "first poll", "few changed rows", "no changed row, other bytes"
_CHANGED = "SELECT * REPLACE (quantity + (id < 134)::INT AS quantity) FROM '{file}'"


def run(scale: Scale) -> list[Row]:
    table, numbers = scale.directory / "table.parquet", count()
    manifest = odf.manifest(scale.directory / "table.yaml", table.as_uri(), "{kind: Parquet}", source.SNAPSHOT)
    first = data.write(data.rows(scale.rows, []), scale.directory / "first.parquet")
    few = data.write(_CHANGED.format(file=first), scale.directory / "few.parquet")
    none = scale.directory / "none.parquet"
    with data.connect() as db:
        db.execute(f"COPY (FROM '{few}') TO '{none}' (FORMAT parquet, COMPRESSION zstd)")
        (changed,) = db.execute(f"SELECT count(*) FROM '{first}' WHERE id < 134").fetchone() or (0,)
    runs: dict[str, list[Run]] = {}
    for _ in range(scale.reps):
        store = scale.directory / f"store-{next(numbers)}"

        def poll(file: Path, store: Path = store) -> Run:
            shutil.copyfile(file, table)
            return odf.run(store, manifest)

        subjects = {
            FLOOR: lambda: whole(peer("spark_copy", source=few, target=scale.directory / f"floor-{next(numbers)}")),
            FIRST: lambda: poll(first),
            FEW: lambda: poll(few),
            NONE: lambda: poll(none),
        }
        for name, done in in_turns(subjects, 1).items():
            runs.setdefault(name, []).extend(done)
        shutil.rmtree(store)
    check.said([one.text for one in runs[FEW]], f"published {2 * changed} records")
    check.said([one.text for one in runs[NONE]], "up to date")
    note = f"{changed} of {scale.rows:,} rows change"
    rows = [row(CASE, name, runs[name], FLOOR, runs[FLOOR]) for name in (FIRST, FEW, NONE)]
    return [row(CASE, FLOOR, runs[FLOOR], note=note), *rows]

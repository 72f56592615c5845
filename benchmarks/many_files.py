"""Thousands of files of a glob: all in one run, then a poll that finds nothing new, then one more file."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

from benchmarks import check, odf
from benchmarks.measure import Run, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale

ROWS = 20
"""Of each file."""

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SCHEMA = "id BIGINT, name STRING, price DECIMAL(12,2)"
READ = "{kind: Csv, header: true, schema: [id BIGINT, name STRING, 'price DECIMAL(12,2)']}"
TIME = r"{kind: FromPath, pattern: '(\d+-\d+-\d+-\d+)', timestampFormat: '%Y-%m-%d-%H'}"
ORDERS = ("ByName", "ByEventTime")

CASE = "many files"
FLOOR = "plain Spark, all to one Parquet"


def run(scale: Scale) -> list[Row]:
    files = scale.directory / "files"
    files.mkdir()
    for number in range(scale.sources):
        _publish(files, number)
    runs: dict[str, list[Run]] = {}
    for repetition in range(scale.reps):
        target = scale.directory / f"floor-{repetition}"
        runs.setdefault(FLOOR, []).append(peer("spark_csv", sources=[files], target=target, schema=SCHEMA))
        for order in ORDERS:
            for name, done in _cycles(scale, order, repetition).items():
                runs.setdefault(f"{name}, {order}", []).append(done)
    floor = runs.pop(FLOOR)
    rows = [row(CASE, name, done, *((FLOOR, floor) if done[0].jvms else ())) for name, done in runs.items()]
    return [row(CASE, FLOOR, floor, note=f"{scale.sources} files of {ROWS} rows"), *rows]


def _cycles(scale: Scale, order: str, repetition: int) -> dict[str, Run]:
    """What is run on a store of its own, in its order."""
    name, store = f"{order.lower()}-{repetition}", scale.directory / f"store-{repetition}-{order}"
    fetch = f'{{kind: FilesGlob, path: "files/*.csv", order: {order}, eventTime: {TIME}}}'
    manifest = odf.manifest(scale.directory / f"{name}.yaml", fetch, READ, "{kind: Append}")
    last = scale.sources
    done = {f"odf run, {last} files": odf.run(store, manifest), "odf run, unchanged": odf.run(store, manifest)}
    added = _publish(scale.directory / "files", last)
    done["odf run, one more file"] = odf.run(store, manifest)
    added.unlink()
    done |= {f"odf {command}": odf.inspect(command, name, store) for command in ("log", "verify")}
    _check(done, last, store, name)
    shutil.rmtree(store)
    return done


def _check(done: dict[str, Run], files: int, store: Path, name: str) -> None:
    """A slice for each file, each after the other."""
    first, unchanged, more, _, verified = done.values()
    check.said([first.text], f"published {files * ROWS:,} records (offsets 0..{files * ROWS - 1})")
    check.said([unchanged.text], "up to date")
    check.said([more.text], f"published {ROWS} records (offsets {files * ROWS}..")
    check.said([verified.text], f"{files + 1:,} slices")
    assert (first.jvms, unchanged.jvms, more.jvms) == (0, 0, 0)
    assert len(check.slices(store, name)) == files + 1


def _publish(files: Path, number: int) -> Path:
    """The file of an hour."""
    hour = START + dt.timedelta(hours=number)
    path = files / f"{hour:%Y-%m-%d-%H}.csv"
    lines = [f"{number * ROWS + i},name {i},{i}.50" for i in range(ROWS)]
    path.write_text("\n".join(["id,name,price", *lines]) + "\n")
    return path

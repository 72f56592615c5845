"""Twelve small datasets that all changed, by one ``odf run``: one process of the engine for all of them."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from benchmarks import check, odf, source
from benchmarks.measure import Run, in_turns, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale
from benchmarks.source import Source

DATASETS = 12
CASE = "12 small changes"
FLOOR = "plain Spark, 12 times CSV to Parquet"


def run(scale: Scale) -> list[Row]:
    with source.serve(scale.directory / "served") as served:
        _publish(served, 0)
        manifests = [_manifest(scale.directory, served, i) for i in range(DATASETS)]
        store, versions = scale.directory / "store", count(1)
        said = odf.run(store, *manifests).text.splitlines()
        check.said(said, "published 100 records")

        def ours() -> Run:
            _publish(served, next(versions))
            return odf.run(store, *manifests)

        def floor() -> Run:
            target = scale.directory / f"floor-{next(versions)}"
            files = [served.directory / f"d{i}.csv" for i in range(DATASETS)]
            return peer("spark_csv", sources=files, target=target, schema=source.SCHEMA)

        runs = in_turns({FLOOR: floor, "odf run": ours}, scale.reps)
    for one in runs["odf run"]:
        assert one.text.count("published") == DATASETS, one.text
        assert one.jvms == 0
    return [row(CASE, FLOOR, runs[FLOOR]), row(CASE, "odf run", runs["odf run"], FLOOR, runs[FLOOR])]


def _publish(served: Source, version: int) -> None:
    for i in range(DATASETS):
        served.publish(f"d{i}.csv", version)


def _manifest(directory: Path, served: Source, number: int) -> Path:
    """Snapshots and ledgers in turns."""
    merge = source.LEDGER if number % 2 else source.SNAPSHOT
    return odf.manifest(directory / f"d{number}.yaml", f"{served.url}/d{number}.csv", source.READ, merge)

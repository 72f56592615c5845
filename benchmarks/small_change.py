"""From poll to published for a hundred rows of which two changed: nearly all of it is the start of programs."""

from __future__ import annotations

from itertools import count

from benchmarks import check, odf, source
from benchmarks.measure import Run, in_turns, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "small change"
FLOOR = "plain Spark, CSV to Parquet"


def run(scale: Scale) -> list[Row]:
    with source.serve(scale.directory / "served") as served:
        url = served.publish("prices.csv", 0)
        manifest = odf.manifest(scale.directory / "prices.yaml", url, source.READ, source.SNAPSHOT)
        store, versions, targets = scale.directory / "store", count(1), count(1)
        check.said([odf.run(store, manifest).text], "published 100 records")

        def ours() -> Run:
            served.publish("prices.csv", next(versions))
            return odf.run(store, manifest)

        def floor() -> Run:
            target = scale.directory / f"floor-{next(targets)}"
            return peer("spark_csv", sources=[served.directory / "prices.csv"], target=target, schema=source.SCHEMA)

        runs = in_turns({FLOOR: floor, "odf run": ours}, scale.reps)
    # One corrected row, which is two records, and one new row.
    check.said([run.text for run in runs["odf run"]], "published 3 records")
    assert {run.jvms for run in runs["odf run"]} == {0}
    return [row(CASE, FLOOR, runs[FLOOR]), row(CASE, "odf run", runs["odf run"], FLOOR, runs[FLOOR])]

"""From poll to published for a hundred rows that a query of Spark prepares: on a Connect server that is warm, and in a
child process that starts Spark."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count

from benchmarks import check, odf, source
from benchmarks.measure import Run, in_turns
from benchmarks.report import Row, row
from benchmarks.scale import Scale
from tests.spark_servers import ConnectServer

CASE = "connect"
FLOOR, SERVER = "odf run, child process", "odf run, Connect server"
QUERY = "{kind: Sql, engine: spark, query: 'SELECT *, upper(name) AS title FROM input'}"


def run(scale: Scale) -> list[Row]:
    server = ConnectServer(scale.directory)
    with source.serve(scale.directory / "served") as served, ExitStack() as ends:
        ends.callback(server.kill)
        server.start()
        url = served.publish("prices.csv", 0)
        manifest = odf.manifest(scale.directory / "prices.yaml", url, source.READ, source.SNAPSHOT, preprocess=QUERY)
        options = {FLOOR: (), SERVER: ("--spark", server.url)}
        versions = {name: count(1) for name in options}
        stores = {name: scale.directory / name for name in options}
        for name in options:
            check.said([odf.run(stores[name], manifest, *options[name]).text], "published 100 records")

        def change(name: str) -> Run:
            served.publish("prices.csv", next(versions[name]))
            return odf.run(stores[name], manifest, *options[name])

        runs = in_turns({FLOOR: lambda: change(FLOOR), SERVER: lambda: change(SERVER)}, scale.reps)
    for made in runs.values():
        check.said([run.text for run in made], "published 3 records")
    assert {run.jvms for run in runs[SERVER]} == {0}
    return [row(CASE, FLOOR, runs[FLOOR]), row(CASE, SERVER, runs[SERVER], FLOOR, runs[FLOOR])]

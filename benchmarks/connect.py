"""From poll to published for a hundred rows that a query of Spark prepares: on a Connect server that is warm, and in a
child process that starts Spark. And the same in one process whose session is warm."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import count

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.run import run as run_cycle
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner import ConnectRunner, LocalRunner
from benchmarks import check, odf, source
from benchmarks.measure import Run, in_turns, timed
from benchmarks.report import Row, row
from benchmarks.scale import Scale
from tests.spark_servers import ConnectServer

CASE = "connect"
FLOOR, SERVER, WARM = "odf run, child process", "odf run, Connect server", "in one process, Connect server"
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
        (one,) = load([manifest]).manifests
        runner = ends.enter_context(ConnectRunner(server.url, LocalRunner()))

        def change_here() -> Run:
            served.publish("prices.csv", next(versions[SERVER]))
            cycle = Cycle(Store.open(stores[SERVER]), "prices", runner, Instant.now(), one, os.environ)
            return timed(lambda: outcomes.append(run_cycle(cycle)))

        outcomes: list[Outcome] = []
        warm = [change_here() for _ in range(scale.reps + 1)][1:]
    for made in runs.values():
        check.said([run.text for run in made], "published 3 records")
    assert {run.jvms for run in runs[SERVER]} == {0}
    check.said([str(outcome) for outcome in outcomes], "published 3 records")
    rows = {SERVER: runs[SERVER], WARM: warm}
    return [row(CASE, FLOOR, runs[FLOOR]), *(row(CASE, name, r, FLOOR, runs[FLOOR]) for name, r in rows.items())]

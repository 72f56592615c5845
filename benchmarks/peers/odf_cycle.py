"""One cycle of the product in an engine that is up: what a poll costs where many share a JVM."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.run import finish, run
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.runner.local import LocalRunner
from benchmarks.measure import Clock


def main(manifest: str, store: str, first: str, heap: str) -> None:
    """The times are from the polled file to the published slice; ``poll`` is the poll before it, which copies the
    file. ``first`` is a small manifest that is run before."""
    with LocalRunner(conf={"spark.driver.memory": heap}) as runner:
        run(_cycle(Store.open(f"{store}-first"), runner, _load(first)))
        cycle, start = _cycle(Store.open(store), runner, _load(manifest)), time.perf_counter()
        polled = poll(cycle)
        poll_seconds, clock = time.perf_counter() - start, Clock()
        outcome: Outcome = finish(cycle, polled)
        answer = {**clock.answer(), "poll": poll_seconds, "outcome": str(outcome), "jvms": runner.started}
    print(json.dumps(answer))


def _cycle(store: Store, runner: LocalRunner, manifest: Manifest) -> Cycle:
    return Cycle(store, str(manifest.snapshot.alias), runner, Instant.now(), manifest, os.environ)


def _load(path: str) -> Manifest:
    (one,) = load([Path(path)]).manifests
    return one


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

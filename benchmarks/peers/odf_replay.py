"""A derivative of fifty blocks, made run by run in one engine, and computed again by a replay."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.replay import replay_transforms
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from benchmarks.measure import Clock


def main(manifests: list[str], store: str, files: str, blocks: int, rows: int, heap: str) -> None:
    """``manifests`` are those of a root that polls the CSV files of a folder, and of its derivative.

    The answer has the times of the replay, ``runs`` those of all runs of the derivative before it.
    """
    target, (root, derivative) = Store.open(store), load([Path(path) for path in manifests]).manifests
    with LocalRunner(conf={"spark.driver.memory": heap}) as runner:
        runs = {"seconds": 0.0, "cpu": 0.0}
        for block in range(blocks):
            _write(Path(files), block, rows)
            for manifest in (root, derivative):
                clock = Clock()
                cycle = Cycle(target, str(manifest.snapshot.alias), runner, Instant.now(), manifest, os.environ)
                outcome = run(cycle)
                assert outcome.candidate is not None, outcome
            runs = {name: value + runs[name] for name, value in clock.answer().items()}
        dataset, clock = target.dataset(str(derivative.snapshot.alias)), Clock()
        replayed = replay_transforms(target, dataset, lambda request: runner.submit(request).result())
        answer = {**clock.answer(), "runs": runs, "transformations": replayed.transformations}
    print(json.dumps(answer))


def _write(directory: Path, block: int, rows: int) -> None:
    start = block * rows
    lines = (f"2024-05-{block % 28 + 1:02}T00:00:00Z,{n % 500},{n * 7 % 1000}" for n in range(start, start + rows))
    (directory / f"{block:03}.csv").write_text("\n".join(["event_time,g,v", *lines, ""]))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

"""A Snapshot on a standalone cluster of one worker and of two, each with a part of a processor and an executor in 2
GiB."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import psutil

from benchmarks import check, data, odf, source
from benchmarks.measure import MIB, Run, in_turns
from benchmarks.report import Row, row
from benchmarks.scale import Scale
from tests.spark_servers import standalone

CASE = "cluster"

SHARE = 0.6
"""Processors of each worker, where the benchmark may limit them: of two processors, the rest is for the driver."""

FLOOR, TWO = "odf run, one worker", "odf run, two workers"

# The rest of the 2 GiB is for the Python worker beside the JVM.
_DEFAULTS = """
spark.driver.host      127.0.0.1
spark.driver.memory    1g
spark.executor.memory  1g
spark.executor.cores   1
spark.ui.enabled       false
"""


def run(scale: Scale) -> list[Row]:
    numbers = count()
    (scale.directory / "spark-defaults.conf").write_text(_DEFAULTS)
    table = data.write(data.rows(scale.rows, []), scale.directory / "table.parquet")
    manifest = odf.manifest(scale.directory / "table.yaml", table.as_uri(), "{kind: Parquet}", source.SNAPSHOT)
    environment = {"SPARK_CONF_DIR": str(scale.directory), "PYSPARK_PYTHON": sys.executable}
    executors: dict[str, int] = {}

    def on(name: str, workers: int) -> Run:
        folder = scale.directory / f"run-{next(numbers)}"
        folder.mkdir()
        with standalone(folder, workers, memory="2g", share=SHARE) as url, _largest_executor() as peak:
            done = odf.run(folder / "store", manifest, "--spark", url, environment=environment)
        executors[name] = max(executors.get(name, 0), *peak)
        check.said([done.text], "published")
        shutil.rmtree(folder)
        return done

    runs = in_turns({FLOOR: lambda: on(FLOOR, 1), TWO: lambda: on(TWO, 2)}, scale.reps)
    notes = {name: f"largest executor {size // MIB} MiB" for name, size in executors.items()}
    first = row(CASE, FLOOR, runs[FLOOR], note=f"{scale.rows:,} rows, {notes[FLOOR]}")
    return [first, row(CASE, TWO, runs[TWO], FLOOR, runs[FLOOR], notes[TWO])]


@contextmanager
def _largest_executor() -> Iterator[list[int]]:
    """Yield a list with the largest resident memory of an executor and its Python workers, in bytes, at the end."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    if process.name() == "java" and any("CoarseGrained" in part for part in process.cmdline()):
                        tree = [process, *process.children(recursive=True)]
                        peak[0] = max(peak[0], sum(member.memory_info().rss for member in tree))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()

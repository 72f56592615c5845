"""Run an Airflow for hours while files arrive, pages are looked at and sensors wait.

Every minute, a line of JSON in the journal has the memory, open files, threads and processes of each component. At the
end, the medians of the first and the last quarter of an hour are compared, and all rows were published once."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from tests.incidents.installation import DATASETS, ROOT, WAITING, Installation, running
from tests.ui.shown import PAGES

QUARTER = 900.0
GROWTH = 1.2
"""Of what a component holds, the most that the last quarter may have of the first one."""
WHOLE = {"memory": 32 << 20, "files": 8, "threads": 4, "processes": 1}
"""What may come beside that growth: in bytes, and in numbers."""


def main() -> int:
    options = _options()
    journal = Path(options.journal).absolute()
    journal.parent.mkdir(parents=True, exist_ok=True)
    with running(Path(tempfile.mkdtemp(prefix="odf-soak-"))) as airflow, journal.open("a") as file:
        begin, lines = time.monotonic(), list[dict[str, Any]]()
        while time.monotonic() - begin < options.hours * 3600:
            _minute(airflow)
            lines.append({"seconds": round(time.monotonic() - begin), **_held(airflow)})
            print(json.dumps(lines[-1]), file=file, flush=True)
        if _is_waiting(airflow):
            airflow.deliver()
        airflow.wait_for("the sensor ends", lambda: not _is_waiting(airflow))
        airflow.wait_until_quiet()
        airflow.check()
    problems = _grown(lines)
    runs = sum(airflow.delivered.values())
    print(
        f"{len(lines)} minutes, {runs} files, seen in {len(DATASETS)} datasets; {', '.join(problems) or 'nothing grew'}"
    )
    return bool(problems)


def _minute(airflow: Installation) -> None:
    """Let a file of each folder arrive, start a run and one that waits, and look at all pages."""
    end = time.monotonic() + 60
    if not _is_waiting(airflow):
        airflow.trigger(WAITING)
    airflow.deliver("seen")
    airflow.deliver()
    airflow.trigger(ROOT)
    for name in DATASETS:
        for page in PAGES:
            airflow.page(f"/datasets/{name}{page}")
    for page in ("/datasets", "/lineage", "/candidates"):
        airflow.page(page)
    time.sleep(max(0, end - time.monotonic()))


def _is_waiting(airflow: Installation) -> bool:
    return any(dag == WAITING for dag, *_ in airflow.unfinished())


def _held(airflow: Installation) -> dict[str, dict[str, int]]:
    """Return what each component holds, without the tasks of the scheduler."""
    held = {}
    for name, process in airflow.family.processes.items():
        assert process.poll() is None, f"the {name} ended"
        parent = psutil.Process(process.pid)
        members = [parent, *(parent.children(recursive=True) if name != "scheduler" else ())]
        held[name] = {"memory": 0, "files": 0, "threads": 0, "processes": 0}
        for member in members:
            with suppress(psutil.NoSuchProcess), member.oneshot():
                held[name]["memory"] += member.memory_info().rss
                held[name]["files"] += member.num_fds()
                held[name]["threads"] += member.num_threads()
                held[name]["processes"] += 1
    return held


def _grown(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Return what grew from the first quarter of an hour to the last one."""
    first = [line for line in lines if line["seconds"] <= QUARTER]
    last = [line for line in lines if line["seconds"] > lines[-1]["seconds"] - QUARTER]
    problems = []
    for name in sorted(set(lines[-1]) - {"seconds"}):
        for kind, margin in WHOLE.items():
            before, after = (median(line[name][kind] for line in part) for part in (first, last))
            print(f"{name:14} {kind:10} {before:12,.0f} {after:12,.0f}")
            if after > before * GROWTH + margin:
                problems.append(f"{kind} of the {name} grew from {before:,.0f} to {after:,.0f}")
    return problems


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.incidents", description=__doc__)
    parser.add_argument("--hours", type=float, default=8)
    parser.add_argument("--journal", default="build/torture/soak.jsonl")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

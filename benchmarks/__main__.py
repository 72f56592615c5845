"""Run the cases and print one table."""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

from airflow_provider_odf.engine import archive, archive_training, jvm
from benchmarks import report
from benchmarks.scale import Scale

CASES = (
    "command_line",
    "dag_folder",
    "poll_unchanged",
    "small_change",
    "many_datasets",
    "many_files",
    "snapshot",
    "few_changes",
    "large",
    "logical_hash",
    "triggers",
    "verify",
    "contract",
    "derivative",
    "small_derivative",
    "replay",
    "pages",
    "growth",
    "cluster",
    "connect",
    "object_store",
    "installation",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=sys.modules["benchmarks"].__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; all by default")
    parser.add_argument("--rows", type=float, default=5e6, help="rows of the large cases (5e6)")
    parser.add_argument("--reps", type=int, default=3, help="repetitions; medians are shown (3)")
    parser.add_argument("--sources", type=int, default=2000, help="sources that wait, and files of a glob (2000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--picture", type=Path, help="SVG file that `growth` draws")
    asked = parser.parse_args()
    if unknown := set(asked.cases) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are: {', '.join(CASES)}")
    _make_archive()
    work = Path(tempfile.mkdtemp(prefix="odf-benchmarks-"))
    rows: list[report.Row] = []
    try:
        for name in asked.cases or CASES:
            start = time.perf_counter()
            directory = work / name
            directory.mkdir()
            scale = Scale(directory, int(asked.rows), asked.reps, asked.sources, asked.picture)
            rows += importlib.import_module(f"benchmarks.{name}").run(scale)
            shutil.rmtree(directory, ignore_errors=True)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if rows:
            report.show(rows, as_json=asked.json)


def _make_archive() -> None:
    """The class-data archive, which users have from their second run on; made within a run it would disturb it."""
    if archive.is_wanted() and not archive.options(java := jvm.find_java()):
        archive.make(java, archive_training.load_classes)


if __name__ == "__main__":
    main()

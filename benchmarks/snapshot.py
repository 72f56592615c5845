"""A Snapshot merge of a large table of which 2 % changed: over a history of one slice, and of fifty.

Against plain Spark reading and writing the new table once, and against DuckDB computing the same records from the same
slices. The fifty slices come with the state that the product keeps, five slices old; what the merge costs without it is
told as well.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from benchmarks import check, data, history, odf, source
from benchmarks.measure import Run, in_turns, peer, whole
from benchmarks.report import Row, row
from benchmarks.scale import Scale

HEAP = "6g"
SLICES = 50
SINCE_STATE = 5
"""Slices after the kept state; with one or two more, it is written anew."""

CASE = "snapshot, 2 % changed"
SPARK = "plain Spark copy"
ONE, LONG = "odf, 1 slice", f"odf, {SLICES} slices"
TOOL = "odf run, 1 slice"


class Snapshot:
    """The files and stores of the case: ``one`` has one slice, ``long`` has fifty, each before its last step."""

    def __init__(self, scale: Scale) -> None:
        self.scale, self.directory = scale, scale.directory
        self.current = self.directory / "table.parquet"
        self.one, self.long = self.directory / "one", self.directory / "long"
        self.manifest = self._manifest("table", self.current)
        self.first = self._manifest("first", data.write(data.rows(1000, []), self.directory / "first.parquet"))
        self._numbers = count()

    def _manifest(self, name: str, file: Path) -> Path:
        path = self.directory / f"{name}.yaml"
        return odf.manifest(path, file.as_uri(), "{kind: Parquet}", source.SNAPSHOT)

    def publish(self, *steps: int) -> Path:
        """The table as it is after some steps, where the manifest looks for it."""
        name = f"after-{len(steps)}.parquet"
        if not (made := self.directory / name).exists():
            data.write(data.rows(self.scale.rows, steps), made)
        pending = self.directory / "pending.parquet"
        os.link(made, pending)
        pending.replace(self.current)
        return made

    def prepare(self) -> Run:
        """Make both stores; the run that merged a history without a kept state, and then kept one."""
        self.publish()
        odf.run(self.one, self.manifest)
        odf.copy_store(self.one, self.long)
        before = SLICES - SINCE_STATE
        history.append(self.long, "table", self.scale.rows, range(1, before - 1))
        shutil.rmtree(self.long / ".work" / ".cache", ignore_errors=True)
        self.publish(*range(1, before))
        run = self.merge(self.long, keep=True)
        history.append(self.long, "table", self.scale.rows, range(before, SLICES))
        assert len(check.slices(self.long, "table")) == SLICES
        return run

    def merge(self, store: Path, *, keep: bool = False) -> Run:
        """The published table merged into a store, or into a copy of it."""
        target = store if keep else odf.copy_store(store, self.directory / f"merged-{next(self._numbers)}")
        return peer("odf_cycle", manifest=self.manifest, store=target, first=self.first, heap=HEAP)

    def floor(self, table: Path) -> Run:
        target = self.directory / f"floor-{next(self._numbers)}"
        run = peer("spark_copy", source=table, target=target, heap=HEAP)
        shutil.rmtree(target)
        return run

    def duckdb(self, slices: Sequence[Path], table: Path) -> Run:
        target = self.directory / f"duckdb-{next(self._numbers)}.parquet"
        return peer("duckdb_snapshot", history=slices, new=table, target=target)

    def tool(self) -> Run:
        return odf.run(odf.copy_store(self.one, self.directory / f"merged-{next(self._numbers)}"), self.manifest)


def run(scale: Scale) -> list[Row]:
    case = Snapshot(scale)
    rebuilt = case.prepare()
    runs: dict[str, list[Run]] = {}
    for _ in range(scale.reps):
        for name, done in _repetition(case).items():
            runs.setdefault(name, []).extend(done)
        _check(case)
    return _rows(runs, rebuilt)


def _repetition(case: Snapshot) -> dict[str, list[Run]]:
    table = case.publish(0)
    slices = check.slices(case.one, "table")
    subjects = {
        SPARK: lambda: case.floor(table),
        "DuckDB, 1 slice": lambda: case.duckdb(slices, table),
        ONE: lambda: case.merge(case.one),
        TOOL: case.tool,
    }
    done = in_turns(subjects, 1)
    later, all_slices = case.publish(*range(SLICES)), check.slices(case.long, "table")
    subjects = {
        f"DuckDB, {SLICES} slices": lambda: case.duckdb(all_slices, later),
        LONG: lambda: case.merge(case.long),
    }
    return done | in_turns(subjects, 1)


def _check(case: Snapshot) -> None:
    """All subjects made the records of step 0. What they made is then removed."""
    expected = case.directory / "expected.parquet"
    if not expected.exists():
        data.write(data.changes(case.scale.rows, 0), expected)
    stores = [path for path in case.directory.glob("merged-*") if path.name[-6:] != "-first"]
    made = [check.slices(store, "table")[-1] for store in stores]
    check.equal(expected, [*made, *case.directory.glob("duckdb-*.parquet")])
    for path in case.directory.glob("merged-*"):
        shutil.rmtree(path)


def _rows(runs: dict[str, list[Run]], rebuilt: Run) -> list[Row]:
    floor = runs[SPARK]
    started = list(map(whole, floor))
    growth = statistics.median(a.seconds / b.seconds for a, b in zip(runs[LONG], runs[ONE], strict=True))
    notes = {
        LONG: f"{growth:.2f} of the time with 1 slice",
        ONE: f"after a poll of {statistics.median(r.answer['poll'] for r in runs[ONE]):.2f} s, which copies the file",
    }
    rows = [row(CASE, SPARK, floor)]
    for name, done in runs.items():
        if name not in (SPARK, TOOL):
            rows.append(row(CASE, name, done, SPARK, floor, notes.get(name, "")))
    rows.append(row(CASE, TOOL, runs[TOOL], f"{SPARK}, started", started))
    note = f"reads {SLICES - SINCE_STATE} slices and writes the state; once"
    return [*rows, row(CASE, "odf without a kept state", [rebuilt], SPARK, floor[:1], note)]

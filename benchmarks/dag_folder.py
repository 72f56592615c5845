"""A dags folder of a thousand manifests, against as many plain Python files with a DAG of the same tasks."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks import odf, source
from benchmarks.measure import Run, in_turns, peer
from benchmarks.peers.parsed_folder import PLAIN
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "DAG folder"
FLOOR, OURS = "plain Python DAGs", "manifests"
MOST_FILES = 1000


def run(scale: Scale) -> list[Row]:
    number = min(scale.sources, MOST_FILES)
    ours, floor = _folder(scale.directory / "manifests"), _folder(scale.directory / "plain")
    for folder, count in ((ours, number), (ours / "one", 1)):
        for i in range(count):
            odf.manifest(folder / f"d{i}.yaml", f"https://example.com/{i}.csv", source.READ, source.SNAPSHOT)
    for folder, count in ((floor, number), (floor / "one", 1)):
        for i in range(count):
            (folder / f"d{i}.py").write_text(PLAIN.format(name=f"d{i}"))
    (ours / "one" / "d0.yaml").rename(ours / "one" / "first.yaml")
    subjects = {
        FLOOR: lambda: peer("parsed_folder", kind="plain", folder=floor),
        OURS: lambda: peer("parsed_folder", kind="manifests", folder=ours),
    }
    runs = in_turns(subjects, scale.reps)
    assert all(one.answer["dags"] >= number for done in runs.values() for one in done)
    return [
        row(CASE, FLOOR, runs[FLOOR], note=_note(runs[FLOOR], number)),
        row(CASE, OURS, runs[OURS], FLOOR, runs[FLOOR], note=_note(runs[OURS], number)),
    ]


def _folder(path: Path) -> Path:
    (path / "one").mkdir(parents=True)
    return path


def _note(runs: list[Run], number: int) -> str:
    first, again = (statistics.median(run.answer[name] for run in runs) * 1000 / number for name in ("first", "again"))
    grown = statistics.median(run.answer["again_mib"] - run.answer["first_mib"] for run in runs)
    return f"{first:.2f} CPU ms each, {again:.2f} when parsed again, which takes {grown:.0f} MiB more"

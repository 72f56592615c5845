"""How soon commands that start no Spark answer: what a person waits for, and a shell loop many times."""

from __future__ import annotations

import sys

from benchmarks import check, odf, source
from benchmarks.measure import in_turns, program
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "command line"
PYTHON = "python -c pass"
LIBRARIES = "python, import typer, pydantic, yaml"
RUNS = 5
"""Runs of each command in a repetition: one takes a tenth of a second."""


def run(scale: Scale) -> list[Row]:
    with source.serve(scale.directory / "served") as served:
        url = served.publish("prices.csv", 1)
        manifest = odf.manifest(scale.directory / "prices.yaml", url, source.READ, source.SNAPSHOT)
        store = scale.directory / "store"
        check.said([odf.run(store, manifest).text], "published 101 records")
    commands = {
        PYTHON: [sys.executable, "-c", "pass"],
        LIBRARIES: [sys.executable, "-c", "import typer, pydantic.main, yaml"],
        "odf --help": [odf.ODF, "--help"],
        "odf log": [odf.ODF, "log", "prices", "--store", str(store)],
        "odf validate": [odf.ODF, "validate", str(manifest)],
    }
    subjects = {name: lambda command=command: program(command) for name, command in commands.items()}
    runs = in_turns(subjects, scale.reps * RUNS)
    check.said([one.text for one in runs["odf log"]], "101 records (offsets 0..100)")
    check.said([one.text for one in runs["odf validate"]], "1 manifest is valid")
    floor = runs[LIBRARIES]
    return [
        row(CASE, name, done, *((LIBRARIES, floor) if name.startswith("odf") else ())) for name, done in runs.items()
    ]

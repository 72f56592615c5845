"""A poll that finds nothing new: no JVM, and little more than the HTTP request that it must make."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import httpx

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from benchmarks import check, odf, source
from benchmarks.measure import in_turns, program, timed
from benchmarks.report import Row, row
from benchmarks.scale import Scale

POLLS = 20
"""Repetitions within a process for each repetition of whole programs."""

COMMITS = 10_000
"""Commits in the longer of the two histories: a year of an hourly poll that always finds something."""

CASE = "poll unchanged"
REQUEST = "httpx.get"
PROGRAM = "python, httpx.get"


def run(scale: Scale) -> list[Row]:
    with source.serve(scale.directory / "served") as served:
        url = served.publish("prices.csv", 1)
        manifest = odf.manifest(scale.directory / "prices.yaml", url, source.READ, source.SNAPSHOT)
        short, long = scale.directory / "short", scale.directory / "long"
        check.said([odf.run(short, manifest).text], "published 101 records")
        lengthen(odf.copy_store(short, long), "prices", COMMITS)
        etag = httpx.get(url).headers["ETag"]
        return [
            *_in_process(scale, manifest, (url, etag), short, long),
            *_programs(scale, manifest, (url, etag), short, long),
        ]


def lengthen(store: Path, name: str, commits: int) -> None:
    """Add commits to a dataset that bring no data, only states of another source."""
    dataset = Store.open(store).dataset(name)
    base = replay(dataset)
    draft = Draft(dataset, base)
    kept = base.polling_state
    for number in range(commits):
        state = kept if number == commits - 1 else kept.model_copy(update={"value": f"older-{number}"})
        event = model.AddData(prev_offset=base.last_offset, new_watermark=base.watermark, new_source_state=state)
        draft.append(event, base.system_time)
    dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)


def _in_process(scale: Scale, manifest: Path, asked: tuple[str, str], short: Path, long: Path) -> list[Row]:
    (one,) = load([manifest]).manifests

    def ask() -> None:
        url, etag = asked
        assert httpx.get(url, headers={"If-None-Match": etag}).status_code == httpx.codes.NOT_MODIFIED

    def look(store: Path) -> None:
        with LocalRunner() as runner:  # which starts nothing without a request
            found = poll(Cycle(Store.open(store), str(one.snapshot.alias), runner, Instant.now(), one, os.environ))
        assert isinstance(found, UpToDate), found

    names = {REQUEST: ask, "odf poll": lambda: look(short)}
    names[f"odf poll, {COMMITS} commits"] = lambda: look(long)
    runs = in_turns({name: lambda action=action: timed(action) for name, action in names.items()}, scale.reps * POLLS)
    floor = runs[REQUEST]
    return [row(CASE, name, r, REQUEST, floor) if r is not floor else row(CASE, name, r) for name, r in runs.items()]


def _programs(scale: Scale, manifest: Path, asked: tuple[str, str], short: Path, long: Path) -> list[Row]:
    url, etag = asked
    ask = [sys.executable, "-c", f"import httpx; httpx.get({url!r}, headers={{'If-None-Match': {etag!r}}})"]
    curl = ["curl", "--silent", "--output", "/dev/null", "--header", f"If-None-Match: {etag}", url]
    subjects = {
        PROGRAM: lambda: program(ask),
        "curl": lambda: program(curl),
        "odf run": lambda: odf.run(short, manifest),
        f"odf run, {COMMITS} commits": lambda: odf.run(long, manifest),
    }
    runs = in_turns(subjects, scale.reps)
    ours = [run for name in runs if name.startswith("odf") for run in runs[name]]
    check.said([run.text for run in ours], "up to date")
    assert not any(run.jvms for run in ours), "a JVM was started for nothing"
    floor = runs[PROGRAM]
    return [row(CASE, name, r, PROGRAM, floor) if r is not floor else row(CASE, name, r) for name, r in runs.items()]

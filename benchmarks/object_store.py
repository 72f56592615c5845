"""A store in a bucket that is 20 ms away, against the same in a folder: the steps of a small change, whole runs of it,
and `odf log` of a long history: first, on another machine, and again."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.object_storage import PACK
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.copy import copy
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId
from airflow_provider_odf.runner.local import LocalRunner
from benchmarks import check, odf, source
from benchmarks.measure import Run, in_turns, timed
from benchmarks.report import Row, row
from benchmarks.scale import Scale
from tests.s3 import Relay, relaying, serving_s3, use

DELAY = 0.02
"""Seconds by which each request is delayed."""

BLOCKS = 10_000
"""Of the long history; fewer if the case is to have fewer rows."""

STEPS = 10
"""Repetitions of the steps for each repetition of whole programs."""

CASE = f"bucket, {DELAY * 1000:.0f} ms away"
FOLDER, BUCKET = "in a folder", "in a bucket"


def run(scale: Scale) -> list[Row]:
    with (
        source.serve(scale.directory / "served") as served,
        serving_s3() as server,
        relaying(server) as relay,
        pytest.MonkeyPatch.context() as patch,
    ):
        use(relay.url, patch)
        patch.setenv("ODF_CACHE_DIR", str(scale.directory / "cache"))
        url = served.publish("prices.csv", 0)
        manifest = odf.manifest(scale.directory / "prices.yaml", url, source.READ, source.SNAPSHOT)
        versions = count(1)

        def next_version() -> None:
            served.publish("prices.csv", next(versions))

        stores = {FOLDER: str(scale.directory / "store"), BUCKET: "s3://bucket/store"}
        check.said([odf.run(store, manifest).text for store in stores.values()], "published 100 records")
        relay.delay = DELAY
        rows = [*_steps(scale, manifest, stores, next_version), *_programs(scale, manifest, stores, next_version)]
        relay.delay = 0
        return rows + _log(scale, relay)


def _steps(scale: Scale, manifest: Path, stores: dict[str, str], next_version: Callable[[], object]) -> list[Row]:
    """In one process, as `odf run` does them."""
    (one,) = load([manifest]).manifests
    runs = defaultdict[str, list[Run]](list)

    def cycle(place: str, cycle: Cycle) -> None:
        made: list[Any] = []
        runs[f"poll {place}"].append(timed(lambda: made.append(poll(cycle))))
        runs[f"merge {place}"].append(timed(lambda: made.append(merge(cycle, made[-1]))))
        runs[f"publish {place}"].append(timed(lambda: publish(cycle.store, made[-1])))

    with LocalRunner() as runner:
        for _ in range(scale.reps * STEPS):
            next_version()
            for place, location in stores.items():
                name = str(one.snapshot.alias)
                cycle(place, Cycle(Store.open(location), name, runner, Instant.now(), one, os.environ))
    return _rows(runs)


def _programs(scale: Scale, manifest: Path, stores: dict[str, str], next_version: Callable[[], object]) -> list[Row]:
    def in_folder() -> Run:
        next_version()
        return odf.run(stores[FOLDER], manifest)

    subjects = {f"odf run {FOLDER}": in_folder, f"odf run {BUCKET}": lambda: odf.run(stores[BUCKET], manifest)}
    runs = in_turns(subjects, scale.reps)
    check.said([run.text for name in runs for run in runs[name]], "published 3 records")
    return _rows(runs)


def _log(scale: Scale, relay: Relay) -> list[Row]:
    folder, bucket = str(scale.directory / "long"), "s3://bucket/long"
    blocks = min(BLOCKS, scale.rows)
    copy(_long(folder, blocks), Store.open(bucket))
    caches, requests = count(), {}

    def log(store: str, name: str = "") -> Run:
        relay.kinds()
        done = odf.inspect("log", "numbers", store)
        requests[name] = sum(relay.kinds().values())
        return done

    def elsewhere(name: str) -> Run:
        os.environ["ODF_CACHE_DIR"] = str(scale.directory / f"cache-{next(caches)}")
        return log(bucket, name)

    def first() -> Run:
        Store.open(bucket).shared_cache("numbers").remove(PACK, inf)
        return elsewhere("first")

    relay.delay = DELAY
    runs = in_turns(
        {
            f"odf log {FOLDER}": lambda: log(folder),
            f"odf log {BUCKET}, first": first,
            f"odf log {BUCKET}, on another machine": lambda: elsewhere("elsewhere"),
            f"odf log {BUCKET}, again": lambda: log(bucket, "again"),
        },
        scale.reps,
    )
    floor = runs[f"odf log {FOLDER}"]
    notes = [f"{blocks:,} blocks", *(f"{requests[name]:,} requests" for name in ("first", "elsewhere", "again"))]
    return [
        row(CASE, name, r, *((f"odf log {FOLDER}", floor) if r is not floor else ()), note=note)
        for (name, r), note in zip(runs.items(), notes, strict=True)
    ]


def _long(store: str, blocks: int) -> Dataset:
    """A dataset with many blocks and no data."""
    dataset = Store.open(store).create(DatasetAlias.parse("numbers"))
    draft, time = Draft(dataset), Instant.now()
    draft.append(model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Root"), time)
    for number in range(blocks - 1):
        draft.append(model.SetInfo(description=str(number)), time)
    dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    return dataset


def _rows(runs: dict[str, list[Run]]) -> list[Row]:
    """Rows of subjects, those in the bucket compared with those in a folder."""
    rows = []
    for name, r in runs.items():
        floor = name.replace(BUCKET, FOLDER)
        rows.append(row(CASE, name, r, *((floor, runs[floor]) if floor != name else ())))
    return rows

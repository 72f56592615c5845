"""Sources that wait in one triggerer process: what each costs in memory, and what a look at it costs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.source import source_state
from benchmarks import odf, source
from benchmarks.measure import in_turns, peer
from benchmarks.report import Row, row
from benchmarks.scale import Scale

LOOKS = 100
"""How many looks there are in a second; with 2000 sources one looks every 20 s, thrice as often as usual."""

CASE = "triggers"
BARE = "httpx.AsyncClient"


def run(scale: Scale) -> list[Row]:
    with source.serve(scale.directory / "served") as served:
        url = served.publish("prices.csv", 1)
        etag = httpx.get(url).headers["ETag"]
        folder = scale.directory / "datasets"
        make(folder, url, etag, scale.sources)
        pause = scale.sources / LOOKS
        asked = partial(peer, "waiting", folder=folder, url=url, etag=etag, sources=scale.sources, pause=pause)
        runs = in_turns({BARE: partial(asked, what="bare"), "odf": partial(asked, what="ours")}, scale.reps)
    rows = [row(CASE, BARE, runs[BARE], note=_note(runs[BARE][0].answer))]
    return [*rows, row(CASE, f"{scale.sources} triggers", runs["odf"], BARE, runs[BARE], _note(runs["odf"][0].answer))]


def make(folder: Path, url: str, etag: str, sources: int) -> None:
    """Datasets with a manifest each, all read up to the same state of one source."""
    folder.mkdir()
    store = Store.open(folder / "store")
    manifests = [odf.manifest(folder / f"prices-{n}.yaml", url, source.READ, source.SNAPSHOT) for n in range(sources)]
    (first,) = load(manifests[:1]).manifests
    time = Instant.now()
    base = apply(store, first, time)
    dataset = store.dataset("prices-0")
    draft = Draft(dataset, base)
    draft.append(model.AddData(new_source_state=source_state.etag(etag)), time)
    dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)
    for manifest in manifests[1:]:
        copy = shutil.copytree(Path(dataset.location), Path(store.location) / manifest.stem)
        (copy / "info" / "alias").write_text(manifest.stem)


def _note(answer: Mapping[str, Any]) -> str:
    return f"{answer['bytes'] / 1024:.1f} KiB each, first look {answer['first_cpu'] * 1000:.1f} ms CPU"

"""Pages, readers, verification and garbage collection beside writers: each sees whole publications, nobody waits for
long, and what nobody needs goes."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle

import pytest

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle import garbage
from airflow_provider_odf.errors import InvalidInput
from tests.manifests import polled

from .shown import PAGES

WRITER = """
import os, sys, time
from pathlib import Path
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner

root, manifest, seconds = sys.argv[1:]
(one,) = load([Path(manifest)]).manifests
end, published = time.monotonic() + float(seconds), 0
with LocalRunner() as runner:
    while not published or time.monotonic() < end:
        outcome = run(Cycle(Store.open(root), "acme/numbers", runner, Instant.now(), one, os.environ))
        if outcome.error is not None:
            raise outcome.error
        published += outcome.up_to_date is None
print(published)
"""


@pytest.mark.parametrize("seconds", [8, pytest.param(600, marks=pytest.mark.torture)])
@pytest.mark.timeout(1200)
def test_beside_writers(open_page, store, tmp_path, seconds):
    deliver = Deliverer(tmp_path / "in").deliver
    manifest = tmp_path / "numbers.yaml"
    csv = "{kind: Csv, header: true, schema: [id BIGINT, value STRING]}"
    manifest.write_text(polled("acme/numbers", f"{{kind: FilesGlob, path: {tmp_path}/in/*.csv}}", csv))
    deliver()
    assert start(store, manifest, 0).communicate() == ("1\n", "")
    writers = [start(store, manifest, seconds) for _ in range(2)]
    dataset, over = store.dataset("acme/numbers"), threading.Event()
    loops = {
        "deliver": deliver,
        "reader": Reader(dataset).read,
        "verify": lambda: verify(dataset),
        "garbage": partial(collect, store, dataset),
        "pages": partial(look, open_page, cycle(PAGES)),
    }
    with ThreadPoolExecutor(len(loops)) as pool:
        futures = {name: pool.submit(repeat, once, over) for name, once in loops.items()}
        outputs = [process.communicate(timeout=seconds + 300) for process in writers]
        over.set()
        turns = {name: future.result() for name, future in futures.items()}
    assert [errors for _, errors in outputs] == ["", ""]
    publications = [int(out) for out, _ in outputs]
    print(publications, turns)
    assert min(publications) >= 1
    deliver()
    assert start(store, manifest, 0).communicate() == ("1\n", "")
    assert sorted(row["id"] for row in state_rows(dataset)) == list(range(turns["deliver"] + 2))
    assert verify(dataset).records == turns["deliver"] + 2
    collect(store, dataset)
    assert not list((dataset.storage.root / "data").glob("f1620" + "0" * 32 + "*"))


def start(store, manifest, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, store.location, manifest, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def repeat(once, over):
    """Do something until it is over, and for each page at least once, and return how often."""
    turns = 0
    while not over.wait(0.02) or turns < len(PAGES):  # a pause: threads of one process share its lock
        once()
        turns += 1
    return turns


class Deliverer:
    """Writes files with a row each; their names are in order."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0
        folder.mkdir()

    def deliver(self):
        part = self.folder / f"{self.number:06}.part"
        part.write_text(f"id,value\n{self.number},x\n")
        part.rename(part.with_suffix(".csv"))
        self.number += 1


class Reader:
    """Reads current rows, of which none goes again."""

    def __init__(self, dataset):
        self.dataset, self.seen = dataset, set()

    def read(self):
        rows = [row["id"] for row in state_rows(self.dataset)]
        assert len(set(rows)) == len(rows)
        assert self.seen <= set(rows)
        self.seen = set(rows)


def collect(store, dataset):
    """Leave a slice of a day ago that no block has, as of a killed writer, and collect garbage."""
    file = dataset.storage.root / "data" / f"f1620{'0' * 32}{time.monotonic_ns():032x}"
    file.write_bytes(b"left")
    os.utime(file, (time.time() - 86_400,) * 2)
    try:
        for item in garbage.unused(store, dataset, 3600):
            garbage.remove(item, dataset)
    except InvalidInput as e:
        assert "may still write to it" in str(e)  # noqa: PT017 - others are errors


def look(open_page, pages):
    """Open the next page of the dataset."""
    page = next(pages)
    response = open_page(f"/datasets/acme.numbers{page}")
    assert response.status_code == 200, (page, response.text)

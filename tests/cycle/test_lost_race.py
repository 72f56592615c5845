"""Writers that race for one dataset's head: each gets to publish, however slow it is."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import lost_race
from airflow_provider_odf.errors import CommitConflict
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from tests.manifests import pushed

from .conftest import Write

TIME = Instant.parse("2024-01-01T12:00:00Z")
MANIFEST = pushed("raced", "{kind: NdJson}")
HOLDER = """
import sys, time
from pathlib import Path
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import lost_race
from airflow_provider_odf.errors import CommitConflict

def attempt(conflict):
    if conflict is None:
        raise CommitConflict("lost")
    print("holds the turn", flush=True)
    time.sleep(600)

lost_race.settle(Store.open(sys.argv[1]), "raced", attempt)
"""


@pytest.fixture
def dataset(write: Write, store: Store) -> Dataset:
    apply(store, load([write("raced.yaml", MANIFEST)]).manifests[0], TIME)
    return store.dataset("raced")


def commit(dataset: Dataset, base: ChainState, value: str) -> None:
    draft = Draft(dataset, base)
    draft.append(model.AddData(new_source_state=model.SourceState(source_name="s", kind="test", value=value)), TIME)
    dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)


def moves(dataset: Dataset, head: str | None) -> bool:
    """Whether somebody moves the head soon."""
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        if dataset.head() != head:
            return True
    return False


def test_a_slow_writer_beside_a_fast_one_publishes_after_a_few_losses(store: Store, dataset: Dataset) -> None:
    is_done = threading.Event()
    published: list[str] = []

    def fast() -> None:
        while not is_done.is_set():
            value = f"fast-{len(published)}"
            lost_race.settle(store, "raced", lambda _: commit(dataset, replay(dataset), value))  # noqa: B023
            published.append(value)

    losses = []
    said: list[str] = []

    def slow(conflict: CommitConflict | None) -> None:
        losses.append(conflict)
        base = replay(dataset)
        moves(dataset, base.head)  # works for as long as somebody else publishes
        commit(dataset, base, "slow")

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(fast)
        try:
            lost_race.settle(store, "raced", slow, said.append)
        finally:
            is_done.set()
        running.result(30)
    assert losses[0] is None
    assert 1 <= len(losses) - 1 <= 3
    assert said == []
    values = [block.event.new_source_state.value for _, block in dataset.walk() if block.event.kind == "AddData"]
    assert sorted(values) == sorted(["slow", *published])


def test_writers_that_create_a_dataset_at_once_all_succeed(write: Write, store: Store) -> None:
    writers = 8
    for number in range(5):
        text = MANIFEST.replace("name: raced", f"name: raced-{number}")
        (manifest,) = load([write(f"raced-{number}.yaml", text)]).manifests
        together = threading.Barrier(writers)

        def create(_: int, manifest=manifest, together=together) -> str:
            together.wait()
            return apply(store, manifest, TIME).head

        with ThreadPoolExecutor(writers) as pool:
            heads = set(pool.map(create, range(writers)))
        assert heads == {store.dataset(f"raced-{number}").head()}


def test_a_killed_writer_gives_its_turn_back(store: Store, dataset: Dataset) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, store.location], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "holds the turn\n"
        waits = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            settled = pool.submit(lost_race.settle, store, "raced", lambda _: "won", lambda _: waits.set())
            assert waits.wait(30)
            assert not settled.done()
            holder.send_signal(signal.SIGKILL)
            assert settled.result(30) == "won"


def test_nobody_waits_for_ever(store: Store, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_race, "PATIENCE", 0.1)

    def outer(conflict: CommitConflict | None) -> list[str]:
        if conflict is None:
            raise CommitConflict("lost")
        said: list[str] = []
        lost_race.settle(store, "raced", lambda _: None, said.append)
        return said

    assert lost_race.settle(store, "raced", outer) == [
        "waiting for another writer, which has priority because its last attempt failed"
    ]


def test_a_conflict_that_is_raised_again_ends_it(store: Store) -> None:
    tries = []

    def attempt(conflict: CommitConflict | None) -> None:
        tries.append(conflict)
        raise conflict or CommitConflict("lost")

    with pytest.raises(CommitConflict, match="lost"):
        lost_race.settle(store, "raced", attempt)
    assert len(tries) == 2

    def lose(_: object) -> None:
        tries.append(None)
        raise CommitConflict(f"lost {len(tries)}")

    tries.clear()
    with pytest.raises(CommitConflict, match="lost 16"):
        lost_race.settle(store, "raced", lose)

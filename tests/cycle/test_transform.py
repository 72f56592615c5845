"""Runs of a derivative: what they read, what they leave out, and what remains of one whose Spark is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_odf.chain import replay as chain_replay
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import history
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.replay import replay_transforms
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.errors import InternalError
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from tests.orders import ORDERS, TOTALS
from tests.processes import jvms

from .conftest import NoEngine, Write, cycle_of

pytestmark = pytest.mark.spark

Runs = Callable[..., str]


@pytest.fixture
def cycle(write: Write, store: Store) -> Callable[..., Cycle]:
    """The cycle of a dataset with the present manifests."""
    write("orders.yaml", ORDERS)
    write("totals.yaml", TOTALS)

    def cycle(name: str, runner: object, **options: object) -> Cycle:
        (manifest,) = load([Path(store.location).parent / f"{name}.yaml"], known=lambda ref: True).manifests
        return cycle_of(store, manifest, runner, **options)

    return cycle


@pytest.fixture
def deliver(write: Write, cycle: Callable[..., Cycle], engine: LocalRunner) -> Callable[..., None]:
    """Ingests orders of a day."""

    def deliver(day: int, *rows: str) -> None:
        lines = "".join(f"2024-05-{day:02}T00:00:00Z,{row}\n" for row in rows)
        write(f"in/{day:02}.csv", f"event_time,id,customer,amount\n{lines}")
        outcome = run(cycle("orders", engine))
        assert outcome.error is None

    return deliver


def totals(store: Store) -> list[tuple[str, int]]:
    rows = state_rows(store.dataset("totals")).arrow().to_pylist()
    return sorted((row["customer"], row["total"]) for row in rows)


def test_a_run_replays_each_chain_once(
    cycle: Callable[..., Cycle],
    deliver: Callable[..., None],
    engine: LocalRunner,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deliver(1, "1,ann,10", "2,bob,20")
    run(cycle("totals", engine))
    replays: list[str] = []
    blocks_after = chain_replay.blocks_after

    def counted(dataset: Dataset, *args: str | None) -> object:
        replays.append(str(dataset.alias))
        return blocks_after(dataset, *args)

    monkeypatch.setattr(chain_replay, "blocks_after", counted)
    deliver(2, "3,ann,30")
    assert replays == ["orders"]
    replays.clear()
    write("totals.yaml", TOTALS.replace("sum(amount)", "sum(amount + 0)"))
    assert str(run(cycle("totals", engine))).startswith("published")
    assert sorted(replays) == ["orders", "totals"]


def test_a_changed_query_with_the_same_result_is_evaluated_once(
    cycle: Callable[..., Cycle], deliver: Callable[..., None], store: Store, engine: LocalRunner, write: Write
) -> None:
    deliver(1, "1,ann,10", "2,bob,20")
    assert str(run(cycle("totals", engine))) == "published 2 records (offsets 0..1)"
    write("totals.yaml", TOTALS.replace("sum(amount)", "sum(amount + 0)"))
    assert str(run(cycle("totals", engine))) == "up to date"
    head = store.dataset("totals").head()
    assert str(run(cycle("totals", NoEngine()))) == "up to date"
    assert store.dataset("totals").head() == head
    note = store.cache("totals") / history.NOTE
    for content in (b"", note.read_bytes().replace(b'"key": "', b'"key": "0')):
        note.write_bytes(content)
        assert "an engine was asked" in str(run(cycle("totals", NoEngine())))
        assert str(run(cycle("totals", engine))) == "up to date"
    deliver(2, "3,ann,5")
    assert str(run(cycle("totals", engine))) == "published 2 records (offsets 2..3): 1 corrected"
    assert totals(store) == [("ann", 15), ("bob", 20)]


def test_a_run_reads_each_old_block_once(
    cycle: Callable[..., Cycle],
    deliver: Callable[..., None],
    store: Store,
    engine: LocalRunner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deliver(1, "1,ann,10")
    run(cycle("totals", engine))
    chains = [[block_hash for block_hash, _ in store.dataset(name).walk()] for name in ("orders", "totals")]
    deliver(2, "2,ann,5")
    reads: Counter[str] = Counter()
    get = LocalStorage.get
    monkeypatch.setattr(LocalStorage, "get", lambda self, name: reads.update([name]) or get(self, name))
    assert str(run(cycle("totals", engine))) == "published 2 records (offsets 1..2): 1 corrected"
    # New blocks are compared with the newest of the old ones.
    assert [[reads[f"blocks/{block_hash}"] for block_hash in chain[1:]] for chain in chains] == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.long
def test_few_new_records_of_an_analyzed_query_need_no_spark(
    cycle: Callable[..., Cycle], deliver: Callable[..., None], store: Store, engine: LocalRunner
) -> None:
    deliver(1, "1,ann,10", "2,bob,20")
    run(cycle("totals", engine))
    deliver(2, "3,ann,5", "4,cy,1")
    with LocalRunner("local[2]") as runner:
        assert str(run(cycle("totals", runner))) == "published 3 records (offsets 2..4): 1 added, 1 corrected"
        assert runner.started == 0
        deliver(3, "5,bob,1")
        assert str(run(cycle("totals", runner, spark="always"))) == "published 2 records (offsets 5..6): 1 corrected"
        assert runner.started == 1
    assert totals(store) == [("ann", 15), ("bob", 21), ("cy", 1)]
    replayed = replay_transforms(store, store.dataset("totals"), lambda request: engine.submit(request).result())
    assert (replayed.transformations, replayed.records) == (3, 7)


def test_a_kept_query_that_was_damaged_is_analyzed_again(
    cycle: Callable[..., Cycle], deliver: Callable[..., None], store: Store, engine: LocalRunner
) -> None:
    deliver(1, "1,ann,10", "2,bob,20")
    run(cycle("totals", engine))
    kept = store.dataset("totals").storage
    assert isinstance(kept, LocalStorage)
    file = kept.root / "info" / "evaluation.json"
    content = file.read_bytes()
    for day, changed in enumerate((b"", content[:-9], content.replace(b"Sum", b"Max").replace(b"sum", b"max")), 2):
        assert changed != content
        file.write_bytes(changed)
        deliver(day, f"1{day},ann,5")
        with LocalRunner("local[2]") as runner:
            assert str(run(cycle("totals", runner))).endswith(": 1 corrected")
            assert runner.started == 1
        assert file.read_bytes() == content
    assert totals(store) == [("ann", 25), ("bob", 20)]


def test_nothing_remains_of_a_run_whose_spark_is_killed(
    cycle: Callable[..., Cycle], deliver: Callable[..., None], store: Store, engine: LocalRunner
) -> None:
    deliver(1, "1,ann,10", "2,bob,20")
    run(cycle("totals", engine))
    deliver(2, "3,ann,5", "4,eve,1")
    folder, before = Path(store.location, "totals"), jvms()

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    killed: list[int] = []

    def kill(message: str) -> None:
        if "computing new records" in message:
            killed.extend(jvms() - before)
            os.kill(killed[0], signal.SIGKILL)

    intact = files()
    with LocalRunner("local[2]") as doomed:
        outcome: Outcome = run(cycle("totals", doomed, spark="always", progress=kill))
    assert len(killed) == 1
    assert isinstance(outcome.error, InternalError)
    assert files() == intact
    assert str(run(cycle("totals", engine))) == "published 3 records (offsets 2..4): 1 added, 1 corrected"
    assert totals(store) == [("ann", 15), ("bob", 20), ("eve", 1)]
    replayed = replay_transforms(store, store.dataset("totals"), lambda request: engine.submit(request).result())
    assert (replayed.transformations, replayed.records) == (2, 5)

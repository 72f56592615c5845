"""`odf gc` beside runs that have not finished: nothing that they still need is removed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cli import app
from airflow_provider_odf.cycle import candidates, garbage
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.source import work_area
from tests.chain.conftest import TIME, Growing

HOUR = 3600.0
UNKNOWN = "f1620" + "ab" * 32


@pytest.fixture
def numbers(store: Store) -> Growing:
    import pyarrow as pa

    columns = [pa.field("id", pa.int64()), pa.field("value", pa.string())]
    return Growing(store.create(DatasetAlias.parse("numbers")), model.MergeStrategyAppend(), columns)


def gc(store: Store, *options: str):
    return CliRunner().invoke(app, ["gc", "--store", store.location, *options])


def age(path: Path, hours: float) -> None:
    os.utime(path, (time.time() - hours * HOUR,) * 2)


def lost_slice(numbers: Growing, hours: float) -> Path:
    """A slice that no ref leads to, of some age."""
    lost = Path(numbers.dataset.location) / "data" / UNKNOWN
    lost.parent.mkdir(exist_ok=True)
    lost.write_text("x" * 10)
    age(lost, hours)
    return lost


def test_nothing_is_removed_beside_a_run_that_began_before(store: Store, numbers: Growing) -> None:
    lost = lost_slice(numbers, 2)
    with work_area.scratch(store.scratch("numbers")) as work:
        for path in (work / ".owner", work):
            age(path, 2.5)
        refused = gc(store, "--older-than", "1", "--delete")
        assert refused.exit_code == 1
        (message,) = refused.stderr.splitlines()[:1]
        assert re.fullmatch(
            r"numbers: a run has been writing to it since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, and no ref leads to its new "
            r"files yet: wait until it has ended, or keep its files with --older-than 2\.6 or more; if no run is "
            r"alive, use --idle",
            message,
        )
        assert lost.exists()
        assert gc(store, "--older-than", "2.6", "--delete").exit_code == 0
        assert lost.exists()
    assert gc(store, "--older-than", "1", "--delete").exit_code == 0
    assert not lost.exists()


def test_an_input_that_waits_for_its_merge(store: Store, numbers: Growing) -> None:
    """Its source may be a draft that no ref leads to. After a day it counts no longer."""
    with work_area.polling(store.scratch("numbers")) as poll:
        pass
    lost = lost_slice(numbers, 2)
    age(poll, 3)
    refused = gc(store, "--older-than", "1", "--delete")
    assert refused.exit_code == 1
    assert re.search(
        r"numbers: a run that began at \S+Z may still write to it, .*, or until \S+Z, or keep", refused.stderr
    )
    assert gc(store, "--older-than", "24", "--delete").exit_code == 0
    assert gc(store, "--older-than", "1", "--delete", "--idle").exit_code == 0
    assert not lost.exists()
    assert not poll.exists()


def test_after_a_day_a_folder_without_a_lock_is_of_no_run(store: Store, numbers: Growing) -> None:
    with work_area.polling(store.scratch("numbers")) as poll:
        pass
    lost = lost_slice(numbers, 2)
    age(poll, 25)
    assert gc(store, "--older-than", "1", "--delete").exit_code == 0
    assert not lost.exists()
    assert poll.exists(), "polls stay for a week, for a task that is cleared"


def test_a_killed_run_holds_nothing_up(store: Store, numbers: Growing) -> None:
    program = (
        "import pathlib, sys, time\nfrom airflow_provider_odf.source import work_area\n"
        "with work_area.scratch(pathlib.Path(sys.argv[1])) as work:\n    print(work, flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(store.scratch("numbers"))], stdout=subprocess.PIPE, text=True
    ) as run:
        work = Path(run.stdout.readline().strip())
        age(work / ".owner", 2)
        assert gc(store, "--older-than", "1").exit_code == 1
        run.send_signal(signal.SIGKILL)
    assert gc(store, "--older-than", "1", "--delete").exit_code == 0
    assert not work.exists()


def test_files_of_the_last_minutes_stay_unless_the_store_is_idle(store: Store, numbers: Growing) -> None:
    lost = lost_slice(numbers, 0.02)
    assert gc(store, "--older-than", "0").stderr == "0 items, 0 bytes: nothing to remove\n"
    assert gc(store, "--older-than", "0", "--delete", "--idle").stderr == "1 item, 10 bytes: deleted\n"
    assert not lost.exists()


def test_a_candidate_that_is_published_while_refs_are_read(
    store: Store, numbers: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head moves to a candidate of yesterday after it was read, and before the refs are listed."""
    head = numbers.dataset.head()
    candidate = numbers.draft.append(model.SetInfo(description="x"), TIME)
    numbers.dataset.storage.compare_and_set_ref("candidate-1", None, candidate)
    for path in Path(store.location).rglob("*"):
        age(path, 48)
    refs = LocalStorage.refs

    def published_first(storage: LocalStorage, beginnings: str | tuple[str, ...] = "") -> list[str]:
        if numbers.dataset.head() == head:
            storage.compare_and_set_ref("head", head, candidate)
            candidates.drop_settled(numbers.dataset, candidate)
        return refs(storage, beginnings)

    monkeypatch.setattr(LocalStorage, "refs", published_first)
    assert [item.name for item in garbage.unused(store, numbers.dataset, 24 * HOUR)] == []


def test_a_writer_loses_nothing_to_a_loop_of_collections(
    store: Store, numbers: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that takes its time between a slice and the ref that leads to it, and collections of all that is older
    than 20 ms beside it."""
    monkeypatch.setattr(garbage, "YOUNG", 0.02)
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for n in range(8):
                with work_area.scratch(store.scratch("numbers")):
                    numbers.append = lambda event: slowly(numbers, event)  # type: ignore[method-assign]
                    numbers.add(("+A", n, "x"))
        except BaseException as e:
            failures.append(e)

    def slowly(numbers: Growing, event: model.MetadataEvent) -> str:
        time.sleep(0.06)
        before = numbers.draft.state.head
        block_hash = numbers.draft.append(event, TIME)
        time.sleep(0.06)
        numbers.dataset.storage.compare_and_set_ref("head", before, block_hash)
        return block_hash

    writer = threading.Thread(target=write)
    writer.start()
    outcomes = {"refused": 0, "collected": 0}
    while writer.is_alive():
        try:
            for item in garbage.unused(store, numbers.dataset, 0):
                garbage.remove(item, numbers.dataset)
            outcomes["collected"] += 1
        except InvalidInput:
            outcomes["refused"] += 1
    writer.join()
    assert failures == []
    assert outcomes["refused"] > 8
    assert outcomes["collected"] > 8
    assert verify(numbers.dataset).records == 8

"""Writers, crashes, readers, collections, copies and resets in any order, against a model that counts rows."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle import garbage
from airflow_provider_odf.cycle.copy import copy
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.cycle.reset import reset
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.errors import CommitConflict, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from tests.cycle.conftest import cycle_of
from tests.cycle.derivatives import derivative, transform
from tests.manifests import polled

pytestmark = pytest.mark.spark

MANIFEST = polled("rows", "{kind: FilesGlob, path: in/*.csv}", "{kind: Csv, header: true, schema: [id BIGINT]}")
WRITERS = ("first", "second")
CRASHES = st.none() | st.integers(1, 60)


class Crash(BaseException):
    """Ends whatever runs; nothing that it wants to do then has an effect."""


@dataclass
class Process:
    """Calls of the operating system that are left to what runs; None for any number."""

    left: int | None = None

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.left is not None and any(str(FOLDER) in str(argument) for argument in arguments[:2]):
            self.left -= 1
            if self.left < 0:
                raise Crash


FOLDER = Path(tempfile.gettempdir(), f"odf-machine-{os.getpid()}")
process = Process()


@contextmanager
def crashing(at: int | None) -> Iterator[None]:
    """Let what runs crash before its n-th call on files of the machine; an audit hook cannot be removed."""
    if not hasattr(crashing, "is_installed"):
        events = ("open", "os.", "fcntl.flock", "shutil.")
        sys.addaudithook(lambda event, arguments: event.startswith(events) and process.hear(event, arguments))
        crashing.is_installed = True
    process.left = at
    try:
        yield
    except Crash:
        pass
    finally:
        process.left = None


class Writer:
    """A process that takes one step at a time: poll, merge, publish."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.next: Callable[[], None] = self.poll
        self.rows = self.conflicts = 0

    @property
    def is_idle(self) -> bool:
        return self.next == self.poll

    def step(self) -> None:
        try:
            self.next()
        except CommitConflict:
            self.next = self.poll
            self.conflicts += 1

    def poll(self) -> None:
        self.rows = self.machine.delivered
        new = poll(self.machine.cycle())
        if not isinstance(new, UpToDate):
            self.next = lambda: self.merge(new)

    def merge(self, new: Any) -> None:
        candidate = merge(self.machine.cycle(), new)
        assert not isinstance(candidate, UpToDate)
        self.next = lambda: self.publish(candidate)

    def publish(self, candidate: Any) -> None:
        self.next = self.poll
        publish(self.machine.store, candidate)
        self.machine.published = max(self.machine.published, self.rows)


class Machine(RuleBasedStateMachine):
    """A root without a key, so that a row that is ingested twice is there twice, its copy, and a derivative."""

    runner: LocalRunner

    def __init__(self) -> None:
        super().__init__()
        shutil.rmtree(FOLDER, ignore_errors=True)
        (FOLDER / "in").mkdir(parents=True)
        (FOLDER / "rows.yaml").write_text(MANIFEST)
        (self.manifest,) = load([FOLDER / "rows.yaml"]).manifests
        self.store, self.copies = (Store.open(FOLDER / name) for name in ("store", "copies"))
        self.delivered = self.published = self.copied = 0
        self.head: str | None = None
        self.seconds = count()
        self.deliver()
        assert run(self.cycle()).error is None
        self.published = 1
        self.derived = derivative(self.store, self.store.dataset("rows"))
        self.has_report = False
        self.writers = {name: Writer(self) for name in WRITERS}

    def cycle(self) -> Any:
        """Return a cycle of a process that begins now: at the same time, two writers would make the same blocks."""
        time = Instant.parse("2024-05-02T08:00:00Z").plus_ns(next(self.seconds) * 1_000_000_000)
        return cycle_of(Store.open(FOLDER / "store"), self.manifest, self.runner, time)

    @rule()
    def deliver(self) -> None:
        (FOLDER / f"in/{self.delivered:04}.csv").write_text(f"id\n{self.delivered}\n")
        self.delivered += 1

    @rule(crash=CRASHES)
    def run(self, crash: int | None) -> None:
        with crashing(crash):
            assert run(self.cycle()).error is None or crash is not None
        now = len(rows(self.store))
        assert now == self.delivered or (crash is not None and now == self.published)
        self.published = now

    @rule(name=st.sampled_from(WRITERS), crash=CRASHES)
    def step(self, name: str, crash: int | None) -> None:
        writer = self.writers[name]
        with crashing(crash):
            writer.step()
            return
        self.writers[name] = Writer(self)
        now = len(rows(self.store))
        assert now in (self.published, writer.rows)
        self.published = now

    @rule(crash=CRASHES)
    def collect(self, crash: int | None) -> None:
        with crashing(crash), pytest.MonkeyPatch.context() as patch:
            patch.setattr(garbage, "YOUNG", 0)
            for dataset in self.store.datasets():
                try:
                    for item in garbage.unused(self.store, dataset, 0):
                        garbage.remove(item, dataset)
                except InvalidInput as e:
                    assert "may still write to it" in str(e)  # noqa: PT017 - others are errors

    @rule(crash=CRASHES)
    def copy(self, crash: int | None) -> None:
        with crashing(crash):
            copy(self.store.dataset("rows"), self.copies)
        now = len(rows(self.copies)) if self.copies.get("rows") else 0
        assert now == self.published or (crash is not None and now == self.copied)
        self.copied = now

    @precondition(lambda self: not self.has_report)
    @rule()
    def compute(self) -> None:
        transform(self.derived, self.store.dataset("rows"))
        self.has_report = True

    @rule(crash=CRASHES)
    def reset(self, crash: int | None) -> None:
        with crashing(crash):
            reset(self.store, self.derived)
        now = bool(replay(self.derived).slices)
        assert not now or (crash is not None and self.has_report)
        self.has_report = now

    @invariant()
    def read(self) -> None:
        for store, number in ((self.store, self.published), (self.copies, self.copied)):
            assert rows(store) == list(range(number))
        dataset, before = self.store.dataset("rows"), self.head
        self.head = str(dataset.head())
        assert dataset.contains(self.head, before or self.head), "a block that was published is gone"

    def teardown(self) -> None:
        for _ in range(2):
            self.run(None)
        assert verify(self.store.dataset("rows")).records == self.delivered


def rows(store: Store) -> list[int]:
    dataset = store.get("rows")
    return [] if dataset is None else sorted(row["id"] for row in state_rows(dataset))


@pytest.fixture
def machine() -> Iterator[type[Machine]]:
    with LocalRunner("local[1]") as Machine.runner:
        yield Machine
    shutil.rmtree(FOLDER, ignore_errors=True)


def test_any_order_of_steps_and_crashes(machine: type[Machine]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=10, stateful_step_count=20, deadline=None))


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_any_order_of_steps_and_crashes_for_long(machine: type[Machine]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=500, stateful_step_count=50, deadline=None))


def test_two_writers_in_every_order_of_their_steps(machine: type[Machine]) -> None:
    """Each polls other files than the other one; whoever comes second begins anew, and nothing is lost or doubled."""
    orders = sorted({*permutations(3 * WRITERS)})
    assert len(orders) == 20
    conflicts = 0
    for order in orders:
        state = machine()
        for name in order:
            if state.writers[name].is_idle:
                state.deliver()
            state.step(name, None)
            state.read()
        conflicts += sum(writer.conflicts for writer in state.writers.values())
        assert state.published in (2, 3), order
        state.teardown()
    assert conflicts == 18

"""What the operating system refuses one dataset, at any call of any step, is that dataset's outcome: others finish.

It is never called damage, and the next run is exact."""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import airflow_provider_odf
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.run import run_all as run_cycles
from airflow_provider_odf.errors import ChainCorrupted, StorageError, UnexpectedError
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from tests.manifests import polled

from .conftest import Write, cycle_of

pytestmark = pytest.mark.spark

PACKAGE = str(Path(airflow_provider_odf.__file__).parent)
PUBLISHED = "published 1 record (offsets 0..0)"
LATER_ROWS = "sku,price\na,2\nb,3\n"
LATER = "published 3 records (offsets 1..3): 1 added, 1 corrected"
GOES_ON = "published 3 records (offsets 1..3)"
"""A run that publishes the tested candidate of a run before it does not count changes."""
MANIFEST = polled(
    "NAME",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}",
    "{kind: Snapshot, primaryKey: [sku]}",
)
Site = tuple[str, str]
"""An audited call of the operating system, and the line of the package that made it."""
NUMBERS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE),
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ESTALE, errno.ENOMEM),
)
"""What an operating system refuses though the stored bytes are intact."""


@dataclass
class Faults:
    """Makes calls fail, for one dataset at one site each, and records the sites of another dataset."""

    recorded: str = ""
    sites: dict[Site, None] = field(default_factory=dict)
    of: dict[str, Site] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """The error of each dataset, ENOSPC by default."""

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        paths = [_path(a) for a in arguments]
        names = {part for path in paths for part in path.split("/") if part == self.recorded or part in self.of}
        for name in names:
            site = (event, _line())
            if name == self.recorded:
                self.sites[site] = None
            elif self.of[name] == site:
                number = self.numbers.get(name, errno.ENOSPC)
                raise OSError(number, os.strerror(number), next(path for path in paths if name in path))


def _path(argument: object) -> str:
    if isinstance(argument, int):
        try:
            return os.readlink(f"/proc/self/fd/{argument}")
        except OSError:
            return ""
    return os.fsdecode(argument) if isinstance(argument, str | bytes | os.PathLike) else ""


def _line() -> str:
    """The line of the package that asks."""
    frame = sys._getframe(2)
    while frame.f_back and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno}"


EVENTS = ("open", "fcntl.flock", "os.", "shutil.copyfile")
active: Faults | None = None


@contextmanager
def injected(faults: Faults) -> Iterator[None]:
    """Hear what the process asks of the operating system; an audit hook cannot be removed, only switched off."""
    global active
    if not hasattr(injected, "is_installed"):
        sys.addaudithook(lambda event, arguments: active and event.startswith(EVENTS) and active.hear(event, arguments))
        injected.is_installed = True
    active = faults
    try:
        yield
    finally:
        active = None


@pytest.fixture
def run_all(write: Write, store: Store, engine: LocalRunner):
    """One cycle of each dataset of these names, all in one run."""
    write("in/1.csv", "sku,price\na,1\n")

    def run_all(*names: str) -> dict[str, Outcome]:
        files = [write(f"{name[:100]}.yaml", MANIFEST.replace("NAME", name)) for name in names]
        loaded = load(files)
        assert loaded.problems == ()
        cycles = [cycle_of(store, manifest, engine) for manifest in loaded.manifests]
        return {outcome.dataset: outcome for outcome in run_cycles(cycles)}

    return run_all


def test_a_fault_at_any_call_stops_its_own_dataset_alone(run_all, store: Store) -> None:
    recording = Faults(recorded="healthy")
    with injected(recording):
        assert str(run_all("healthy")["healthy"]) == PUBLISHED
    assert len(recording.sites) > 25
    faults = Faults(of={f"faulty-{number}": site for number, site in enumerate(recording.sites)})
    with injected(faults):
        outcomes = run_all("first", *faults.of, "last")
    assert [str(outcomes.pop(name)) for name in ("first", "last")] == [PUBLISHED, PUBLISHED]
    failed = {name: outcome.error for name, outcome in outcomes.items() if outcome.error is not None}
    assert {type(error) for error in failed.values()} == {StorageError}
    assert [str(error) for error in failed.values() if "No space left on device" not in str(error)] == []
    assert [str(error) for name, error in failed.items() if name not in str(error)] == []
    assert len(failed) > 15
    # What is left behind hinders nobody: the next run publishes what is missing.
    again = run_all(*failed)
    assert {str(outcome) for outcome in again.values()} <= {PUBLISHED, "up to date"}
    for name in faults.of:
        assert verify(store.dataset(name)).records == 1
        assert [(row["sku"], row["price"]) for row in state_rows(store.dataset(name))] == [("a", 1)]


def _faults_of_later_runs(run_all, write: Write, store: Store, most: int) -> None:
    """Refuse calls of a run on top of a published slice and a state cache, with all kinds of errors; then compare the
    heads, and what the next run publishes."""
    run_all("healthy")
    second = write("in/2.csv", LATER_ROWS)
    recording = Faults(recorded="healthy")
    with injected(recording):
        assert str(run_all("healthy")["healthy"]) == LATER
    every = [(site, number) for site in recording.sites for number in NUMBERS]
    chosen = dict(enumerate(random.Random(1).sample(every, min(most, len(every)))))
    names = {f"faulty-{index}": case for index, case in chosen.items()}
    second.unlink()
    run_all(*names)
    heads = {name: store.dataset(name).head() for name in names}
    write("in/2.csv", LATER_ROWS)
    faults = Faults(
        of={n: site for n, (site, _) in names.items()}, numbers={n: number for n, (_, number) in names.items()}
    )
    with injected(faults):
        outcomes = run_all(*names)
    failed = {name: outcome.error for name, outcome in outcomes.items() if outcome.error is not None}
    assert {name: str(e) for name, e in failed.items() if type(e) is not StorageError} == {}
    texts = {name: os.strerror(names[name][1]) for name in failed}
    assert [(names[name], str(error)) for name, error in failed.items() if texts[name] not in str(error)] == []
    moved = [name for name in failed if store.dataset(name).head() != heads[name]]
    assert [(names[name], str(failed[name])) for name in moved] == []
    assert len(failed) > len(names) / 4
    assert {str(outcome) for outcome in run_all(*names).values()} <= {LATER, GOES_ON, "up to date"}
    for name in names:
        assert verify(store.dataset(name)).records == 4
        rows = sorted((row["sku"], row["price"]) for row in state_rows(store.dataset(name)))
        assert rows == [("a", 2), ("b", 3)]


def test_a_fault_of_any_kind_on_a_dataset_with_data_is_no_damage(run_all, write: Write, store: Store) -> None:
    _faults_of_later_runs(run_all, write, store, most=40)


@pytest.mark.torture
def test_every_fault_at_every_call_on_a_dataset_with_data_is_no_damage(run_all, write: Write, store: Store) -> None:
    _faults_of_later_runs(run_all, write, store, most=1000)


def test_names_and_files_that_are_in_the_way_stop_their_own_dataset_alone(run_all, store: Store) -> None:
    for path in (".work/blocked-work", "blocked-root"):
        (Path(store.location) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(store.location) / path).write_text("in the way")
    (Path(store.location) / "blocked-head" / "refs" / "head").mkdir(parents=True)
    long = "n" * 250  # a name that its contract's file could not have
    blocked = ("blocked-work", "blocked-root", "blocked-head")
    outcomes = run_all("first", *blocked, long, "last")
    assert [str(outcomes[name]) for name in ("first", long, "last")] == [PUBLISHED] * 3
    errors = {name: outcomes[name].error for name in blocked}
    assert {type(error) for error in errors.values()} == {StorageError}
    assert str(errors["blocked-root"]) == (
        f"{store.location}/blocked-root: File exists (a file exists where a folder is expected: move it)"
    )


def test_a_fault_of_the_provider_stops_one_dataset_and_says_where_it_is(
    run_all, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Store.get

    def get(self: Store, alias: object) -> object:
        if str(alias) == "faulty":
            raise KeyError("no such thing")
        return walk(self, alias)

    monkeypatch.setattr(Store, "get", get)
    outcomes = run_all("first", "faulty", "last")
    assert [str(outcomes[name]) for name in ("first", "last")] == [PUBLISHED, PUBLISHED]
    error = outcomes["faulty"].error
    assert isinstance(error, UnexpectedError)
    assert isinstance(error.__cause__, KeyError)
    assert str(error).startswith("unexpected KeyError: 'no such thing' (in evolution/apply.py:")
    assert "this is a bug of the provider: report it" in str(error)


def test_a_damaged_dataset_hides_no_other(run_all, store: Store) -> None:
    run_all("first", "damaged")
    (Path(store.location) / "damaged" / "refs" / "head").write_text("f1620" + "ab" * 32)
    outcomes = run_all("first", "damaged", "last")
    assert [str(outcomes[name]) for name in ("first", "last")] == ["up to date", PUBLISHED]
    assert isinstance(outcomes["damaged"].error, ChainCorrupted)

"""Random faults of an object store, in any request of any step: a step succeeds or fails with one clear error, and the
next run without faults makes the blocks of a run that had none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from airflow_provider_odf.chain import object_storage
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, Input, UpToDate
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.cycle.run import run as run_cycle
from airflow_provider_odf.cycle.xcom import pass_candidate, pass_input, receive_candidate, receive_input
from airflow_provider_odf.errors import OdfError, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from tests.s3 import RandomFaults, Relay, passed_on, relaying, try_few_times, use

from .conftest import Write, cycle_of
from .test_engine_elsewhere import Elsewhere
from .test_object_store import EXPENSIVE, PRICES, blocks, seed

pytestmark = pytest.mark.spark

HOURS = 3


@dataclass(frozen=True)
class Steps:
    """The steps of cycles of datasets, on machines that share the store alone."""

    location: str | Path
    manifests: tuple[Path, ...]
    engine: LocalRunner | Elsewhere
    machines: Path
    spark: str = "needed"

    def run(self, hour: int) -> None:
        """Run the steps of a root on one machine each, then all those of its derivatives."""
        root, *derivatives = self.manifests
        self._poll_merge_publish(root, hour)
        for manifest in derivatives:
            if (error := run_cycle(self._cycle("third", manifest, hour)).error) is not None:
                raise error

    def _poll_merge_publish(self, manifest: Path, hour: int) -> None:
        new_input = poll(self._cycle("one", manifest, hour))
        if isinstance(new_input, UpToDate):
            return
        assert isinstance(new_input, Input)
        xcom = pass_input(self.store("one"), new_input)
        cycle = self._cycle("other", manifest, hour)
        candidate = merge(cycle, receive_input(cycle.store, xcom))
        assert isinstance(candidate, Candidate)
        store = self.store("third")
        publish(store, receive_candidate(store, pass_candidate(candidate)))

    def store(self, machine: str) -> Store:
        return Store.open(self.location, self.machines / machine if isinstance(self.location, str) else None)

    def blocks(self) -> dict[str, list[str]]:
        return {path.stem: blocks(self.store("one"), path.stem) for path in self.manifests}

    def _cycle(self, machine: str, manifest: Path, hour: int) -> Cycle:
        (loaded,) = load([manifest]).manifests
        time = Instant.parse(f"2024-01-01T{hour:02}:00:00Z")
        return cycle_of(self.store(machine), loaded, self.engine, time, spark=self.spark)


@pytest.fixture
def relay(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Relay]:
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "t0psecret")
        monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
        try_few_times(monkeypatch)
        yield relay


def content(hour: int, rows: int) -> str:
    """Rows of an hour, with texts that Parquet cannot compress."""
    texts = Random(hour)
    return (
        "sku,price\n"
        + "".join(f"{row}-{texts.randbytes(20).hex()},{100 * hour}\n" for row in range(rows))
        + f"a,{100 * hour}\n"
    )


def run_with_faults(
    relay: Relay, write: Write, calm: Steps, faulty: Steps, seeds: range, rows: int = 1
) -> Counter[str]:
    """Run the hours of datasets for each seed, each hour with faults and then without, and compare each with the same
    hours in a folder. Return how the hours with faults ended."""
    outcomes, expected = Counter[str](), []
    begin(calm)
    for hour in range(1, HOURS + 1):
        source = write(f"in/{hour}.csv", content(hour, rows))
        calm.run(hour)
        expected.append(calm.blocks())
    for number in seeds:
        for file in source.parent.iterdir():
            file.unlink()
        steps = replace(faulty, location=f"s3://bucket/{uuid4().hex}", machines=faulty.machines / str(number))
        object_storage._CHECKED.clear()
        begin(steps)
        for hour, whole in enumerate(expected, 1):
            write(f"in/{hour}.csv", content(hour, rows))
            if number % 3 == 0:
                object_storage._CHECKED.clear()  # so that the check has faults too
            relay.answer = faults = RandomFaults(100 * number + hour, (0.03, 0.06, 0.12)[number % 3])
            try:
                steps.run(hour)
                is_done = True
            except OdfError as e:
                assert_clear(e, str(steps.location))
                is_done = False
            finally:
                relay.answer = passed_on
            outcomes["done" if is_done else "failed"] += 1
            told, there = f"seed {number}, hour {hour}: {faults.made}", steps.blocks()
            for name, all_blocks in whole.items():
                assert there[name] == (all_blocks if is_done else all_blocks[-len(there[name]) :]), told
                assert verify(steps.store("one").dataset(name)).blocks == len(there[name]), told
            steps.run(hour)
            assert steps.blocks() == whole, told
        for name in there:
            mine, theirs = (s.store("one").dataset(name) for s in (steps, calm))
            assert verify(mine) == verify(theirs)
            assert state_rows(mine).table.equals(state_rows(theirs).table)
    return outcomes


def begin(steps: Steps) -> None:
    """Begin the datasets with fixed ids."""
    for path in steps.manifests:
        seed(steps.store("one"), path.stem)


def assert_clear(error: OdfError, uri: str) -> None:
    """Assert that an error is of the store, says where and what to do next, in one line and without a secret."""
    text = str(error)
    assert type(error) is StorageError, repr(error)
    assert re.match(rf"(\S+\.yaml:\d+:\d+: input \S+ cannot be read: )?{uri}/", text), text
    assert any(step in text for step in ("run again", "renew them", "set it", "check the credentials")), text
    assert not any(word in text for word in ("\n", "Traceback", "t0psecret", "Generic")), text


@pytest.fixture
def manifests(write: Write) -> tuple[Path, Path]:
    return write("prices.yaml", PRICES), write("expensive.yaml", EXPENSIVE)


def test_random_faults(
    relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner, manifests: tuple[Path, Path]
) -> None:
    calm = Steps(tmp_path / "calm", manifests[:1], engine, tmp_path / "machines")
    outcomes = run_with_faults(relay, write, calm, calm, range(9))
    assert min(outcomes["done"], outcomes["failed"]) > 5


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_many_random_faults(
    relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner, manifests: tuple[Path, Path], first: int
) -> None:
    calm = Steps(tmp_path / "calm", manifests, engine, tmp_path / "machines")
    print(run_with_faults(relay, write, calm, calm, range(first, first + 20)))


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("spark", ["needed", "always"])
def test_random_faults_of_an_engine_elsewhere(
    relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner, manifests: tuple[Path, Path], spark: str
) -> None:
    """The engine asks the object store too."""
    calm = Steps(tmp_path / "calm", manifests, engine, tmp_path / "machines", spark)
    with LocalRunner("local[2]") as runner:
        faulty = replace(calm, engine=Elsewhere(runner, tmp_path / "machines"))
        print(run_with_faults(relay, write, calm, faulty, range(6)))


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_random_faults_in_parts_of_large_slices(
    relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner, manifests: tuple[Path, Path]
) -> None:
    """A slice of 6 MB is sent in parts."""
    calm = Steps(tmp_path / "calm", manifests[:1], engine, tmp_path / "machines")
    print(run_with_faults(relay, write, calm, calm, range(5), 150_000))

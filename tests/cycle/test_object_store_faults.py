"""Random faults of an object store, in any request of any step: a step succeeds or fails with one clear error, and the
next run without faults makes the blocks of a run that had none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
from airflow_provider_odf.cycle.xcom import pass_candidate, pass_input, receive_candidate, receive_input
from airflow_provider_odf.errors import OdfError, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from tests.s3 import RandomFaults, Relay, passed_on, relaying, try_few_times, use

from .conftest import Write, cycle_of
from .test_object_store import PRICES, blocks, seed

pytestmark = pytest.mark.spark

HOURS = 3


@dataclass(frozen=True)
class Steps:
    """The steps of a cycle of one dataset, on machines that share the store alone."""

    location: str | Path
    manifest: Path
    engine: LocalRunner
    machines: Path
    write: Write

    def run(self, hour: int) -> None:
        new_input = poll(self._cycle("one", hour))
        if isinstance(new_input, UpToDate):
            return
        assert isinstance(new_input, Input)
        xcom = pass_input(self.store("one"), new_input)
        cycle = self._cycle("other", hour)
        candidate = merge(cycle, receive_input(cycle.store, xcom))
        assert isinstance(candidate, Candidate)
        store = self.store("third")
        publish(store, receive_candidate(store, pass_candidate(candidate)))

    def store(self, machine: str) -> Store:
        return Store.open(self.location, self.machines / machine if isinstance(self.location, str) else None)

    def _cycle(self, machine: str, hour: int) -> Cycle:
        (manifest,) = load([self.manifest]).manifests
        return cycle_of(self.store(machine), manifest, self.engine, Instant.parse(f"2024-01-01T{hour:02}:00:00Z"))


@pytest.fixture
def relay(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "t0psecret")
        try_few_times(monkeypatch)
        yield relay


def content(hour: int, rows: int) -> str:
    """Rows of an hour, with texts that Parquet cannot compress."""
    texts = Random(hour)
    return "sku,price\n" + "".join(f"{row}-{texts.randbytes(20).hex()},{hour}\n" for row in range(rows)) + f"a,{hour}\n"


def run_with_faults(
    relay: Relay, folder: Path, write: Write, engine: LocalRunner, seeds: range, rows: int
) -> Counter[str]:
    """Run the hours of a dataset for each seed, each hour with faults and then without, and compare each with the same
    hours in a folder. Return how the hours with faults ended."""
    manifest, outcomes, expected = write("prices.yaml", PRICES), Counter[str](), []
    calm = Steps(folder / "calm", manifest, engine, folder / "calm-machines", write)
    seed(calm.store("one"), "prices")
    for hour in range(1, HOURS + 1):
        write(f"in/{hour}.csv", content(hour, rows))
        calm.run(hour)
        expected.append(blocks(calm.store("one"), "prices"))
    for number in seeds:
        for file in (folder / "in").iterdir():
            file.unlink()
        steps = Steps(f"s3://bucket/{uuid4().hex}", manifest, engine, folder / f"machines-{number}", write)
        object_storage._CHECKED.clear()
        seed(steps.store("one"), "prices")
        for hour, whole in enumerate(expected, 1):
            write(f"in/{hour}.csv", content(hour, rows))
            if number % 3 == 0:
                object_storage._CHECKED.clear()  # so that the check has faults too
            relay.answer = faults = RandomFaults(100 * number + hour, (0.03, 0.06, 0.12)[number % 3])
            try:
                steps.run(hour)
                outcomes["done"] += 1
                end = whole
            except OdfError as e:
                assert_clear(e, str(steps.location))
                outcomes["failed"] += 1
                end = None
            finally:
                relay.answer = passed_on
            told = f"seed {number}, hour {hour}: {faults.made}"
            there = blocks(steps.store("one"), "prices")
            assert there == end if end else there in (whole[-len(there) :], whole), told
            assert verify(steps.store("one").dataset("prices")).blocks == len(there), told
            steps.run(hour)
            assert blocks(steps.store("one"), "prices") == whole, told
        assert verify(steps.store("one").dataset("prices")) == verify(calm.store("one").dataset("prices"))
        assert state_rows(steps.store("one").dataset("prices")).table.equals(
            state_rows(calm.store("one").dataset("prices")).table
        )
    return outcomes


def assert_clear(error: OdfError, uri: str) -> None:
    """Assert that an error is of the store, says where and what to do next, in one line and without a secret."""
    text = str(error)
    assert type(error) is StorageError, repr(error)
    assert text.startswith(f"{uri}/"), text
    assert any(step in text for step in ("run again", "renew them", "set it", "check the credentials")), text
    assert not any(word in text for word in ("\n", "Traceback", "t0psecret", "Generic")), text


def test_random_faults(relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner) -> None:
    outcomes = run_with_faults(relay, tmp_path, write, engine, range(9), 1)
    assert min(outcomes["done"], outcomes["failed"]) > 5


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_many_random_faults(relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner, first: int) -> None:
    print(run_with_faults(relay, tmp_path, write, engine, range(first, first + 20), 1))


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_random_faults_in_parts_of_large_slices(
    relay: Relay, tmp_path: Path, write: Write, engine: LocalRunner
) -> None:
    """A slice of 6 MB is sent in parts."""
    print(run_with_faults(relay, tmp_path, write, engine, range(5), 150_000))

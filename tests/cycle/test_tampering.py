"""Tampered files of a store: no reader shows altered data, no run commits on it, and ``verify`` names the file."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_odf.chain import object_storage, state
from airflow_provider_odf.runner.local import LocalRunner

from .conftest import Write
from .tampering import Cases, World

pytestmark = pytest.mark.spark


@pytest.fixture(params=["folder", "bucket"])
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the store is. Its short chains have the caches of long ones."""
    monkeypatch.setattr(state, "LEAST_BLOCKS", 8)
    monkeypatch.setattr(object_storage, "_LEAST_PACKED", 8)
    return str(tmp_path / "store") if request.param == "folder" else request.getfixturevalue("bucket")


@pytest.fixture
def machine(location: str, tmp_path: Path) -> Callable[[int], Path | None]:
    """Folders of machines: in a bucket each third case is met by a new machine, the others by one with copies."""
    return lambda number: tmp_path / f"machines/{(number % 3 and 1) or number}" if "://" in location else None


@pytest.fixture
def world(location: str, write: Write, engine: LocalRunner, machine: Callable[[int], Path | None]) -> World:
    return World(location, write, engine, machine)


def check(world: World, cases: int, seed: int) -> None:
    outcomes = Counter[str]()
    failures = [f"case {n}: {failure}" for n in range(cases) for failure in Cases(world, seed).check(n, outcomes)]
    print(f"seed {seed}", *(f"{number:5} {line}" for line, number in sorted(outcomes.items())), sep="\n")
    assert not failures, "\n".join([f"seed {seed}", *failures])


def test_tampering(world: World) -> None:
    check(world, 30, 1)


def test_tasks_of_spark_find_the_same(world: World) -> None:
    cases = Cases(world, 2, ("data", "data of a candidate", "checkpoints"))
    sound = ["None"] * (1 + len(world.names))
    with LocalRunner("local[2]", reads_objects=True) as runner:
        for number in range(12):
            here, there = cases.compare(number, lambda request: runner.submit(request).result())
            assert here == there != sound


@pytest.mark.torture
@pytest.mark.timeout(4 * 3600)
def test_much_tampering(
    location: str, write: Write, engine: LocalRunner, machine: Callable[[int], Path | None]
) -> None:
    seed = int(os.environ.get("ODF_TAMPERING_SEED", time.time()))
    world = World(location, write, engine, machine, with_derivative=True)
    check(world, int(os.environ.get("ODF_TAMPERING_CASES", 1000)), seed)

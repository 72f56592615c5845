"""Tampered files of a store: no reader shows altered data, no run commits on it, and ``verify`` names the file."""

from __future__ import annotations

import os
import time
from collections import Counter
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


def check(
    location: str, tmp_path: Path, write: Write, engine: LocalRunner, cases: int, seed: int, *, with_derivative: bool
) -> None:
    """Check cases of a seed. In a bucket each third one is met by a new machine, the others by one with copies."""

    def machine(number: int) -> Path | None:
        return tmp_path / f"machines/{0 if number % 3 else number}" if "://" in location else None

    world, outcomes = World(location, write, engine, with_derivative, machine), Counter[str]()
    failures = [f"case {n}: {failure}" for n in range(cases) for failure in Cases(world, seed).check(n, outcomes)]
    print(f"seed {seed}", *(f"{number:5} {line}" for line, number in sorted(outcomes.items())), sep="\n")
    assert failures == [], f"seed {seed}"


def test_tampering(location: str, tmp_path: Path, write: Write, engine: LocalRunner) -> None:
    check(location, tmp_path, write, engine, 40, 1, with_derivative=False)


@pytest.mark.torture
@pytest.mark.timeout(4 * 3600)
def test_much_tampering(location: str, tmp_path: Path, write: Write, engine: LocalRunner) -> None:
    seed = int(os.environ.get("ODF_TAMPERING_SEED", time.time()))
    check(
        location, tmp_path, write, engine, int(os.environ.get("ODF_TAMPERING_CASES", 1000)), seed, with_derivative=True
    )

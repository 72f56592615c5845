"""A real disk that is full at any point of a run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.run import run as run_cycle
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol import Column, RawQueryRequest, ReadStep, SqlQueryStep, Transform
from airflow_provider_odf.runner.local import LocalRunner
from tests.manifests import polled

from .conftest import Write, cycle_of

pytestmark = pytest.mark.spark

MANIFEST = polled(
    "orders",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [sku STRING, note STRING]}",
    "{kind: Snapshot, primaryKey: [sku]}",
)
ROWS = 4000


def _rows(version: int) -> str:
    """Rows that hardly compress, 270 kB."""
    return "sku,note\n" + "".join(f"{i},{hash((i, version)):x}{os.urandom(24).hex()}\n" for i in range(ROWS))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no program `mount`")
    if done.returncode:
        pytest.skip(f"file systems can be mounted by root alone: {done.stderr}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _resize(disk: Path, kilobytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(disk)], check=True)


def _used(disk: Path) -> int:
    status = os.statvfs(disk)
    return (status.f_blocks - status.f_bfree) * status.f_frsize // 1024


def test_a_disk_that_fills_up_at_any_point_of_a_run(write: Write, disk: Path, engine: LocalRunner) -> None:
    store = Store.open(disk / "store")
    (manifest,) = load([write("orders.yaml", MANIFEST)]).manifests
    write("in/1.csv", _rows(1))
    assert str(run_cycle(cycle_of(store, manifest, engine))) == "published 4,000 records (offsets 0..3999)"
    head = store.dataset("orders").head()
    write("in/2.csv", _rows(2))
    failures = []
    for free in (4, 40, 200, 290, 320, 400, 600):
        _resize(disk, _used(disk) + free)
        outcome = run_cycle(cycle_of(store, manifest, engine))
        if outcome.error is None:
            break
        assert type(outcome.error) is StorageError, outcome.error
        assert "No space left on device" in str(outcome.error)
        assert str(disk) in str(outcome.error)
        assert store.dataset("orders").head() == head
        failures.append(str(outcome.error))
    assert len(failures) > 3
    _resize(disk, 65536)
    run_cycle(cycle_of(store, manifest, engine))
    assert verify(store.dataset("orders")).records == 3 * ROWS
    assert str(run_cycle(cycle_of(store, manifest, engine))) == "up to date"


def test_a_shuffle_that_fills_the_local_disk_of_spark(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _resize(disk, 3072)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(disk))
    (tmp_path / "one.csv").write_text("1\n")
    query = (
        "SELECT sha2(string(id), 512) AS s FROM input LATERAL VIEW explode(sequence(1, 200000)) AS id DISTRIBUTE BY s"
    )
    request = RawQueryRequest(
        input_data_paths=(str(tmp_path / "one.csv"),),
        output_data_path=str(tmp_path / "out"),
        transform=Transform("spark", (SqlQueryStep(query),)),
        read=ReadStep("Csv", (Column("a", "BIGINT"),)),
        label="one.csv",
        dataset_alias="texts",
    )
    with LocalRunner("local[2]") as runner, pytest.raises(StorageError) as failure:
        runner.submit(request).result(120)
    assert str(failure.value) == (
        f"SPARK_LOCAL_DIRS {disk}: No space left on device (free space on this file system and run again)"
    )
    assert not (tmp_path / "out").exists()

"""Nothing of fetched data is open to users outside of the group: runs of the command line and their engines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MANIFEST = """
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: in/*.csv}
      read: {kind: Csv, header: true, schema: [sku STRING, price BIGINT]}
      merge: {kind: Snapshot, primaryKey: [sku]}
"""
DERIVATIVE = """
kind: DatasetSnapshot
version: 1
content:
  name: totals
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{datasetRef: orders}]
      transform: {kind: Sql, engine: spark, query: "select event_time, sku, price * 2 as price from orders"}
"""


def odf(folder: Path, umask: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from airflow_provider_odf.cli import main; main()"]
    return subprocess.run(
        [*program, *arguments], cwd=folder, umask=umask, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.spark
@pytest.mark.parametrize(("umask", "file", "folder"), [(0o022, 0o640, 0o750), (0o002, 0o660, 0o770)])
def test_no_file_of_a_store_is_open_to_others(tmp_path: Path, umask: int, file: int, folder: int) -> None:
    (tmp_path / "m" / "in").mkdir(parents=True)
    (tmp_path / "m" / "in" / "1.csv").write_text("sku,price\na,1\n")
    (tmp_path / "m" / "orders.yaml").write_text(MANIFEST)
    (tmp_path / "m" / "totals.yaml").write_text(DERIVATIVE)
    store = ("--store", str(tmp_path / "store"))
    done = odf(tmp_path, umask, "run", "m", *store)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "m" / "in" / "2.csv").write_text("sku,price\na,1\nb,2\n")
    done = odf(tmp_path, umask, "run", "m", *store)
    assert done.returncode == 0, done.stdout + done.stderr
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "store").rglob("*")}
    assert len(modes) > 30
    assert {str(path) for path, mode in modes.items() if mode & 0o007} == set()
    # The group has what the umask leaves it, except in files that are private anyway.
    blocks = [path for path in modes if path.parent.name == "blocks"]
    slices = [path for path in modes if path.parent.name == "data"]
    assert {modes[path] for path in (*blocks, *slices)} == {file}
    assert {modes[path.parent] for path in (*blocks, *slices)} == {folder}
    assert os.stat(tmp_path / "store" / "orders").st_mode & 0o777 == folder

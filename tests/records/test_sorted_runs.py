"""Sorted runs on disk."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.records import sorted_runs

KILLED = """
import os, signal, sys
import pyarrow as pa
from airflow_provider_odf.records import sorted_runs

sorted_runs.RUN_BYTES = 100
rows = sorted_runs.in_order((pa.table({"n": [i, -i] * 50}) for i in range(9)), "n", sys.argv[1], 10)
next(rows)
print(os.listdir(sys.argv[1]), sum(os.readlink(f"/proc/self/fd/{fd}").startswith(sys.argv[1] + "/") for fd in
      os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_rows_are_in_order_and_no_file_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_runs, "RUN_BYTES", 200)
    monkeypatch.setattr(sorted_runs, "BATCH", 3)
    rng = random.Random(1)
    values = [rng.randrange(50) for _ in range(300)]
    tables = (pa.table({"n": values[at : at + 7], "at": range(at, min(at + 7, 300))}) for at in range(0, 300, 7))
    pieces = []
    for piece in sorted_runs.in_order(tables, "n", str(tmp_path / "new"), 11):
        pieces.append(piece)
        assert list((tmp_path / "new").iterdir()) == []
    rows = pa.concat_tables(pieces).to_pylist()
    assert [(row["n"], row["at"]) for row in rows] == sorted((n, at) for at, n in enumerate(values))


def test_a_process_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[] 9\n", "")
    assert list(tmp_path.iterdir()) == []

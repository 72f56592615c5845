"""Directories of processes that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_odf.owned_folders import TemporaryDirectory

MAKER = """
import time
from airflow_provider_odf.owned_folders import TemporaryDirectory
theirs = TemporaryDirectory("submit")
print(theirs.path, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_directory_goes_with_its_maker_or_at_the_next_start(temporary) -> None:
    with subprocess.Popen([sys.executable, "-c", MAKER], stdout=subprocess.PIPE, text=True) as maker:
        theirs = Path(maker.stdout.readline().strip())
        ours = TemporaryDirectory("spark")
        assert sorted(temporary.iterdir()) == sorted([theirs, ours.path])
        maker.send_signal(signal.SIGKILL)
    ours.remove()
    assert list(temporary.iterdir()) == [theirs]
    TemporaryDirectory("spark").remove()
    assert list(temporary.iterdir()) == []


def test_what_is_not_known_to_be_dead_stays(temporary) -> None:
    (temporary / "odf-spark-just-made").mkdir()
    elsewhere = temporary / "odf-spark-elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".owner").write_text("another-machine")
    hostile = temporary / "odf-spark-hostile"
    hostile.mkdir()
    os.mkfifo(hostile / ".owner")
    before = sorted(temporary.iterdir())
    TemporaryDirectory("spark").remove()
    assert sorted(temporary.iterdir()) == before

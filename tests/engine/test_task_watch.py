"""An application ends with the task that submitted it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from airflow_provider_odf.engine import task_watch
from airflow_provider_odf.runner import apps

WATCH = """
import sys, time
from pathlib import Path
from airflow_provider_odf.engine.task_watch import end_with_task
end_with_task(Path(sys.argv[1]), float(sys.argv[2]))
print("watching", flush=True)
time.sleep(600)
"""
ENDED = "the task that submitted this application has ended: the application ends, too\n"


def watching(file: Path, patience: float) -> subprocess.Popen[str]:
    """A driver that watches a file, and would otherwise work for ten minutes."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", WATCH, str(file), str(patience)], stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "watching\n"
    return process


def test_a_driver_ends_when_the_request_is_removed(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.touch()
    with watching(request, patience=600) as process:
        request.unlink()
        assert process.communicate(timeout=60)[1] == ENDED
    assert process.returncode == 0


def test_a_driver_ends_when_nobody_touches_the_request_any_more(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.touch()
    with watching(request, patience=6) as process:
        for _ in range(10):  # longer than the driver's patience
            os.utime(request)
            time.sleep(1)
        assert process.poll() is None
        assert process.communicate(timeout=60)[1] == ENDED
    assert process.returncode == 0


def test_the_driver_waits_longer_than_the_task_rests() -> None:
    assert task_watch.BEAT_SECONDS * 10 < task_watch.PATIENCE_SECONDS


def test_an_application_that_starts_after_its_task_ended_does_nothing(tmp_path: Path) -> None:
    command = [sys.executable, str(apps.application("run.py")), "request.json", "responses.jsonl"]
    done = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ENDED
    assert [*tmp_path.iterdir()] == []

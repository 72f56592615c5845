"""What a process has started ends with it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

PARENT = """
import subprocess, sys, time
from airflow_provider_odf.watchdog import Watchdog
process = subprocess.Popen(
    ["/bin/sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True
)
watchdog = Watchdog(process, ("touch", sys.argv[1]))
print(process.stdout.readline().decode(), flush=True)
time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_group_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    with subprocess.Popen([sys.executable, "-c", PARENT, stopped], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    end = time.monotonic() + 30
    while is_alive(child) or not stopped.exists():
        assert time.monotonic() < end
        time.sleep(0.02)

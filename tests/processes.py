"""Processes that a test has started, such as JVMs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command line of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if stat[0] != "Z":
                found[int(entry.name)] = (int(stat[1]), command)
    return found


def below(ancestor: int, word: str) -> list[int]:
    """The living descendants of a process that have a word in their command line."""
    all_processes = processes()

    def is_below(pid: int) -> bool:
        parent = all_processes.get(pid, (0, ""))[0]
        return parent == ancestor or (parent > 1 and is_below(parent))

    return [pid for pid, (_, command) in all_processes.items() if word in command and is_below(pid)]


def jvms() -> set[int]:
    """The JVMs that this process has started and that live."""
    return set(below(os.getpid(), "SparkSubmit"))


def wait_until(is_true: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "did not come about in time"
        time.sleep(0.05)

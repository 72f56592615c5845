"""Processes that end together, with all that they started.

Airflow's components start processes of their own, and a task that runs inside of a process takes over its signals. So
the components have sessions of their own, and one process that only waits gets the signals for all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import IO

import psutil

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Family:
    """Processes by name. At the end of the ``with`` block none of them runs any more, nor does any other one that this
    process started in it: a signal may come when one runs and has no name yet.

    :param grace: seconds that they have to end by themselves.
    :param environment: variables of the processes; by default those of this process.
    """

    def __init__(self, grace: float, environment: Mapping[str, str] | None = None) -> None:
        self.grace, self.environment = grace, environment
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._others: set[psutil.Process] = set()

    def __enter__(self) -> Family:
        self._others = set(psutil.Process().children())
        return self

    def start(
        self,
        name: str,
        command: Sequence[str],
        log: IO[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a process, which writes to a log, else to the output of this process, and may have variables of its
        own."""
        errors = None if log is None else subprocess.STDOUT
        self.processes[name] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=errors,
            env=self.environment if environment is None else environment,
            start_new_session=True,
        )

    def wait(self, seconds: float | None = None) -> str | None:
        """Return the name of the first process that ends, or None if all still run after the seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    return name
            time.sleep(0.1)
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # A second Ctrl-C must not leave processes behind.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
        members = self._members()
        for child in self._children():
            _send(child.pid, signal.SIGTERM)
        _, alive = psutil.wait_procs(members, timeout=self.grace)
        for member in {*alive, *self._members()}:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        for process in self.processes.values():
            _send(process.pid, signal.SIGKILL)
            process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)

    def _members(self) -> list[psutil.Process]:
        found = []
        for child in self._children():
            with suppress(psutil.NoSuchProcess):
                found += [child, *child.children(recursive=True)]
        return found

    def _children(self) -> set[psutil.Process]:
        return set(psutil.Process().children()) - self._others


def stop_on_signals() -> None:
    """Let signals raise `Stopped`."""
    for number in SIGNALS:
        signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise Stopped(number)


def _send(child: int, number: signal.Signals) -> None:
    """Send a signal to the group of a child, or to the child alone if it is in that of this process."""
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(child) == child:
            os.killpg(child, number)
        else:
            os.kill(child, number)

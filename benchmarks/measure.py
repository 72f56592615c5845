"""Programs run under watch: their time, the memory of their process tree, and the JVMs in it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import psutil

MIB = 1024 * 1024
LIMIT_MIB = 10 * 1024
"""A tree that grows beyond this is ended: a runaway must not take the machine with it."""

_TICK = 0.05


@dataclass(frozen=True)
class Run:
    """One run of a subject. ``seconds`` and ``cpu`` are what is compared: of the whole program, or of the part that it
    timed itself; ``wall`` and ``whole_cpu`` are always of the whole."""

    seconds: float
    cpu: float
    wall: float = 0.0
    whole_cpu: float = 0.0
    peak_mib: float = 0.0
    jvms: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    """What it printed."""


Subject: TypeAlias = Callable[[], Run]


def whole(run: Run) -> Run:
    """A run with the time of the whole program, its start included."""
    return Run(run.wall, run.whole_cpu, peak_mib=run.peak_mib, jvms=run.jvms)


def program(
    arguments: Sequence[str], *, environment: Mapping[str, str] | None = None, codes: Collection[int] = (0,)
) -> Run:
    """A run of a program until it ends with one of the exit codes.

    :raises RuntimeError: it failed, or was ended for its memory; the message has its last words.
    """
    # As users have it: Python compiles a module once and keeps what it compiled.
    given = {k: v for k, v in (environment or os.environ).items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, start = _cpu_of_children(), time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = psutil.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=given)
        seen = _watch(process)
        wall = time.perf_counter() - start
        out.seek(0), err.seek(0)
        text, errors = out.read(), err.read()
    if process.returncode not in codes:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}: {(errors or text)[-2000:]}")
    answer = _answer(text)
    # A process that nobody waited for is missing from the one sum, a short one from the other.
    cpu = max(_cpu_of_children() - before, sum(seen.cpu.values()))
    return Run(
        seconds=answer.get("seconds", wall),
        cpu=answer.get("cpu", cpu),
        wall=wall,
        whole_cpu=cpu,
        peak_mib=seen.peak / MIB,
        jvms=len(seen.javas),
        answer=answer,
        text=text,
    )


def peer(name: str, **arguments: object) -> Run:
    """A run of a program of ``benchmarks.peers`` with JSON arguments."""
    return program([sys.executable, "-m", f"benchmarks.peers.{name}", json.dumps(arguments, default=str)])


def in_turns(subjects: Mapping[str, Subject], reps: int) -> dict[str, list[Run]]:
    """The runs of each subject, one of each in every repetition."""
    runs: dict[str, list[Run]] = {name: [] for name in subjects}
    for _ in range(reps):
        for name, subject in subjects.items():
            runs[name].append(subject())
    return runs


def timed(action: Callable[[], object]) -> Run:
    """A run of something in this process."""
    cpu, start = time.process_time(), time.perf_counter()
    action()
    return Run(time.perf_counter() - start, time.process_time() - cpu)


@dataclass
class _Seen:
    """What a process and those it started used: the largest memory of all together, the CPU time of each."""

    peak: int = 0
    cpu: dict[int, float] = field(default_factory=dict)
    javas: set[int] = field(default_factory=set)

    def look(self, process: psutil.Process) -> None:
        total = 0
        for member in _tree(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += member.memory_info().rss
                times = member.cpu_times()
                self.cpu[member.pid] = times.user + times.system
                # Between fork and exec, what a JVM starts is a JVM by name.
                if member.name() == "java" and member.ppid() not in self.javas:
                    self.javas.add(member.pid)
        self.peak = max(self.peak, total)


class Clock:
    """Times a part of a program: ``seconds`` and ``cpu`` of this process and those it started, since it was made."""

    def __init__(self) -> None:
        self._start, self._cpu = time.perf_counter(), self._used()

    def answer(self) -> dict[str, float]:
        return {"seconds": time.perf_counter() - self._start, "cpu": self._used() - self._cpu}

    def _used(self) -> float:
        seen = _Seen()
        seen.look(psutil.Process())
        return sum(seen.cpu.values())


def _watch(process: psutil.Popen) -> _Seen:
    """What was seen of a process until it ended."""
    seen = _Seen()
    while True:
        seen.look(process)
        if seen.peak > LIMIT_MIB * MIB:
            for member in _tree(process):
                member.kill()
        try:
            process.wait(_TICK)
        except psutil.TimeoutExpired:
            continue
        return seen


def _tree(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _answer(text: str) -> dict[str, Any]:
    lines = text.strip().splitlines()
    return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

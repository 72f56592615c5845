"""Pipe: real programs."""

from __future__ import annotations

import os
import signal
import time

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import program
from airflow_provider_odf.watchdog import Watchdog

MIB = 1 << 20


def test_pipe_runs_without_a_shell_in_the_folder_of_the_manifest(polled, poller):
    script = poller.base / "upper.sh"
    script.write_text("#!/bin/sh\ntr a-z A-Z; printf '%s' \"$1\"\n")
    script.chmod(0o755)
    assert polled(b"abc", model.PrepStepPipe(command=("./upper.sh", "$HOME; `ls`"))) == [b"ABC$HOME; `ls`"]


def test_pipe_need_not_read_everything(polled):
    assert polled(b"a\n" * 10 * MIB, model.PrepStepPipe(command=("head", "-n1"))) == [b"a\n"]


def test_pipe_that_fails(failure):
    def sh(script):
        return model.PrepStepPipe(command=("sh", "-c", script))

    assert failure(b"", sh("echo bad line 7 >&2; exit 3")) == "in: sh failed with exit code 3: bad line 7"
    assert failure(b"", sh("exit 3")) == "in: sh failed with exit code 3"
    assert failure(b"", sh("kill -9 $$")) == "in: sh was killed by SIGKILL"
    assert failure(b"", sh("yes no | head -c 999999 >&2; exit 1"), stderr_tail=6).endswith("exit code 1: no\nno")


def test_pipe_that_tells_secrets(failure, monkeypatch):
    monkeypatch.setenv("STORE_PASSWORD", "hunter2")
    step = model.PrepStepPipe(command=("sh", "-c", "echo no access with $STORE_PASSWORD >&2; exit 1"))
    assert failure(b"", step) == "in: sh failed with exit code 1: no access with ***"


def test_pipe_that_does_not_end_is_killed_with_its_children(failure, tmp_path):
    pid = tmp_path / "pid"
    step = model.PrepStepPipe(command=("sh", "-c", f"sleep 60 & echo $! > {pid}; wait"))
    start = time.monotonic()
    assert failure(b"", step, pipe_timeout=0.5) == (
        "in: sh was killed because it ran longer than 0.5 s: make it faster, or increase pipe_timeout"
    )
    assert time.monotonic() - start < 5
    for _ in range(100):
        if not is_running(int(pid.read_text())):
            return
        time.sleep(0.02)
    pytest.fail("the child survived")


def test_a_task_that_ends_while_its_program_starts_kills_it(failure, monkeypatch):
    def killing(process, stop):
        program.kill_all()
        return Watchdog(process, stop)

    monkeypatch.setattr(program, "Watchdog", killing)
    step = model.PrepStepPipe(command=("sleep", "600"))
    assert failure(b"", step, pipe_timeout=5) == "in: sleep was killed by SIGKILL"


def test_a_task_that_ends_at_any_point_of_the_wait_for_its_program_kills_it(failure, monkeypatch):
    """Its signal handler runs in the thread that waits, also while this holds the lock of the process."""
    handler, wait = signal.signal(signal.SIGTERM, lambda *_: program.kill_all()), os.waitpid

    def interrupted(pid, options):
        if program._running:
            signal.raise_signal(signal.SIGTERM)
        return wait(pid, options)

    monkeypatch.setattr(os, "waitpid", interrupted)
    try:
        step = model.PrepStepPipe(command=("sleep", "600"))
        assert failure(b"", step, pipe_timeout=5) == "in: sleep was killed by SIGKILL"
    finally:
        signal.signal(signal.SIGTERM, handler)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_pipe_that_writes_without_end(failure):
    step = model.PrepStepPipe(command=("yes",))
    assert failure(b"", step, largest_file=1_000_000) == (
        "in: yes wrote more than 1 MB, the limit for output: reduce its output, or increase largest_file"
    )


def test_pipe_of_a_program_that_is_missing(failure):
    step = model.PrepStepPipe(command=("no-such-program", "-x"))
    expected = "in: command not found: no-such-program (install it where polls run, or give its full path)"
    assert failure(b"", step, kind=InvalidInput) == expected
    step = model.PrepStepPipe(command=("jq -c", ". | keys"))
    expected = 'in: command not found: jq -c (write each word as a separate item: [jq, -c, ". | keys"])'
    assert failure(b"", step, kind=InvalidInput) == expected
    assert failure(b"", model.PrepStepPipe(command=()), kind=InvalidInput).startswith("in: command not found: (empty)")


def test_pipe_may_be_forbidden(failure):
    step = model.PrepStepPipe(command=("cat",))
    expected = "in: prepare step Pipe is forbidden: use another step, or remove Pipe from forbid_steps"
    assert failure(b"", step, kind=InvalidInput, forbidden_steps=frozenset(("Pipe",))) == expected

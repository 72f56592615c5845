"""PrepStep::Pipe: a program that gets the data on standard input and writes them to standard output.

It runs without a shell, in the manifest's folder, in a process group of its own, which ends with the poll.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput, SourceError

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import PrepStepPipe
    from airflow_provider_odf.source.context import Context


def run(step: PrepStepPipe, source: Path, target: Path, label: str, context: Context) -> None:
    """Write what the program makes of a file.

    :raises InvalidInput: there is no such program, or such steps are forbidden here.
    :raises SourceError: it fails or does not end in time.
    """
    if step.kind in context.options.forbidden_steps:
        raise InvalidInput(f"{label}: prepare step {step.kind} is forbidden here (forbid_steps)")
    errors = target.with_name(f"{target.name}.stderr")
    with source.open("rb") as stdin, target.open("wb") as stdout, errors.open("wb") as stderr:
        try:
            with started(step.command, context.base, stdin, stdout, stderr) as process:
                code = process.wait(context.options.pipe_timeout)
        except subprocess.TimeoutExpired:
            limit = f"{context.options.pipe_timeout:g} s"
            raise SourceError(f"{label}: {step.command[0]} did not end within {limit}: killed") from None
    if code:
        raise SourceError(f"{label}: {ending(step.command[0], code)}{tail(errors, context.options.stderr_tail)}")
    errors.unlink()


@contextmanager
def started(
    command: tuple[str, ...], folder: Path, stdin: IO[bytes] | int, stdout: IO[bytes], stderr: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """A running program; it and what it started are killed at the end, if they still run.

    :raises InvalidInput: there is no such program.
    """
    try:
        process = subprocess.Popen(
            command, cwd=folder, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
    except (FileNotFoundError, IndexError):
        name = command[0] if command else "(empty)"
        raise InvalidInput(f"command not found: {name} (install it where polls run, or give its full path)") from None
    except (PermissionError, OSError, ValueError) as e:
        raise InvalidInput(f"command {command[0]} cannot be run: {e}") from None
    try:
        yield process
    finally:
        _end(process)


def ending(program: str, code: int) -> str:
    """How a program ended, in words."""
    if code < 0:
        return f"{program} was killed by {signal.Signals(-code).name}"
    return f"{program} failed with exit code {code}"


def tail(path: Path, size: int) -> str:
    """The end of what a program wrote to standard error, as part of a message."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        text = file.read().decode("utf-8", "replace").strip()
    return f": {text}" if text else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()

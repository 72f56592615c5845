"""Run programs of a source's steps: without a shell, with limits of time and size, killed with all their children.

They end with this process, however it ends; see `watchdog`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.manifest.yaml_source import command_list
from airflow_provider_odf.source.options import megabytes
from airflow_provider_odf.watchdog import Watchdog

if TYPE_CHECKING:
    from airflow_provider_odf.source.options import Options

_CHECK_INTERVAL = 0.5
_PIECE = 1 << 16
_STOP_SECONDS = 30


class Program:
    """A command to run once. Messages begin with ``label`` and call the program ``name``. The command ``stop`` ends
    processes that killing the program does not end."""

    def __init__(
        self,
        command: tuple[str, ...],
        label: str,
        folder: Path,
        options: Options,
        stop: tuple[str, ...] = (),
        name: str | None = None,
    ) -> None:
        self.command, self.label, self.folder, self.options, self.stop = command, label, folder, options, stop
        self._file = Path(command[0]).name if command else "(empty)"
        self.name = name or self._file
        self._errors = b""

    def run(self, source: Path | None, target: Path, timeout: str, environment: dict[str, str] | None = None) -> int:
        """Run with ``source`` as standard input and ``target`` as standard output; return the exit code, negative for a
        signal. ``timeout`` is the name of the option with the maximum run time.

        :raises InvalidInput: there is no such program.
        :raises SourceError: the program times out or writes too much.
        """
        killed = threading.Event()
        _running[self] = killed.set  # until the program has started
        try:
            with open(source or os.devnull, "rb") as stdin, target.open("wb") as stdout:
                process = self._start(stdin, stdout, environment)
                return self._watch(process, target, timeout, killed)
        finally:
            _running.pop(self, None)

    def _watch(self, process: subprocess.Popen[bytes], target: Path, timeout: str, killed: threading.Event) -> int:
        """Return the exit code of a program. It is killed at once if ``killed`` was set while it started."""
        watchdog = Watchdog(process, self.stop)
        _running[self] = lambda: self._kill(process)
        reader = threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True)
        reader.start()
        try:
            if killed.is_set():
                self._end(process)
            code = self._wait(process, target, timeout)
            reader.join(_CHECK_INTERVAL)
            return code
        finally:
            self._end(process)
            del _running[self]
            watchdog.dismiss()
            reader.join()

    def failure(self, code: int, redact: Callable[[str], str]) -> str:
        """Return how the program ended, with the end of its error output."""
        how = f"failed with exit code {code}" if code > 0 else f"was killed by {signal.Signals(-code).name}"
        output = self.error_output(redact)
        return f"{self.name} {how}" + (f": {output}" if output else "")

    def error_output(self, redact: Callable[[str], str]) -> str:
        """Return the end of standard error, redacted before it is cut: half a secret is a secret, too."""
        return redact(self._errors.decode("utf-8", "replace").strip())[-self.options.stderr_tail :].lstrip()

    def _start(
        self, stdin: IO[bytes], stdout: IO[bytes], environment: dict[str, str] | None
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (FileNotFoundError, IndexError):
            raise InvalidInput(f"{self.label}: command not found: {self._file} ({self._advice()})") from None
        except (OSError, ValueError) as e:
            raise InvalidInput(f"{self.label}: command {self._file} cannot be run: {e}") from None

    def _advice(self) -> str:
        """Return what to do about a missing program."""
        if not self.command or len(self.command[0].split()) < 2:
            return "install it where polls run, or give its full path"
        line = " ".join([self.command[0], *map(shlex.quote, self.command[1:])])
        return f"write each word as a separate item: {command_list(line)}"

    def _wait(self, process: subprocess.Popen[bytes], target: Path, timeout: str) -> int:
        seconds: float = getattr(self.options, timeout)
        deadline = time.monotonic() + seconds
        while True:
            remaining = deadline - time.monotonic()
            try:
                code = process.wait(max(0.0, min(_CHECK_INTERVAL, remaining)))
            except subprocess.TimeoutExpired:
                if remaining <= 0:
                    raise SourceError(
                        f"{self.label}: {self.name} was killed because it ran longer than {seconds:g} s: "
                        f"make it faster, or increase {self.options.where(timeout)}"
                    ) from None
                self._check_size(target)
            else:
                self._check_size(target)
                return code

    def _check_size(self, target: Path) -> None:
        limit = self.options.largest_file
        if target.stat().st_size > limit:
            raise SourceError(
                f"{self.label}: {self.name} wrote more than {megabytes(limit)}, the limit for output: "
                f"reduce its output, or increase {self.options.where('largest_file')}"
            )

    def _read_errors(self, stderr: IO[bytes] | None) -> None:
        """Read all error output but keep only its end: the program must not block, and the disk not fill."""
        with stderr or open(os.devnull, "rb") as stream:
            while piece := os.read(stream.fileno(), _PIECE):
                self._errors = (self._errors + piece)[-2 * self.options.stderr_tail :]

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._kill(process)
        process.wait()

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a program without waiting for it: in a signal handler this thread may hold the lock of its wait."""
        if process.poll() is None and self.stop:
            subprocess.run(self.stop, capture_output=True, timeout=_STOP_SECONDS, check=False)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


_running: dict[Program, Callable[[], None]] = {}
"""Program that runs or starts -> how to kill it."""


def kill_all() -> None:
    """Kill the programs that polls of this process are running, when the task is stopped."""
    for end in list(_running.values()):
        end()

"""Process that ends the child processes of this one, however this one ends.

A watchdog reads from a pipe of this process. The kernel closes the pipe when this process ends, even by SIGKILL.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_SCRIPT = 'read -r _ && exit; kill -KILL "-$0"; [ $# = 0 ] || exec "$@"'
"""Exits on a clean shutdown; otherwise kills the process group and runs the command."""


class Watchdog:
    """Watches the process group that a process leads (``start_new_session=True``). ``stop`` is a command that ends what
    killing the group does not."""

    def __init__(self, process: subprocess.Popen[bytes], stop: Sequence[str] = ()) -> None:
        command = ("/bin/sh", "-c", _SCRIPT, str(process.pid), *stop)
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
        )

    def dismiss(self) -> None:
        """End the watchdog; the process has ended."""
        self._process.communicate(b"done\n")

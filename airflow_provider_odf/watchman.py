"""Ends what this process has started, however this process ends.

A watchman is a small process that reads from a pipe of ours, which the kernel closes when we are gone, even by SIGKILL.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_SCRIPT = 'read -r _ && exit; kill -KILL "-$0"; [ $# = 0 ] || exec "$@"'
"""Dismissed, it goes; else it kills a process group and runs a command."""


class Watchman:
    """Watches over the process group that a process leads (``start_new_session=True``). ``stop`` is a command that ends
    what killing the group does not."""

    def __init__(self, process: subprocess.Popen[bytes], stop: Sequence[str] = ()) -> None:
        command = ("/bin/sh", "-c", _SCRIPT, str(process.pid), *stop)
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
        )

    def dismiss(self) -> None:
        """Let the watchman go: the process has ended."""
        self._process.communicate(b"done\n")

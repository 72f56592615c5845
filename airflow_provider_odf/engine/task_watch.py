"""End an application on a cluster with the task that submitted it.

The driver may run on another machine, where no signal reaches it, and the task may end by SIGKILL or with its machine.
So the driver watches the request's file: the task touches it while it waits, and removes it at its end.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

BEAT_SECONDS = 5.0
"""How often the task touches the file."""

PATIENCE_SECONDS = 180.0
"""Time without a change of the file after which the task has ended. A client of NFS may show a change a minute late."""

_POLL_SECONDS = 1.0


def end_with_task(request_file: Path, patience: float = PATIENCE_SECONDS) -> None:
    """Start to watch the task in the background. The process exits when the task has ended.

    The exit code is 0: a cluster manager would otherwise start the application again.
    """
    if not request_file.exists():  # the application waited for the cluster longer than the task lived
        _exit()
    threading.Thread(target=_watch, args=(request_file, patience), daemon=True).start()


def _watch(file: Path, patience: float) -> None:
    last, since = -1, time.monotonic()
    while True:
        try:
            beat = file.stat().st_mtime_ns
        except FileNotFoundError:
            break
        except OSError:  # the file server does not respond, which the task sees as well
            beat = last
        if beat != last:
            last, since = beat, time.monotonic()
        if time.monotonic() - since > patience:
            break
        time.sleep(_POLL_SECONDS)
    _exit()


def _exit() -> NoReturn:
    print("the task that submitted this application has ended: the application ends, too", file=sys.stderr, flush=True)
    os._exit(0)

"""Stands in for the engine's process: passes requests from standard input to a socket, and the responses back."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import BinaryIO


def _copy(lines: BinaryIO, to: BinaryIO) -> None:
    for line in lines:
        if not line.strip():
            break
        to.write(line)
        to.flush()


if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["ODF_TEST_ENGINE"])
        responses = threading.Thread(target=_copy, args=(connection.makefile("rb"), sys.stdout.buffer), daemon=True)
        responses.start()
        _copy(sys.stdin.buffer, connection.makefile("wb"))

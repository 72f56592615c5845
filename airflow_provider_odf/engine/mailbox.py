"""The mailbox of an application on a cluster, by which a task and its driver reach each other.

The driver may run on another machine, where no signal of the task reaches it, and the task may end by SIGKILL or with
its machine. Both meet in a folder that they share, or in objects of the store's bucket:

| name | is written by | |
| --- | --- | --- |
| ``REQUEST`` | the task | once |
| ``ALIVE`` | the task | each ``BEAT_SECONDS``, with another number, so that no clock of another machine counts |
| ``RESPONSES`` | the driver | with all lines so far: objects cannot be appended to |

The task removes them all at its end. A driver ends when ``ALIVE`` is gone, or was the same for too long.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from airflow_provider_odf import object_stores
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import StorageError

REQUEST, ALIVE, RESPONSES = "request.json", "alive", "responses.jsonl"

BEAT_SECONDS = 15.0
"""How often the task writes that it is alive."""

PATIENCE_SECONDS = 180.0
"""Time without a change after which the task has ended. A client of NFS may show a change a minute late."""


class Mailbox(Protocol):
    """Where messages lie. Each is seen as a whole."""

    @property
    def pause(self) -> float:
        """Seconds between two looks into it."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return a message, or None if there is none.

        :raises StorageError: it cannot be read now.
        """
        ...

    def put(self, name: str, message: bytes) -> None:
        """Write a message, in place of the one before.

        :raises StorageError: it cannot be written.
        """
        ...


@dataclass(frozen=True)
class _Folder:
    place: Path
    pause = 0.5

    def get(self, name: str) -> bytes | None:
        file = self.place / name
        with storage_errors(file):
            try:
                return file.read_bytes()
            except FileNotFoundError:
                return None

    def put(self, name: str, message: bytes) -> None:
        file, unfinished = self.place / name, self.place / f".{name}"
        with storage_errors(file):
            unfinished.write_bytes(message)
            unfinished.replace(file)


@dataclass(frozen=True)
class _Objects:
    place: str
    pause = 3.0

    def get(self, name: str) -> bytes | None:
        try:
            return b"".join(object_stores.chunks(f"{self.place}/{name}"))
        except FileNotFoundError:
            return None

    def put(self, name: str, message: bytes) -> None:
        object_stores.put(f"{self.place}/{name}", message, len(message))


def at(place: str) -> Mailbox:
    """Return the mailbox in a folder, or below the URI of an object store."""
    return _Objects(place) if object_stores.is_object(place) else _Folder(Path(place))


class Task:
    """The task's side of a mailbox, which begins with its request, a line of JSON.

    :raises StorageError: the mailbox cannot be written.
    """

    def __init__(self, mailbox: Mailbox, request: str) -> None:
        self._mailbox = mailbox
        self._read = 0
        self._beats = 0
        mailbox.put(REQUEST, request.encode())
        self._beat()

    def new_responses(self) -> list[str]:
        """Return the lines of JSON since the last call, and let the driver know that the task is alive.

        :raises StorageError: the mailbox cannot be read or written now.
        """
        if time.monotonic() - self._beaten > BEAT_SECONDS:
            self._beat()
        new = (self._mailbox.get(RESPONSES) or b"")[self._read :]
        whole = new[: new.rfind(b"\n") + 1]  # of a damaged message
        self._read += len(whole)
        return whole.decode().split("\n")[:-1]  # not where a value has another end of a line

    def _beat(self) -> None:
        self._mailbox.put(ALIVE, str(self._beats).encode())
        self._beats, self._beaten = self._beats + 1, time.monotonic()


class Driver:
    """The driver's side of a mailbox: it answers the request, and the process exits when the task has ended.

    The exit code is 0: a cluster manager would otherwise start the application again.

    :raises StorageError: the mailbox cannot be read.
    """

    def __init__(self, mailbox: Mailbox, patience: float = PATIENCE_SECONDS) -> None:
        self._mailbox = mailbox
        self._patience = patience
        self._lines: list[str] = []
        self._sent = 0
        self._lock = threading.Lock()
        if mailbox.get(ALIVE) is None:  # the application waited for the cluster longer than the task lived
            _exit()
        threading.Thread(target=self._attend, daemon=True).start()

    def request(self) -> str:
        """Return the request as a line of JSON."""
        if (request := self._mailbox.get(REQUEST)) is None:
            _exit()
        return request.decode()

    def respond(self, line: str, *, is_final: bool) -> None:
        """Send a response as a line of JSON: the final one now, progress with the next look into the mailbox.

        :raises StorageError: the final one cannot be written.
        """
        self._lines.append(line + "\n")
        if is_final:
            self._send()

    def _send(self) -> None:
        with self._lock:  # what was sent later has more lines
            if (count := len(self._lines)) > self._sent:
                self._mailbox.put(RESPONSES, "".join(self._lines[:count]).encode())
                self._sent = count

    def _attend(self) -> NoReturn:
        """Send progress, and watch the task."""
        last, since = b"", time.monotonic()
        while True:
            beat: bytes | None = last
            with suppress(StorageError):  # a server that does not answer now is seen by the task as well
                self._send()
            with suppress(StorageError):
                beat = self._mailbox.get(ALIVE)
            if beat is None:
                _exit()
            if beat != last:
                last, since = beat, time.monotonic()
            elif time.monotonic() - since > self._patience:
                _exit()
            time.sleep(self._mailbox.pause)


def _exit() -> NoReturn:
    print("the task that submitted this application has ended: the application ends, too", file=sys.stderr, flush=True)
    os._exit(0)

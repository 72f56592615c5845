"""Messages that their source no longer has: they stay in the work area until a published block records them.

A spool is a folder of one dataset with numbered batches. After `Spool.sync` messages are on the disk and can be
acknowledged. The chain records the newest ingested batch as ``ID/NUMBER``; the id tells the spools of several machines
apart. A batch of which a candidate was rejected stays too, since a change of the manifest may merge it again.

The first line of a batch has the hashes of the newest messages of topics with retained messages, each other line one
message, after its hash. A line without an end was never acknowledged. The newest batches stay after they were
published: they tell which messages the source sends again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.fsync import fsync
from airflow_provider_odf.manifest.model import SourceState
from airflow_provider_odf.source import source_state

if TYPE_CHECKING:
    from airflow_provider_odf.source.fetching import Context

_ID, _LOCK, _PUBLISHED = "id", "lock", ".published"
_RECENT = 2
"""Number of newest batches that may have messages whose acknowledgement got lost."""
_MOST_BYTES = 64 << 20
"""Size after which a batch ends, since it is read as a whole."""


@dataclass(frozen=True)
class Message:
    """A message. ``id`` is its packet id in the session of a broker, 0 if it is not acknowledged. ``is_retained`` says
    that it is the broker's copy of the newest message of its topic."""

    id: int
    topic: str
    text: str
    is_retained: bool = False


class Spool:
    """The spool in a folder, which nobody else uses. A batch has at most ``batch_records`` messages."""

    def __init__(self, folder: Path, batch_records: int) -> None:
        self._folder, self._batch_records = folder, batch_records
        self._batch: IO[bytes] | None = None
        self._size = self._bytes = 0
        self.id = self._read_id()
        self._retained, self._newest = dict[str, str](), dict[str, str]()
        self._by_id = dict[int, tuple[str, str]]()
        recent = sorted(self._batches(), key=_number)[-_RECENT:]
        self._next_number = _number(recent[-1]) + 1 if recent else 1
        for batch in recent:
            header, *messages = _lines(batch)
            self._retained |= header
            self._newest |= header
            for values in messages:
                self._remember(Message(*values))

    def waiting(self, context: Context) -> list[Path]:
        """Return the batches that the chain does not record, oldest first. Published ones are removed."""
        batches = sorted((b for b in self._batches() if b.suffix != _PUBLISHED), key=_number)
        if not batches:
            return []
        value = source_state.value_of(context.state, source_state.BATCH)
        # Another machine may have recorded its own batches since.
        values = [value] if value and value.startswith(f"{self.id}/") else context.past_states and context.past_states()
        recorded = max((int(v.partition("/")[2]) for v in values or () if v.startswith(f"{self.id}/")), default=0)
        if context.is_published:
            self._release(recorded)
        return [batch for batch in batches if _number(batch) > recorded]

    def knows(self, message: Message, *, is_repeated: bool) -> bool:
        """Return whether a message was added before: one that the broker repeats in the same session, or its copy of
        the newest message of a topic."""
        digest = _digest(message.text)
        if message.is_retained and self._newest.get(message.topic) == digest:
            return True
        return is_repeated and self._by_id.get(message.id) == (message.topic, digest)

    def forget_session(self) -> None:
        """Forget the packet ids, after which the broker has begun a new session."""
        self._by_id.clear()

    def add(self, message: Message) -> None:
        """Add a message, which is on the disk after `sync`."""
        if self._batch is None or self._size >= self._batch_records or self._bytes >= _MOST_BYTES:
            self._begin()
        self._write(astuple(message))
        self._size += 1
        self._remember(message)

    def sync(self) -> None:
        """Write the messages to the disk."""
        if self._batch is not None:
            self._batch.flush()
            fsync(Path(self._batch.name))

    def state(self, batch: Path) -> SourceState:
        """Return the source state after a batch."""
        return SourceState(
            source_name=source_state.SOURCE_NAME, kind=source_state.BATCH, value=f"{self.id}/{_number(batch)}"
        )

    def close(self) -> None:
        if self._batch is not None:
            self._batch.close()

    def _begin(self) -> None:
        self.sync()
        self.close()
        self._batch, self._size = (self._folder / f"{self._next_number:08}").open("xb"), 0
        self._bytes = 0
        self._next_number += 1
        self._write(self._retained)
        fsync(self._folder)

    def _write(self, value: object) -> None:
        assert self._batch is not None  # noqa: S101 - `_begin` comes first
        text = json.dumps(value)
        self._bytes += self._batch.write(f"{_digest(text)} {text}\n".encode())

    def _remember(self, message: Message) -> None:
        digest = self._newest[message.topic] = _digest(message.text)
        if message.is_retained or message.topic in self._retained:
            self._retained[message.topic] = digest
        if message.id:
            self._by_id[message.id] = (message.topic, digest)

    def _release(self, recorded: int) -> None:
        """Remove the batches up to a published one, except the newest of the spool."""
        recent = self._next_number - _RECENT
        for batch in self._batches():
            if _number(batch) < min(recorded + 1, recent):
                batch.unlink()
            elif _number(batch) <= recorded and batch.suffix != _PUBLISHED:
                batch.rename(batch.with_suffix(_PUBLISHED))

    def _batches(self) -> list[Path]:
        return [path for path in self._folder.iterdir() if path.stem.isdigit()]

    def _read_id(self) -> str:
        file = self._folder / _ID
        if not file.exists() or not file.read_text():
            file.write_text(uuid.uuid4().hex[:16])
            fsync(file)
        return file.read_text()


@contextmanager
def opened(folder: Path, label: str, batch_records: int) -> Iterator[Spool]:
    """Yield the spool in a folder.

    :raises SourceUnavailable: another process of this machine uses it.
    """
    make_folders(folder)
    with (folder / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SourceUnavailable(f"{label}: another poll of the dataset is running: retry later") from None
        except OSError:  # a file system without locks
            pass
        spool = Spool(folder, batch_records)
        try:
            yield spool
        finally:
            spool.close()


def write_texts(batch: Path, target: Path) -> None:
    """Write the texts of the messages of a batch, one per line."""
    with target.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{Message(*values).text}\n" for values in _lines(batch)[1:])


def _lines(batch: Path) -> list[Any]:
    """Return the values of the whole lines of a batch.

    :raises SourceError: the file was changed.
    """
    values = []
    for number, line in enumerate(batch.read_text(encoding="utf-8").split("\n")[:-1], 1):
        digest, _, text = line.partition(" ")
        if digest != _digest(text):
            raise SourceError(
                f"line {number} of {batch} was changed, and its messages are nowhere else: restore the file"
            )
        values.append(json.loads(text))
    return values or [{}]


def _number(batch: Path) -> int:
    return int(batch.stem)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]

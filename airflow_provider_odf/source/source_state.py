"""Source states: how far a source was read, as the chain records it (SourceState).

``odf/etag`` and ``odf/last-modified`` are kinds of the specification, with values like those of the reference
implementation. Four kinds are our own: ``odf/content-hash`` for sources without a version, ``odf/event-time`` for a
glob ordered by event time, ``odf/batch`` for messages, and ``odf/push-id`` for data pushed with an id.
"""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf import multiformats
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import SourceState

ETAG = "odf/etag"
LAST_MODIFIED = "odf/last-modified"
CONTENT_HASH = "odf/content-hash"
EVENT_TIME = "odf/event-time"
BATCH = "odf/batch"
PUSH_ID = "odf/push-id"

SOURCE_NAME = "default"
"""Name of the polling source in the chain."""


def etag(value: str) -> SourceState:
    """Return the state of an HTTP resource (its ETag), a glob (base name of the last file) or a container."""
    return SourceState(source_name=SOURCE_NAME, kind=ETAG, value=value)


def last_modified(time: Instant) -> SourceState:
    return SourceState(source_name=SOURCE_NAME, kind=LAST_MODIFIED, value=str(time))


def content_hash(path: Path) -> SourceState:
    """Return the state of a file's content."""
    return content_of(multiformats.hash_file(path))


def content_of(value: str) -> SourceState:
    """Return the state of content with a SHA3-256 multihash."""
    return SourceState(source_name=SOURCE_NAME, kind=CONTENT_HASH, value=value)


def event_time(time: Instant, name: str) -> SourceState:
    """Return the state of a glob in the order of event times: the last file's time and base name."""
    return SourceState(source_name=SOURCE_NAME, kind=EVENT_TIME, value=f"{time} {name}")


def value_of(state: SourceState | None, kind: str) -> str | None:
    """Return the value of a state if it has that kind, else None."""
    return state.value if state is not None and state.kind == kind else None


def is_same(one: SourceState | None, other: SourceState | None) -> bool:
    """Return whether two states are equal, whatever the names of their sources."""
    return one is not None and other is not None and (one.kind, one.value) == (other.kind, other.value)


def words(state: SourceState, *, is_glob: bool) -> tuple[str, str]:
    """Return label and text of a state for people.

    :param is_glob: whether the source is a glob, whose states name files.

    >>> words(etag("2026-05-02.csv"), is_glob=True)
    ('Source file', '2026-05-02.csv')
    """
    if is_glob and state.kind == EVENT_TIME:
        time, _, name = state.value.partition(" ")
        return "Source file", f"{name}, of {time}"
    if is_glob and state.kind == ETAG:
        return "Source file", state.value
    return _LABELS.get(state.kind, state.kind), state.value


_LABELS = {
    ETAG: "Version of the source (ETag)",
    LAST_MODIFIED: "Source was modified",
    CONTENT_HASH: "Hash of the source's content",
    BATCH: "Batch of messages",
    PUSH_ID: "Pushed with the id",
}

"""Source states: how far a source has been read, as the chain keeps it (SourceState).

``odf/etag`` and ``odf/last-modified`` are the specification's kinds, with the values that the reference implementation
writes. Three kinds are our own: ``odf/content-hash`` for sources that say nothing about their version,
``odf/event-time`` for a glob ordered by event time, and ``odf/push-id`` for what was pushed under an id.
"""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf import multiformats
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import (
    FetchStep,
    FetchStepContainer,
    FetchStepFilesGlob,
    FetchStepUrl,
    SourceState,
)

ETAG = "odf/etag"
LAST_MODIFIED = "odf/last-modified"
CONTENT_HASH = "odf/content-hash"
EVENT_TIME = "odf/event-time"
PUSH_ID = "odf/push-id"
PUSH_ID = "odf/push-id"

SOURCE_NAME = "default"
"""The name of the polling source in the chain."""


def etag(value: str) -> SourceState:
    """State of an HTTP resource (its ETag), a glob (base name of the last file) or a container (its own word)."""
    return SourceState(source_name=SOURCE_NAME, kind=ETAG, value=value)


def last_modified(time: Instant) -> SourceState:
    return SourceState(source_name=SOURCE_NAME, kind=LAST_MODIFIED, value=str(time))


def content_hash(path: Path) -> SourceState:
    """State that says what the content is; reads the file."""
    return content_of(multiformats.hash_file(path))


def content_of(value: str) -> SourceState:
    """State of content with that SHA3-256 multihash."""
    return SourceState(source_name=SOURCE_NAME, kind=CONTENT_HASH, value=value)


def event_time(time: Instant, name: str) -> SourceState:
    """State of a glob in the order of event times: the last file's time and base name."""
    return SourceState(source_name=SOURCE_NAME, kind=EVENT_TIME, value=f"{time} {name}")


def value_of(state: SourceState | None, kind: str) -> str | None:
    """The state's value if it is of that kind."""
    return state.value if state is not None and state.kind == kind else None


def is_same(one: SourceState | None, other: SourceState | None) -> bool:
    """Whether both say the same of the same source, whatever the source is called."""
    return one is not None and other is not None and (one.kind, one.value) == (other.kind, other.value)


def carries_over(previous: FetchStep, current: FetchStep) -> bool:
    """Whether a state of the previous fetch step means anything to the current one: an ETag says nothing about another
    URL, and a date could hide older data there. Headers, event time and the pattern of a glob may change."""
    match previous, current:
        case FetchStepUrl(), FetchStepUrl():
            return previous.url == current.url
        case FetchStepFilesGlob(), FetchStepFilesGlob():
            return (previous.order or "ByName") == (current.order or "ByName")
        case FetchStepContainer(), FetchStepContainer():
            return previous.image.partition(":")[0] == current.image.partition(":")[0]
    return previous == current

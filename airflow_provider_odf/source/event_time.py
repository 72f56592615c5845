"""EventTimeSource: the event time of data without an event time column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.manifest import time_format
from airflow_provider_odf.manifest.model import EventTimeSourceFromMetadata, EventTimeSourceFromPath

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import EventTimeSource

MAX_SECONDS = 1.0
"""Time limit of a pattern for one path."""


def of(
    source: EventTimeSource | None, *, paths: tuple[str, ...], modified: Instant | None, system_time: Instant
) -> Instant:
    """Return the event time of a file.

    FromMetadata: ``modified`` (Last-Modified or modification time), else system time. FromPath: the time in the first
    of ``paths`` that has one. Otherwise system time. Messages name the last of ``paths``.

    :raises SourceError: no path matches the pattern, or the match is not a time.
    :raises InvalidInput: the pattern or the time format is not valid.
    """
    if isinstance(source, EventTimeSourceFromMetadata):
        return modified or system_time
    if isinstance(source, EventTimeSourceFromPath):
        return _from_path(source, paths)
    return system_time


def _from_path(source: EventTimeSourceFromPath, paths: tuple[str, ...]) -> Instant:
    regex, pattern = _compile(source.pattern), source.timestamp_format or time_format.DEFAULT_PATTERN
    try:
        time_format.check(pattern)
    except ValueError as e:
        raise InvalidInput(f"eventTime.timestampFormat: {e}") from None
    match = next((m for path in paths if (m := _search(regex, path)) and m[1]), None)
    if match is None:
        raise SourceError(
            f"{paths[-1]}: eventTime.pattern {source.pattern} matches no part of the path: correct the pattern, or "
            "move files without a time in their path to another folder",
            at=("event_time", "pattern"),
        )
    try:
        return time_format.parse(match[1], pattern)
    except ValueError as e:
        raise SourceError(
            f"{paths[-1]}: eventTime.pattern {source.pattern} matches, but not an event time: {e}: correct "
            "eventTime.timestampFormat or the pattern, or move files with other names to another folder",
            at=("event_time", "pattern" if source.timestamp_format is None else "timestamp_format"),
        ) from None


def _search(regex: time_format.Pattern, path: str) -> Any:
    """Search with a time limit, since crafted file names can make a pattern backtrack forever."""
    try:
        return regex.search(path, timeout=MAX_SECONDS)
    except TimeoutError:
        raise SourceError(
            f"{path[:300]}: eventTime.pattern {regex.pattern} takes more than {MAX_SECONDS:g} s on this name: rename "
            "the file, or write the pattern without nested repetitions",
            at=("event_time", "pattern"),
        ) from None


def _compile(pattern: str) -> time_format.Pattern:
    try:
        regex = time_format.path_pattern(pattern)
    except ValueError as e:
        raise InvalidInput(f"eventTime.pattern {pattern} is not a regular expression: {e}") from None
    if not regex.groups:
        raise InvalidInput(f"eventTime.pattern {pattern} has no group: put the timestamp in parentheses")
    return regex

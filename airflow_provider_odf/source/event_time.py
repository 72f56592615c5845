"""EventTimeSource: the event time that a source gives to data which have none of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.manifest import java_time, path_pattern
from airflow_provider_odf.manifest.model import EventTimeSourceFromMetadata, EventTimeSourceFromPath
from airflow_provider_odf.manifest.path_pattern import Pattern

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import EventTimeSource

MOST_SECONDS = 1.0
"""How long a pattern may look for the time in one path."""


def of(
    source: EventTimeSource | None, *, paths: tuple[str, ...], modified: Instant | None, system_time: Instant
) -> Instant:
    """The event time of a file: ``modified`` (Last-Modified or modification time) or system time FromMetadata, the time
    in the first of ``paths`` that has one FromPath, else system time. Messages name the last of ``paths``.

    :raises SourceError: no path has the pattern, or what it has there is not a time.
    :raises InvalidInput: pattern or time format are not valid.
    """
    if isinstance(source, EventTimeSourceFromMetadata):
        return modified or system_time
    if isinstance(source, EventTimeSourceFromPath):
        return _from_path(source, paths)
    return system_time


def _from_path(source: EventTimeSourceFromPath, paths: tuple[str, ...]) -> Instant:
    regex, time_format = _compile(source.pattern), source.timestamp_format or java_time.DEFAULT_PATTERN
    try:
        java_time.check(time_format)
    except ValueError as e:
        raise InvalidInput(f"eventTime.timestampFormat: {e}") from None
    match = next((m for path in paths if (m := _search(regex, path)) and m[1]), None)
    if match is None:
        raise SourceError(
            f"{paths[-1]}: eventTime.pattern {source.pattern} matches no part of the path: correct the pattern, or "
            "keep files without a time in their path out of the folder",
            at=("event_time", "pattern"),
        )
    try:
        return java_time.parse(match[1], time_format)
    except ValueError as e:
        raise SourceError(
            f"{paths[-1]}: no event time where eventTime.pattern {source.pattern} matches: {e}: correct "
            "eventTime.timestampFormat or the pattern, or keep files with other names out of the folder",
            at=("event_time", "pattern" if source.timestamp_format is None else "timestamp_format"),
        ) from None


def _search(regex: Pattern, path: str) -> Any:
    """Names of files are not ours: some patterns take for ever with a name that was made for it."""
    try:
        return regex.search(path, timeout=MOST_SECONDS)
    except TimeoutError:
        raise SourceError(
            f"{path[:300]}: eventTime.pattern {regex.pattern} takes more than {MOST_SECONDS:g} s on this name: rename "
            "the file, or write the pattern without repetitions within repetitions",
            at=("event_time", "pattern"),
        ) from None


def _compile(pattern: str) -> Pattern:
    try:
        regex = path_pattern.compiled(pattern)
    except ValueError as e:
        raise InvalidInput(f"eventTime.pattern {pattern} is not a regular expression: {e}") from None
    if not regex.groups:
        raise InvalidInput(f"eventTime.pattern {pattern} has no group: put the timestamp into parentheses")
    return regex

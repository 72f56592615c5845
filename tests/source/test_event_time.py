from __future__ import annotations

import time

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import event_time

NOW = Instant.parse("2024-06-01T12:00:00Z")
MODIFIED = Instant.parse("2024-05-02T08:00:00Z")


def of(source, *paths, modified=MODIFIED):
    return str(event_time.of(source, paths=paths, modified=modified, system_time=NOW))


def from_path(pattern, timestamp_format=None):
    return model.EventTimeSourceFromPath(pattern=pattern, timestamp_format=timestamp_format)


def test_from_metadata_is_the_modification_time_or_system_time():
    assert of(model.EventTimeSourceFromMetadata()) == "2024-05-02T08:00:00Z"
    assert of(model.EventTimeSourceFromMetadata(), modified=None) == "2024-06-01T12:00:00Z"
    assert of(model.EventTimeSourceFromSystemTime()) == of(None) == "2024-06-01T12:00:00Z"


def test_groups_may_be_named_as_in_java():
    assert of(from_path(r"(?<day>\d{8})", "yyyyMMdd"), "20240503.csv") == "2024-05-03T00:00:00Z"
    assert of(from_path(r"(?<=x)(?<!y)(?P<day>\d{8})\(?", "yyyyMMdd"), "x20240503.csv") == "2024-05-03T00:00:00Z"


@pytest.mark.parametrize("pattern", [r"(?<day>\p{Nd}{8}+)", r"(?i)X(?>(\d{8}))", r"(?:x)((?:19|20)\d{2}\d{4}+)"])
def test_patterns_of_java(pattern):
    assert of(from_path(pattern, "yyyyMMdd"), "x20240503.csv") == "2024-05-03T00:00:00Z"


@pytest.mark.parametrize("pattern", [r"((a+)+)$", r"(a|aa)+$", r"(a|a)*b", r"(.*?,){25}x", r"(?:a?){60}(a{60}b)"])
def test_a_name_that_was_made_to_stop_a_pattern(pattern):
    start = time.monotonic()
    with pytest.raises(SourceError, match=r"eventTime.pattern .* (takes more than 1 s on this name|matches no part)"):
        of(from_path(pattern), "a" * 60 + "," * 60 + "!")
    assert time.monotonic() - start < 20  # seconds of a busy machine: without a limit these take years


def test_a_name_that_takes_too_long_says_what_to_do():
    with pytest.raises(SourceError) as refused:
        of(from_path(r"(a|aa)+$"), "a" * 60 + "!")
    assert str(refused.value) == (
        "a" * 60 + "!: eventTime.pattern (a|aa)+$ takes more than 1 s on this name: rename the file, or write the "
        "pattern without nested repetitions"
    )


def test_from_path_takes_the_first_group_of_the_first_path_that_matches():
    assert of(from_path(r"-(\d{4}-\d\d-\d\d)\."), "a-2024-05-03.csv", "2023-01-01") == "2024-05-03T00:00:00Z"
    assert of(from_path(r"/(\d{8})/", "yyyyMMdd"), "a.csv", "in/20240503/a.csv") == "2024-05-03T00:00:00Z"


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (from_path(r"\d+"), InvalidInput, r"eventTime.pattern \d+ has no group: put the timestamp in parentheses"),
        (from_path("("), InvalidInput, "eventTime.pattern ( is not a regular expression: missing ) at"),
        (from_path("(.*)", "YYYY"), InvalidInput, "eventTime.timestampFormat: 'YYYY' is not a time format"),
        (
            from_path(r"(\d{8})"),
            SourceError,
            "in/a.csv: eventTime.pattern (\\d{8}) matches no part of the path",
        ),
        (
            from_path(r"(a)"),
            SourceError,
            "in/a.csv: eventTime.pattern (a) matches, but not an event time: 'a' does not have the form yyyy-MM-dd",
        ),
    ],
)
def test_refusals(source, error, message):
    with pytest.raises(error) as e:
        of(source, "a.csv", "in/a.csv")
    assert str(e.value).startswith(message)

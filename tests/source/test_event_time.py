from __future__ import annotations

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


def test_from_path_takes_the_first_group_of_the_first_path_that_matches():
    assert of(from_path(r"-(\d{4}-\d\d-\d\d)\."), "a-2024-05-03.csv", "2023-01-01") == "2024-05-03T00:00:00Z"
    assert of(from_path(r"/(\d{8})/", "yyyyMMdd"), "a.csv", "in/20240503/a.csv") == "2024-05-03T00:00:00Z"


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (from_path(r"\d+"), InvalidInput, r"eventTime.pattern \d+ has no group: put the timestamp into parentheses"),
        (from_path("("), InvalidInput, "eventTime.pattern ( is not a regular expression: missing ), "),
        (from_path("(.*)", "YYYY"), InvalidInput, "eventTime.timestampFormat: 'YYYY' is not a time format"),
        (from_path(r"(\d{8})"), SourceError, r"a.csv: eventTime.pattern (\d{8}) matches no part of the path"),
        (
            from_path(r"(a)"),
            SourceError,
            "a.csv: no event time in the path: 'a' does not have the form yyyy-MM-dd; see ",
        ),
    ],
)
def test_refusals(source, error, message):
    with pytest.raises(error) as e:
        of(source, "a.csv")
    assert str(e.value).startswith(message)

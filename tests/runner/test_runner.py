"""What a process's last words come to."""

from __future__ import annotations

import pytest

from airflow_provider_odf.runner.runner import Tail


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], ""),
        (["one", "two", " "], "two"),
        (
            ["java.lang.OutOfMemoryError: Java heap space", "\tat x", "ConnectionError"],
            "java.lang.OutOfMemoryError: Java heap space",
        ),
        (["Traceback", "ValueError: x", "Java exited with code -9"], "Java exited with code -9"),
        (["a.b.SomeException: why", "\tat x"], "a.b.SomeException: why"),
        (["py4j.protocol.Py4JJavaError: An error occurred", ": a.b.SomeException: why"], "a.b.SomeException: why"),
        (
            [
                "ERROR StandaloneSchedulerBackend: Application has been killed. Reason: All masters are unresponsive!",
                "ERROR SparkContext: Error initializing SparkContext.",
                ": java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
            ],
            "ERROR StandaloneSchedulerBackend: Application has been killed. Reason: All masters are unresponsive!",
        ),
    ],
)
def test_gist(lines: list[str], expected: str) -> None:
    assert Tail(line.encode() for line in lines).root_cause == expected

from __future__ import annotations

import os

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.runner import LocalRunner, memory


@pytest.mark.parametrize(
    ("heap", "tasks"), [("512m", 2), ("1g", 4), ("500M", 1), ("456m", 1), ("2048mb", 8), ("805306368", 3)]
)
def test_heap_bounds_the_tasks(heap: str, tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    found = memory.bounds(heap)
    assert found.conf["spark.driver.memory"] == heap
    assert found.tasks == tasks


def test_tasks_are_no_more_than_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert memory.bounds("16g").tasks == 2


def test_little_memory_is_returned_and_a_larger_heap_is_left_to_spark() -> None:
    assert memory.bounds("2g").conf == {"spark.driver.memory": "2g"}
    assert memory.bounds("2g").environment == {}
    little = memory.bounds("512m")
    assert little.conf["spark.memory.fraction"] == "0.3"
    assert "-Xmn65536k" in little.conf["spark.driver.extraJavaOptions"]
    assert little.environment["ARROW_DEFAULT_MEMORY_POOL"] == "system"


@pytest.mark.parametrize("heap", [None, ""])
def test_nothing_is_set_without_a_heap(heap: str | None) -> None:
    assert memory.bounds(heap) == memory.Bounds()


@pytest.mark.parametrize("size", ["lots", "1.5g", "-1g", "1 g", "10%"])
def test_what_is_no_size_is_told(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_LOCAL_MEMORY", size)
    with pytest.raises(InvalidInput, match=f"'{size}' is not a size: use a size such as 512m or 2g"):
        LocalRunner()


@pytest.mark.parametrize("size", ["455m", "8m", "478150655"])
def test_a_heap_with_which_spark_does_not_start_is_refused(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_LOCAL_MEMORY", size)
    with pytest.raises(InvalidInput) as e:
        LocalRunner()
    assert str(e.value) == (
        f"ODF_LOCAL_MEMORY or [odf] local_memory: Spark does not start with a heap of '{size}': use 456m or more"
    )

"""Exceptions as errors of the package."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_odf import cli
from airflow_provider_odf.error_conversion import as_odf_error, quoted_system_error, storage_error
from airflow_provider_odf.errors import InvalidInput, UnexpectedError
from airflow_provider_odf.operators.base import airflow_errors


def test_what_the_operating_system_refuses_names_the_file_and_the_next_step() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    hint = "No space left on device (free space on this file system and run again)"
    assert str(as_odf_error(full)) == f"store or work area: {hint}"
    assert str(storage_error(full, Path("/s/a"))) == f"/s/a: {hint}"
    above = OSError(errno.ENOTDIR, "Not a directory", "/s")
    moved = "Not a directory (a file exists where a folder is expected: move it)"
    assert str(storage_error(above, Path("/s/a"))) == f"/s: {moved}"
    pending = OSError(errno.ENOTDIR, "Not a directory", "/s/.pending-1")
    assert str(storage_error(pending, Path("/s/a"))) == f"/s/a: {moved}"
    assert str(as_odf_error(OSError("no number"))) == "store or work area: no number"


def test_an_error_of_the_package_stays_itself() -> None:
    error = InvalidInput("no such thing")
    assert as_odf_error(error) is error


@pytest.mark.parametrize("name", ["pyarrow", "pyspark.sql", "airflow.providers.apache.spark.hooks.spark_submit"])
def test_a_package_that_only_tasks_need_is_named(name: str) -> None:
    error = as_odf_error(ModuleNotFoundError(f"No module named {name!r}", name=name))
    assert isinstance(error, InvalidInput)
    assert "`pip install airflow-provider-odf` on workers" in str(error)
    with pytest.raises(AirflowFailException, match="for components that run no tasks"), airflow_errors():
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_a_module_of_a_users_own_is_not_the_package_s() -> None:
    with pytest.raises(ModuleNotFoundError), airflow_errors():
        raise ModuleNotFoundError("No module named 'mine'", name="mine")


def test_a_fault_is_short_and_keeps_its_cause() -> None:
    fault = ValueError("one\ntwo" + "x" * 1000)
    error = as_odf_error(fault)
    assert error.__cause__ is fault
    assert isinstance(error, UnexpectedError)
    assert "\n" not in str(error)
    assert len(str(error)) < 500


def test_the_tool_ends_in_a_message_and_shows_the_traceback_of_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(error: Exception) -> str:
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli, "app", fail)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 1
        return capsys.readouterr().err

    assert run(PermissionError(errno.EACCES, "Permission denied", "/s/a")) == (
        "/s/a: Permission denied (check the permissions of the store)\n"
    )
    shown = run(KeyError("x"))
    assert shown.startswith("Traceback (most recent call last):\n")
    assert "unexpected KeyError: 'x' (in cli/__init__.py:" in shown.splitlines()[-1]


def test_a_task_that_the_operating_system_refuses_can_be_retried() -> None:
    from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

    with pytest.raises(AirflowException, match=r"^/s/a: Disk quota exceeded .*free space") as e, airflow_errors():
        raise OSError(errno.EDQUOT, "Disk quota exceeded", "/s/a")
    assert not isinstance(e.value, AirflowFailException)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "Failed to open local file '/s/a'. Detail: [errno 24] Too many open files",
            "store or work area: Too many open files (raise the limit for open files (ulimit -n) and run again)",
            id="arrow",
        ),
        pytest.param(
            "java.nio.file.FileSystemException: /tmp/spark/blockmgr-1/0c: No space left on device",
            "/tmp/spark/blockmgr-1/0c: No space left on device (free space on this file system and run again)",
            id="java",
        ),
        pytest.param(
            "Job aborted: Lost task 0.0 (TID 1): java.io.FileNotFoundException: /a/b (Too many open files)\n\tat java",
            "/a/b: Too many open files (raise the limit for open files (ulimit -n) and run again)",
            id="a task",
        ),
        pytest.param(
            "org.apache.spark.memory.SparkOutOfMemoryError: error while calling spill() on x : No space left on device",
            "store or work area: No space left on device (free space on this file system and run again)",
            id="a spill",
        ),
        pytest.param(
            "IO error: No space left on device (os error 28)",
            "store or work area: No space left on device (free space on this file system and run again)",
            id="rust",
        ),
        pytest.param("Cannot cast 'No space left on device' to BIGINT", None, id="a value"),
        pytest.param("java.net.ConnectException: Permission denied", None, id="a network"),
    ],
)
def test_messages_of_libraries_that_quote_the_operating_system(text: str, message: str | None) -> None:
    quoted = quoted_system_error(text)
    assert (quoted and str(storage_error(quoted))) == message


def test_a_lack_of_memory_is_no_bug() -> None:
    assert (
        str(as_odf_error(MemoryError("malloc failed"))) == "memory: Cannot allocate memory (free memory and run again)"
    )

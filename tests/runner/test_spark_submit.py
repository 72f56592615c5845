"""Requests as applications of their own, handed over by spark-submit."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_odf import errors
from airflow_provider_odf.engine import jvm
from airflow_provider_odf.runner import SparkSubmitRunner, spark_submit

pytestmark = [pytest.mark.spark, pytest.mark.long]

LOCAL = {"spark.ui.enabled": "false", "spark.driver.extraJavaOptions": " ".join(jvm.SHORT_JOBS)}


def test_answers_and_refuses_under_the_name_of_the_application(raw_query, tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "events").mkdir()
    conf = LOCAL | {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(tmp_path / "events")}
    conf |= {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"}
    named = ["--name", "nightly"]
    with SparkSubmitRunner("local[1]", conf) as runner, SparkSubmitRunner("local[1]", conf, arguments=named) as other:
        assert runner.started == 0
        good = runner.submit(raw_query(), said.append)
        bad = other.submit(raw_query("SELECT nope FROM input", "other"))
        assert good.result(120).num_records == 2
        with pytest.raises(errors.InvalidQuery, match="`nope` cannot be resolved"):
            bad.result(120)
        assert (runner.started, other.started) == (1, 1)
    assert said[0] == "submitted odf_raw_query_readings"
    logs = [file.read_text() for file in (tmp_path / "events").iterdir()]
    names = {name for log in logs for name in re.findall(r'"App Name":"([^"]*)"', log)}
    assert names == {"odf_raw_query_readings", "nightly"}


def test_an_application_that_breaks_is_an_internal_error(raw_query) -> None:
    with (
        SparkSubmitRunner("spark://127.0.0.1:1", {"spark.no.such": "x"}, arguments=["--no-such-option"]) as runner,
        pytest.raises(errors.InternalError, match="spark-submit exited with code 1 without a response") as e,
    ):
        runner.submit(raw_query()).result(120)
    assert "--no-such-option" in e.value.backtrace


def test_missing_spark_submit_is_told(raw_query) -> None:
    with (
        SparkSubmitRunner("local[1]", spark_submit="no-such-program") as runner,
        pytest.raises(errors.InvalidInput, match="no-such-program not found: install pyspark, or set SPARK_HOME"),
    ):
        runner.submit(raw_query())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The URL of a standalone cluster of one master and one worker."""
    port, master_ui, worker_ui = _free_ports(3)
    url = f"spark://127.0.0.1:{port}"
    spark = Path(jvm.spark_home(), "bin", "spark-class")
    environment = os.environ | {"SPARK_HOME": jvm.spark_home(), "SPARK_DAEMON_MEMORY": "512m"}
    place = ["--host", "127.0.0.1", "--webui-port"]
    worker = [*place, str(worker_ui), "--cores", "2", "--memory", "2g", "--work-dir", str(tmp_path / "work"), url]
    with open(tmp_path / "cluster.log", "wb") as log:
        processes = [
            subprocess.Popen(
                [spark, f"org.apache.spark.deploy.{role}", *arguments], env=environment, stdout=log, stderr=log
            )
            for role, arguments in (
                ("master.Master", [*place, str(master_ui), "--port", str(port)]),
                ("worker.Worker", worker),
            )
        ]
        try:
            _wait_for_worker(master_ui)
            yield url
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def test_runs_on_a_standalone_cluster(cluster: str, raw_query) -> None:
    conf = LOCAL | {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "1g", "spark.cores.max": "1"}
    conf["spark.executorEnv.PYSPARK_PYTHON"] = sys.executable
    with SparkSubmitRunner(cluster, conf) as runner:
        request = raw_query()
        assert runner.submit(request).result(180).num_records == 2
    written = [path for path in Path(request.output_data_path).iterdir() if path.suffix == ".parquet"]
    assert [path.stat().st_mode & 0o007 for path in written] == [0]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def _wait_for_worker(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/") as answer:
                if json.load(answer)["aliveworkers"]:
                    return
        except OSError:
            pass
        time.sleep(0.3)
    raise TimeoutError("no worker came up")


STUBBORN = """#!/bin/sh
# A spark-submit whose driver is a process of its own that minds no SIGTERM.
trap '' TERM
sleep 600 &
echo $! > "$0.driver"
wait
"""


@pytest.fixture
def stubborn(tmp_path: Path) -> Path:
    program = tmp_path / "spark-submit"
    program.write_text(STUBBORN)
    program.chmod(0o755)
    return program


def driver_of(program: Path) -> int:
    """The process id of the driver, once it runs."""
    file = Path(f"{program}.driver")
    end = time.monotonic() + 60
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return int(file.read_text())


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_spark_submit_ends_with_a_task_that_is_killed(stubborn: Path, raw_query) -> None:
    program = f"""
import time
from airflow_provider_odf.protocol import *
from airflow_provider_odf.runner import SparkSubmitRunner, spark_submit
runner = SparkSubmitRunner("local[1]", spark_submit={str(stubborn)!r})
runner.submit(RawQueryRequest(("/none",), "/none", Transform("spark", ()), ReadStep("Csv")))
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program]) as task:
        driver = driver_of(stubborn)
        assert is_alive(driver)
        task.kill()
    end = time.monotonic() + 30
    while is_alive(driver):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_close_ends_a_spark_submit_that_minds_no_signal(
    stubborn: Path, raw_query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_submit, "_PATIENCE_SECONDS", 0.5)
    runner = SparkSubmitRunner("local[1]", spark_submit=str(stubborn))
    running = runner.submit(raw_query())
    driver = driver_of(stubborn)
    runner.close()
    with pytest.raises(errors.InternalError):
        running.result(10)
    assert not is_alive(driver)

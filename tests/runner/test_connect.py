"""Merges on a Spark Connect server, as `odf run --spark sc://…` and connections of type ``spark_connect`` send them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.client.retries import DefaultPolicy

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.engine import request, session
from airflow_provider_odf.runner import ConnectRunner, LocalRunner, apps
from airflow_provider_odf.runner.connect import _is_without_plans
from tests.processes import below, wait_until
from tests.spark_servers import ConnectServer, free_ports

pytestmark = pytest.mark.spark

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: NAME
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: Url, url: "file://FOLDER/cities.csv"}
      read: {kind: Csv, header: true, schema: ["city STRING", "population BIGINT"]}
      QUERY
      merge: {kind: Snapshot, primaryKey: [city]}
"""
QUERY = 'preprocess: {kind: Sql, engine: spark, query: "SELECT upper(city) AS city, population FROM input"}'
CHECKING = "checking the query in a local Spark"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    server = ConnectServer(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cities.csv").write_text("city,population\noslo,1\nrome,2\n")
    for name, query in (("cities", ""), ("upper", QUERY)):
        text = MANIFEST.replace("NAME", name).replace("FOLDER", str(tmp_path)).replace("QUERY", query)
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def odf(folder: Path, *arguments: str, code: int = 0) -> str:
    command = [str(Path(sys.executable).parent / "odf"), *arguments, "--store", "store"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def merge(folder: Path, use: protocol.SparkUse | None, query: str = "") -> protocol.MergeRequest:
    transform = protocol.Transform("spark", (protocol.SqlQueryStep(query),)) if query else None
    (folder / "out").mkdir(exist_ok=True)
    columns = (protocol.Column("city", "STRING"), protocol.Column("population", "BIGINT"))
    return protocol.MergeRequest(
        dataset_id="did:odf:x",
        dataset_alias="cities",
        system_time="2026-01-01T00:00:00Z",
        vocab=protocol.DatasetVocabulary(),
        read=protocol.ReadStep("Csv", columns, header=True),
        merge=protocol.MergeStrategy("Snapshot", primary_key=("city",)),
        inputs=(protocol.MergeInput((str(folder / "cities.csv"),), "2026-01-01T00:00:00Z", "cities.csv"),),
        next_offset=0,
        new_data_path=str(folder / "out"),
        preprocess=transform,
        spark=use,
    )


def test_what_arrow_merges_needs_no_server(folder: Path) -> None:
    nobody = f"sc://127.0.0.1:{free_ports(1)[0]}"
    engines: list[protocol.Engine] = []
    with ConnectRunner(nobody, LocalRunner("local[1]")) as runner:
        answer = runner.submit(merge(folder, "needed"), on_engine=engines.append).result(120)
    assert isinstance(answer, protocol.MergeSuccess)
    assert [s.offset_interval.count for s in answer.new_slices] == [2]
    assert engines == []


def test_few_rows_wait_for_no_python_worker(server: ConnectServer, folder: Path) -> None:
    def daemons() -> set[int]:
        return {*below(os.getpid(), "pyspark.daemon")}

    before = daemons()
    with ConnectRunner(server.url, LocalRunner("local[1]")) as runner:
        few = merge(folder, "needed", "SELECT city, population + 1 AS population FROM input")
        assert runner.submit(few).result(300)
        assert daemons() <= before
        assert runner.submit(merge(folder, "always")).result(300)
        assert daemons() - before


def test_what_needs_plans_runs_in_a_local_spark(folder: Path) -> None:
    query = "SELECT city, population FROM input"
    untyped = protocol.ReadStep("Csv", header=True)

    def contract(**arguments: object) -> protocol.Contract:
        return protocol.Contract("c", "cities", "", (protocol.Check("/a", "quality_sql", "", arguments=arguments),))

    plain = merge(folder, None)
    on_server = {
        "plain": plain,
        "declared": merge(folder, None, query),
        "types of the file": replace(plain, read=untyped),
        "clauses": replace(plain, contract=contract(limit=5)),
    }
    in_a_local_spark = {
        "analysis": replace(plain, inputs=()),
        "query on columns that the data have": replace(merge(folder, None, query), read=untyped),
        "query of a contract": replace(plain, contract=contract(query="SELECT 1")),
        "expectation": replace(plain, contract=contract(type="x", kwargs={})),
        "raw query": protocol.RawQueryRequest((), ""),
    }
    assert {name for name, request in (on_server | in_a_local_spark).items() if _is_without_plans(request)} == {
        *on_server
    }


@pytest.mark.long
def test_merges_on_the_server_and_releases_its_sessions(server: ConnectServer, folder: Path) -> None:
    before = server.sessions()
    (folder / "odf.yaml").write_text("datasets: {cities: {spark: always}, upper: {spark: always}}\n")
    first = odf(folder, "run", "cities.yaml", "upper.yaml", "--spark", server.url, "-v")
    assert "cities.csv: read by Spark, merged in tasks of Spark (spark = always)" in first
    assert "cities: published 2 records (offsets 0..1)" in first
    assert "upper: published 2 records (offsets 0..1)" in first
    opened, released = (now - then for now, then in zip(server.sessions(), before, strict=True))
    assert opened == released == 3  # of the process, and a clone for each request

    (folder / "odf.yaml").unlink()
    (folder / "cities.csv").write_text("city,population\noslo,3\nrome,2\n")
    again = odf(folder, "run", "upper.yaml", "--spark", server.url, "-v")
    assert CHECKING not in again
    assert "starting Spark" not in again
    assert "cities.csv: read by Spark, merged in the engine's process" in again
    assert "upper: published 2 records (offsets 2..3)" in again
    rows = odf(folder, "tail", "upper", "--format", "csv").splitlines()
    assert [(row.split(",")[1], *row.split(",")[4:]) for row in rows[1:]] == [
        ("+A", "OSLO", "1"),
        ("+A", "ROME", "2"),
        ("-C", "OSLO", "1"),
        ("+C", "OSLO", "3"),
    ]


@pytest.mark.long
def test_a_query_that_was_not_checked_here_is_checked_first(server: ConnectServer, folder: Path) -> None:
    progress: list[str] = []
    good = merge(folder, None, "SELECT upper(city) AS city, population FROM input")
    bad = merge(folder, None, "SELECT java_method('java.lang.System', 'getenv', city) AS city FROM input")
    key = protocol.Check("/key", "primary_key", "", columns=("city",), model="cities")
    checks = (key, protocol.Check("/required", "required", "", "city", model="cities"))
    good = replace(good, contract=protocol.Contract("c", "cities", "", checks))
    with ConnectRunner(server.url, LocalRunner("local[1]")) as runner:
        answer = runner.submit(good, progress.append).result(300)
        assert isinstance(answer, protocol.MergeSuccess)
        assert answer.report is not None
        assert [(result.outcome, result.reason) for result in answer.report.results] == [("pass", "2 rows tested")] * 2
        assert [message for message in progress if CHECKING in message] == [f"{CHECKING}, which is done once"]
        progress.clear()
        assert runner.submit(good, progress.append).result(300)
        assert not [message for message in progress if CHECKING in message]
        with pytest.raises(errors.InvalidQuery, match="function java_method is not allowed"):
            runner.submit(bad).result(300)


def tasks(server: ConnectServer) -> int:
    """How many tasks the server has started."""
    return server.log.read_text(errors="replace").count("TaskSetManager: Starting task")


@pytest.mark.long
def test_a_server_that_is_restarted_is_an_error_to_try_again(server: ConnectServer, folder: Path) -> None:
    rows = "".join(f"c{n},{n}\n" for n in range(400_000))
    (folder / "cities.csv").write_text("city,population\n" + rows)
    began, before = threading.Event(), tasks(server)
    with ConnectRunner(server.url, LocalRunner("local[1]")) as runner:
        answer = runner.submit(merge(folder, "always"), lambda message: began.set())
        assert began.wait(120)
        wait_until(lambda: tasks(server) > before + 1, 120)  # the first one is that of the job that looks for a worker
        server.kill()
        server.start()
        with pytest.raises(errors.InternalError, match=f"the Spark Connect server {server.url} was lost") as e:
            answer.result(300)
        assert e.value.is_transient
        assert runner.submit(merge(folder, "always")).result(300)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of this process ask a server that does not answer twice, not for a minute."""

    def with_patience(remote: Any) -> Any:
        remote.client.set_retry_policies([DefaultPolicy(max_retries=1)])
        return remote

    monkeypatch.setattr(session, "_with_patience", with_patience)


def away(monkeypatch: pytest.MonkeyPatch, url: str, error: Exception, folder: Path) -> str:
    """What a user reads of an error of a session of a server."""
    monkeypatch.setenv("SPARK_REMOTE", f"{url}/;token=secret")
    answer = request.failure(error, merge(folder, "always"))
    assert isinstance(answer, protocol.InternalError)
    return answer.message


UNREACHABLE = (
    "the Spark Connect server {} cannot be reached (UNAVAILABLE): check that it runs, and its host and port; "
    "nothing was published, run again when it is up"
)


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")
def test_a_server_that_cannot_be_reached_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = f"sc://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(PySparkException) as e:
        session.connect(nobody, "cities", "", merge(folder, "always"))
    assert away(monkeypatch, nobody, e.value, folder) == UNREACHABLE.format(nobody)


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")
def test_a_server_that_stays_away_is_named(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ConnectServer(tmp_path_factory.mktemp("mortal"))
    server.start()
    try:
        code = str(apps.bundle(folder))
        remote = session.connect(server.url, "cities", code, merge(folder, "always"))
        rows = remote.range(10**12).selectExpr("sum(hash(id))")
        threading.Timer(3, server.kill).start()
        with pytest.raises(PySparkException) as e:
            rows.collect()  # a job runs
    finally:
        server.kill()
    remote.stop()
    assert away(monkeypatch, server.url, e.value, folder) == UNREACHABLE.format(server.url)

"""Spark's own OpenLineage listener, attached to our applications and to a plain job that reads slices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.hooks.applications import ApplicationLineage
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.lineage.applications import Parents, RunName
from airflow_provider_odf.lineage.jobs import SLICE_PATTERN
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner import LocalRunner
from airflow_provider_odf.runner.runner import OnEngine, OnProgress
from tests.lineage_receiver import Receiver
from tests.lineage_schemas import schema_errors
from tests.manifests import polled
from tests.processes import wait_until

pytestmark = [pytest.mark.listener, pytest.mark.spark]

LISTENER = "io.openlineage:openlineage-spark_2.13:1.53.0"
TASK = RunName("airflow", "cities.merge", "01941f29-7c00-7087-8906-40e512c257bd")
DAG = RunName("airflow", "cities", "01941f29-7c00-7087-8906-40e512c257bc")
MANIFEST = polled(
    "cities",
    '{kind: FilesGlob, path: "*.json"}',
    "{kind: NdJson, schema: [id BIGINT, name STRING]}",
    "{kind: Snapshot, primaryKey: [id]}",
)
IN_COLUMNS = MANIFEST.replace("json", "csv").replace("NdJson", "Csv, header: true")
"""The same of a CSV file, which is merged without Spark."""
READER = """\
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("Monthly Report").master("local[1]").getOrCreate()
for number, path in enumerate(sys.argv[2:]):
    spark.read.parquet(path).groupBy("name").count().write.parquet(f"{sys.argv[1]}/{number}")
spark.stop()
"""


class Reported:
    """A runner whose applications are those of one task. It keeps the events that the task sends."""

    def __init__(self, runner: LocalRunner) -> None:
        self.runner = runner
        self.events: list[Any] = []
        self.lineage = ApplicationLineage(Parents(TASK, DAG), lambda: None, self.events.append)

    def submit(
        self, request: protocol.Request, on_progress: OnProgress | None = None, on_engine: OnEngine | None = None
    ) -> Future[protocol.Success]:
        return self.lineage.submit(self.runner, request, on_progress)

    def close(self) -> None:
        self.runner.close()

    def __enter__(self) -> Reported:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Takes the events of every Spark that starts with the settings of an administrator."""
    receiver = Receiver()
    settings = {
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        **{f"spark.openlineage.transport.{key}": value for key, value in receiver.transport.items()},
    }
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(f"{k} {v}\n" for k, v in settings.items()))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("ODF_SPARK_PACKAGES", LISTENER)
    yield receiver
    receiver.shutdown()
    receiver.server_close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def runner() -> LocalRunner:
    return LocalRunner("local[2]", Parents(TASK, DAG).settings)


def publish(store: Store, folder: Path, runner: Any, text: str = MANIFEST) -> None:
    (folder / "cities.yaml").write_text(text)
    (folder / "1.json").write_text('{"id": 1, "name": "Oslo"}\n{"id": 2, "name": "Bergen"}\n')
    (folder / "1.csv").write_text("id,name\n1,Oslo\n2,Bergen\n")
    (manifest,) = load([str(folder / "cities.yaml")]).manifests
    outcome = run(Cycle(store, "cities", runner, Instant.now(), manifest))
    assert str(outcome) == "published 2 records (offsets 0..1)"


def of_job(receiver: Receiver, name: str) -> list[tuple[str, str]]:
    """The events of a job: type and run."""
    return [(e["eventType"], e["run"]["runId"]) for e in receiver.events if e["job"]["name"] == name]


def test_the_listener_reports_our_application_and_the_task_does_not(
    receiver: Receiver, store: Store, tmp_path: Path
) -> None:
    with Reported(runner()) as reported:
        publish(store, tmp_path, reported)
    assert reported.events == []
    (start, run_id), end = of_job(receiver, "odf_merge_cities")
    assert (start, end) == ("START", ("COMPLETE", run_id))
    first = receiver.events[0]
    assert schema_errors(first) == []
    assert first["job"]["namespace"] == "airflow"
    parent = first["run"]["facets"]["parent"]
    assert (parent["job"]["name"], parent["run"]["runId"]) == (TASK.job, TASK.id)
    assert (parent["root"]["job"]["name"], parent["root"]["run"]["runId"]) == (DAG.job, DAG.id)
    actions = {e["job"]["name"]: e["run"]["facets"]["parent"]["run"]["runId"] for e in receiver.events}
    del actions["odf_merge_cities"]
    assert all(name.startswith("odf_merge_cities.") for name in actions)
    assert set(actions.values()) <= {run_id}


def test_neither_reports_a_merge_without_spark(receiver: Receiver, store: Store, tmp_path: Path) -> None:
    with Reported(runner()) as reported:
        publish(store, tmp_path, reported, IN_COLUMNS)
    assert (reported.events, receiver.events) == ([], [])
    assert reported.lineage.task_facets["odf_engine"].name == "arrow"


def test_the_task_reports_the_end_of_an_application_that_was_killed_with_its_listener(
    receiver: Receiver, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("a\n1\n")
    endless = "SELECT count(*) AS n FROM range(0, 1000000000000, 1, 4) WHERE sqrt(id) < 0"
    request = protocol.RawQueryRequest(
        (str(tmp_path / "rows.csv"),),
        str(tmp_path / "out"),
        protocol.Transform("spark", (protocol.SqlQueryStep(endless),)),
        protocol.ReadStep("Csv", (protocol.Column("a", "BIGINT"),), header=True),
        dataset_alias="cities",
    )
    with Reported(runner()) as reported:
        answer = reported.submit(request)
        wait_until(lambda: len(receiver.events) > 1, seconds=300)
        parents = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()
        java = subprocess.run(
            ["pgrep", "-P", ",".join(parents), "java"], capture_output=True, text=True, check=True
        ).stdout.split()
        os.kill(int(java[0]), signal.SIGKILL)
        with pytest.raises(errors.EngineLost):
            answer.result(120)
    ((start, run_id),) = of_job(receiver, "odf_raw_query_cities")
    (event,) = reported.events
    assert (start, event.eventType.value, event.job.name, event.run.runId) == (
        "START",
        "FAIL",
        "odf_raw_query_cities",
        run_id,
    )


@pytest.mark.parametrize("settings", [{}, {"spark.openlineage.dataset.removePath.pattern": SLICE_PATTERN}])
def test_a_plain_job_reads_the_dataset(
    receiver: Receiver, store: Store, tmp_path: Path, settings: dict[str, str]
) -> None:
    from airflow_provider_odf.chain.replay import replay
    from airflow_provider_odf.lineage.dataset import of_dataset
    from airflow_provider_odf.lineage.events import odf_output

    with LocalRunner("local[2]") as plain:
        publish(store, tmp_path, plain)
    receiver.events.clear()
    dataset = store.dataset("cities")
    slices = sorted((Path(dataset.location) / "data").iterdir())
    (tmp_path / "read.py").write_text(READER)
    with (tmp_path / "conf" / "spark-defaults.conf").open("a") as defaults:
        defaults.writelines(f"{key} {value}\n" for key, value in {"spark.jars.packages": LISTENER, **settings}.items())
    command = [str(tmp_path / "read.py"), str(tmp_path / "report"), str(slices[0].parent), str(slices[0])]
    subprocess.run([sys.executable, *command], check=True, timeout=500, capture_output=True)
    read = {(i["namespace"], i["name"]) for e in receiver.events for i in e["inputs"]}
    output = odf_output(of_dataset(store, dataset, replay(dataset)), None)
    assert output.facets is not None
    names = {(output.namespace, output.name)}
    links = {(link.namespace, link.name) for link in output.facets["symlinks"].identifiers}
    assert read == names if settings else (read - {("file", str(slices[0]))}) <= links
    assert {e["job"]["name"].partition(".")[0] for e in receiver.events} == {"monthly_report"}

"""Requests as applications of their own, handed over by spark-submit."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from airflow_provider_odf import errors, object_stores, protocol
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import Verified, verify
from airflow_provider_odf.engine import session
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.runner import SparkSubmitRunner, spark_submit
from demo.machines import can_hide
from tests.chain.conftest import Growing
from tests.processes import below, processes
from tests.s3 import use
from tests.spark_servers import LEAN, standalone

pytestmark = [pytest.mark.spark, pytest.mark.long]

LOCAL = {"spark.ui.enabled": "false", "spark.driver.extraJavaOptions": LEAN}
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


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
        pytest.raises(errors.InternalError, match=r"to spark://127\.0\.0\.1:1 exited with code 1") as e,
    ):
        runner.submit(raw_query()).result(120)
    assert "--no-such-option" in e.value.backtrace


def test_missing_spark_submit_is_told(raw_query) -> None:
    with (
        SparkSubmitRunner("local[1]", spark_submit="no-such-program") as runner,
        pytest.raises(errors.InvalidInput, match="no-such-program not found: install pyspark, or set SPARK_HOME"),
    ):
        runner.submit(raw_query())


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers of the cluster see empty."""
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, hidden: Path) -> Iterator[str]:
    """The URL of a standalone cluster of one master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster"), 2, hidden if can_hide() else None) as url:
        yield url


def conf(python: str = sys.executable) -> dict[str, str]:
    """Settings of an application whose executors run a Python."""
    size = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m", "spark.executor.cores": "1"}
    options = {"spark.executor.extraJavaOptions": LEAN, "spark.executorEnv.PYSPARK_PYTHON": python}
    return LOCAL | size | options | {"spark.pyspark.python": python, "spark.pyspark.driver.python": sys.executable}


def test_runs_on_a_standalone_cluster(cluster: str, raw_query) -> None:
    with SparkSubmitRunner(cluster, conf()) as runner:
        request = raw_query()
        assert runner.submit(request).result(180).num_records == 2
    written = [path for path in Path(request.output_data_path).iterdir() if path.suffix == ".parquet"]
    assert [path.stat().st_mode & 0o007 for path in written] == [0]


def test_executors_have_the_access_of_the_driver(
    cluster: str, s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The workers were started without it. Input and slice are objects, and no log has the secret."""
    use(s3, monkeypatch)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-driver")
    folder = f"s3://bucket/{uuid4().hex}"
    object_stores.put(f"{folder}/rows.csv", b"a,b\n1,x\n2,y\n", 12)
    request = protocol.MergeRequest(
        dataset_id="did:odf:x",
        dataset_alias="readings",
        system_time="2026-01-01T00:00:00Z",
        vocab=protocol.DatasetVocabulary(),
        read=protocol.ReadStep("Csv", (protocol.Column("a", "BIGINT"), protocol.Column("b", "STRING")), header=True),
        merge=protocol.MergeStrategy("Ledger", primary_key=("a",)),
        inputs=(protocol.MergeInput((f"{folder}/rows.csv",), "2026-01-01T00:00:00Z", "rows.csv"),),
        next_offset=0,
        new_data_path=folder,
    )
    events = tmp_path / "events"
    events.mkdir()
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(events), "spark.eventLog.compress": "false"}
    with SparkSubmitRunner(cluster, conf() | logged) as runner:
        merged = runner.submit(request).result(180)
    assert isinstance(merged, protocol.MergeSuccess)
    (written,) = merged.new_slices
    assert (written.path, written.offset_interval.count) == (f"{folder}/{written.physical_hash}", 2)
    assert object_stores.size(written.path) == written.size
    logs = "".join(file.read_text() for file in events.rglob("*") if file.is_file())
    assert '"spark.executorEnv.AWS_SECRET_ACCESS_KEY":"*********(redacted)"' in logs
    assert "of-the-driver" not in logs


def slices_in(folder: Path) -> Dataset:
    """A dataset of four slices."""
    dataset = Store.open(folder / "store").create(DatasetAlias.parse("readings"))
    growing = Growing(dataset, model.MergeStrategyAppend(), [pa.field("id", pa.int64())])
    for number in range(4):
        growing.add(("+A", number))
    return dataset


def test_executors_verify(cluster: str, tmp_path: Path) -> None:
    dataset = slices_in(tmp_path)
    with SparkSubmitRunner(cluster, conf()) as runner:

        def ask(request: protocol.Request) -> protocol.Success:
            return runner.submit(request).result(180)

        assert verify(dataset, ask=ask) == Verified(7, 4, 4)
        first, second = sorted((Path(dataset.location) / "data").iterdir())[:2]
        first.write_bytes(second.read_bytes())
        with pytest.raises(errors.ChainCorrupted) as here:
            verify(dataset)
        with pytest.raises(errors.ChainCorrupted, match=f"{first}: ") as there:
            verify(dataset, ask=ask)
    assert str(there.value) == str(here.value)


@pytest.mark.skipif(not can_hide(), reason="the system lets no process have mounts of its own")
def test_executors_that_do_not_see_slices_do_not_call_them_missing(cluster: str, hidden: Path) -> None:
    dataset = slices_in(hidden)
    with SparkSubmitRunner(cluster, conf()) as runner, pytest.raises(errors.StorageError, match="do not see this file"):
        verify(dataset, ask=lambda request: runner.submit(request).result(180))
    shutil.rmtree(hidden / "store")


@pytest.mark.skipif(not can_hide(), reason="the system lets no process have mounts of its own")
def test_executors_that_do_not_see_the_store_are_named_before_the_work(cluster: str, raw_query, hidden: Path) -> None:
    request = replace(raw_query(), output_data_path=str(hidden / "out"))
    with SparkSubmitRunner(cluster, conf()) as runner, pytest.raises(errors.StorageError) as e:
        runner.submit(request).result(180)
    assert str(e.value).startswith(f"{hidden}: the executors of Spark do not see this folder: share the store")
    assert list(hidden.iterdir()) == []


def test_what_executors_get_of_the_environment() -> None:
    environment = {
        "AWS_SECRET_ACCESS_KEY": "1",
        "AZURE_STORAGE_ACCOUNT_KEY": "2",
        "GOOGLE_SERVICE_ACCOUNT_KEY": "3",
        "ODF_OBJECT_STORE_SECRETS": "4",
        "AWS_PROFILE": "of this machine",
        "GOOGLE_APPLICATION_CREDENTIALS": "/of/this/machine",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/of/this/machine",
        "HOME": "/root",
    }
    settings = session.credentials(environment, {})
    pattern = re.compile(settings.pop("spark.redaction.regex"))
    assert settings == {
        "spark.executorEnv.AWS_SECRET_ACCESS_KEY": "1",
        "spark.executorEnv.AZURE_STORAGE_ACCOUNT_KEY": "2",
        "spark.executorEnv.GOOGLE_SERVICE_ACCOUNT_KEY": "3",
        "spark.executorEnv.ODF_OBJECT_STORE_SECRETS": "4",
    }
    assert all(map(pattern.search, settings))
    assert all(map(pattern.search, ["AWS_ACCESS_KEY_ID", "AZURE_STORAGE_ACCOUNT_KEY"]))  # as YARN logs them


def test_executors_get_no_part_of_an_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    role = {
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/driver",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/of/this/machine",
        "AWS_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL": "http://s3",
    }
    assert list(session.credentials(role, {})) == [
        "spark.executorEnv.AWS_REGION",
        "spark.executorEnv.AWS_ENDPOINT_URL",
        "spark.redaction.regex",
    ]


WITHOUT_PYARROW = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
sys.meta_path.insert(0, Missing())
"""
OF_ANOTHER_VERSION = """
import sys
class Version(tuple):
    major, minor = 3, 99
sys.version_info = Version((3, 99, 0, "final", 0))
"""


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (WITHOUT_PYARROW, f"the Python of the executors has no package pyarrow: install pyarrow {version('pyarrow')}"),
        (
            OF_ANOTHER_VERSION,
            f"the executors run Python 3.99, but this process runs Python {OURS}: install Python {OURS}",
        ),
    ],
)
def test_executors_with_another_python_are_named_before_the_work(
    cluster: str, raw_query, tmp_path: Path, site: str, message: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(site)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    request = raw_query()
    with SparkSubmitRunner(cluster, conf(str(python))) as runner, pytest.raises(errors.InternalError) as e:
        runner.submit(request).result(300)
    assert str(e.value).startswith(message)
    assert not Path(request.output_data_path).exists()


def test_an_executor_that_is_lost_is_replaced(cluster: str, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("a,b\n" + "".join(f"{n},{n}\n" for n in range(300_000)))
    columns = (protocol.Column("a", "BIGINT"), protocol.Column("b", "STRING"))
    request = protocol.MergeRequest(
        dataset_id="did:odf:x",
        dataset_alias="readings",
        system_time="2026-01-01T00:00:00Z",
        vocab=protocol.DatasetVocabulary(),
        read=protocol.ReadStep("Csv", columns, header=True),
        merge=protocol.MergeStrategy("Ledger", primary_key=("a",)),
        inputs=(protocol.MergeInput((str(source),), "2026-01-01T00:00:00Z", "rows.csv"),),
        next_offset=0,
        new_data_path=str(tmp_path),
    )
    begun = threading.Event()
    with SparkSubmitRunner(cluster, conf()) as runner:
        answer = runner.submit(request, lambda message: begun.set() if message.startswith("merging") else None)
        assert begun.wait(180)
        os.kill(below(os.getpid(), "CoarseGrainedExecutorBackend")[0], signal.SIGKILL)
        merged = answer.result(300)
    assert isinstance(merged, protocol.MergeSuccess)
    assert [s.offset_interval.count for s in merged.new_slices] == [300_000]


def test_a_driver_ends_with_its_request(cluster: str, raw_query, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in cluster mode, where no signal of the task reaches the driver."""
    begun = threading.Event()
    slow = raw_query("SELECT count(*) AS a, 'x' AS b FROM range(10000000) x, range(10000000) y")
    with SparkSubmitRunner(cluster, conf()) as runner:
        answer = runner.submit(slow, on_engine=lambda engine: begun.set() if engine.version else None)
        assert begun.wait(180)
        (folder,) = {processes()[pid][1].split()[-1] for pid in below(os.getpid(), "run.py /")}
        Path(folder, "alive").unlink()
        with pytest.raises(errors.EngineLost, match=r"spark://\S+ exited with code 0 without a response"):
            answer.result(120)


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
from airflow_provider_odf.protocol.data import *
from airflow_provider_odf.protocol.messages import *
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

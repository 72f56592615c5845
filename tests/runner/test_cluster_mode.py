"""Cluster deploy mode: the driver runs on another machine, and reaches the task through the exchange alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.runner import SparkSubmitRunner
from demo.machines import can_hide, without
from tests.s3 import Bucket, relaying, use

Merge = Callable[..., protocol.MergeRequest]

ELSEWHERE = """
import json, os, shutil, subprocess, sys
from pathlib import Path
here = Path(__file__).parent
arguments = sys.argv[1:]
(here / "arguments.txt").write_text("\\n".join(arguments))
main, place = arguments[-2:]
bundle = arguments[arguments.index("--py-files") + 1]
for file in (main, bundle):  # as a cluster manager stages them
    shutil.copy(file, here)
environment = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
environment |= {"HOME": str(here), "PYTHONPATH": str(here / Path(bundle).name)}
if "--files" in arguments:
    file = Path(arguments[arguments.index("--files") + 1])
    (here / "mode.txt").write_text(oct(file.stat().st_mode))
    shutil.copy(file, here)
    environment["ODF_OBJECT_STORE_VARIABLES_FILE"] = file.name
hidden = json.loads(os.environ["HIDDEN"])
sys.exit(subprocess.run([*hidden, sys.executable, "-c", DRIVER, place], cwd=here, env=environment).returncode)
"""
"""A spark-submit that starts the driver as YARN does: without the environment and the temporary files of the task."""

ANSWERS = """
import sys
from airflow_provider_odf.engine import mailbox
from airflow_provider_odf.protocol import MergeSuccess, Progress, dumps_response, loads_request
box = mailbox.at(sys.argv[1])
driver = mailbox.Driver(box)
request = loads_request(driver.request())
driver.respond(dumps_response("Merge", Progress("merging")), is_final=False)
driver.respond(dumps_response("Merge", MergeSuccess((), notices=(request.dataset_alias,))), is_final=True)
"""
LOSES = ANSWERS + "from airflow_provider_odf import object_stores\n"
LOSES += (
    "bucket, key = object_stores.split(sys.argv[1])\nobject_stores.client(bucket).delete(f'{key}/responses.jsonl')\n"
)
CUTS = ANSWERS + "box.put(mailbox.RESPONSES, box.get(mailbox.RESPONSES)[:-2])\n"
DIES = "import os, sys\nsys.stderr.write('Exception: the driver is lost\\n')\nos.kill(os.getpid(), 9)\n"
WAITS = "import sys, time\nfrom airflow_provider_odf.engine import mailbox\n"
WAITS += "mailbox.Driver(mailbox.at(sys.argv[1]))\nopen('begun', 'w')\ntime.sleep(600)\n"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Makes the program of another machine."""
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("HIDDEN", json.dumps(without(own) if can_hide() else []))

    def program(driver: str) -> str:
        machine = tmp_path / "machine"
        machine.mkdir()
        file = machine / "spark-submit"
        file.write_text(f"#!{sys.executable}\nDRIVER = {driver!r}\n{ELSEWHERE}")
        file.chmod(0o755)
        return str(file)

    return program


@pytest.fixture
def merge(bucket: Bucket) -> Merge:
    """Makes the request to merge ``a,b / 1,x / 2,y``, an object, into a dataset."""
    content = b"a,b\n1,x\n2,y\n"
    bucket.put("in/rows.csv", content)
    return lambda: protocol.MergeRequest(
        dataset_id="did:odf:x",
        dataset_alias="Readings",
        system_time="2026-01-01T00:00:00Z",
        vocab=protocol.DatasetVocabulary(),
        read=protocol.ReadStep("Csv", (protocol.Column("a", "BIGINT"), protocol.Column("b", "STRING")), header=True),
        merge=protocol.MergeStrategy("Ledger", primary_key=("a",)),
        inputs=(protocol.MergeInput((f"{bucket.uri}/in/rows.csv",), "2026-01-01T00:00:00Z", "rows.csv"),),
        next_offset=0,
        new_data_path=f"{bucket.uri}/out",
    )


def of_yarn(program: str, store: Store) -> SparkSubmitRunner:
    return SparkSubmitRunner("yarn", deploy_mode="cluster", exchange=store.exchange, spark_submit=program)


def passed(store: Store) -> list[str]:
    """What is in the exchange."""
    return sorted(info.name.rpartition("/")[2] for info in store.inputs("readings").every_file())


def test_messages_pass_through_the_bucket_and_are_removed(elsewhere, merge: Merge, bucket: Bucket, tmp_path: Path):
    store, said = Store.open(bucket.uri), list[str]()
    with of_yarn(elsewhere(ANSWERS), store) as runner:
        answer = runner.submit(merge(), said.append).result(60)
    assert answer == protocol.MergeSuccess((), notices=("Readings",))
    assert said == ["submitted odf_merge_readings", "merging"]
    assert passed(store) == []
    arguments = (tmp_path / "machine" / "arguments.txt").read_text().splitlines()
    assert arguments[-1].startswith(f"{bucket.uri}/.work/readings/merge-")
    assert {"spark.yarn.maxAppAttempts=1", "spark.yarn.submit.waitAppCompletion=true"} <= {*arguments}


def test_an_application_costs_few_requests(elsewhere, merge: Merge, s3: str, bucket: Bucket, monkeypatch):
    request = merge()
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        with of_yarn(elsewhere(ANSWERS), Store.open(bucket.uri)) as runner:
            runner.submit(request).result(60)
        kinds = relay.kinds()
    # The request, the sign of life and the responses. Each side looks every three seconds, and at its begin or end.
    assert (kinds["PUT"], kinds["LIST"], kinds["POST"]) == (3, 1, 1)
    assert kinds["GET"] <= 8


def test_with_a_store_in_a_folder_messages_pass_through_the_work_area(elsewhere, merge: Merge, tmp_path: Path):
    store, request = Store.open(tmp_path / "store"), replace(merge(), inputs=(), new_data_path="")
    with of_yarn(elsewhere(ANSWERS), store) as runner:
        assert runner.submit(request).result(60) == protocol.MergeSuccess((), notices=("Readings",))
    arguments = (tmp_path / "machine" / "arguments.txt").read_text().splitlines()
    assert arguments[-1].startswith(f"{tmp_path}/store/.work/readings/merge-")
    assert "--files" not in arguments
    assert list((tmp_path / "store" / ".work" / "readings").iterdir()) == []


def test_access_is_passed_in_a_file_alone(elsewhere, merge: Merge, bucket: Bucket, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-task")
    monkeypatch.setenv("AWS_PROFILE", "of-this-machine")
    with of_yarn(elsewhere(ANSWERS), Store.open(bucket.uri)) as runner:
        runner.submit(merge()).result(60)
    machine = tmp_path / "machine"
    variables = json.loads((machine / "odf-object-store-variables.json").read_text())
    assert (variables["AWS_SECRET_ACCESS_KEY"], variables.get("AWS_PROFILE")) == ("of-the-task", None)
    assert stat.S_IMODE(int((machine / "mode.txt").read_text(), 8)) == 0o600
    arguments = (machine / "arguments.txt").read_text()
    assert "of-the-task" not in arguments
    name = "ODF_OBJECT_STORE_VARIABLES_FILE=odf-object-store-variables.json"
    assert f"spark.yarn.appMasterEnv.{name}" in arguments
    assert f"spark.executorEnv.{name}" in arguments


def test_own_variables_of_the_other_machine_win(tmp_path: Path):
    (tmp_path / "file").write_text('{"AWS_ACCESS_KEY_ID": "a", "AWS_REGION": "b", "AZURE_STORAGE_ACCOUNT_KEY": "c"}')
    program = "import os\nfrom airflow_provider_odf import object_stores\nobject_stores.client('az://c')\n"
    program += "print([os.environ.get(n) for n in ('AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AZURE_STORAGE_ACCOUNT_KEY')])"
    own = {"ODF_OBJECT_STORE_VARIABLES_FILE": "file", "AWS_REGION": "own", "AZURE_STORAGE_ACCOUNT_NAME": "c"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_"))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, cwd=tmp_path, env=kept | own, capture_output=True, text=True)
    assert done.stdout == "['own', None, None]\n"


def test_other_clusters_pass_no_access(elsewhere, merge: Merge, bucket: Bucket, tmp_path: Path):
    """The driver needs a role of its own: here it has none, and says so in its log."""
    store = Store.open(bucket.uri)
    options = {"deploy_mode": "cluster", "exchange": store.exchange, "spark_submit": elsewhere(ANSWERS)}
    with (
        SparkSubmitRunner("k8s://https://cluster", **options) as runner,
        pytest.raises(errors.EngineLost, match="spark-submit to k8s://https://cluster exited with code 1"),
    ):
        runner.submit(merge()).result(120)
    arguments = (tmp_path / "machine" / "arguments.txt").read_text().splitlines()
    assert "--files" not in arguments
    assert "spark.kubernetes.submission.waitAppCompletion=true" in arguments
    assert passed(store) == []


@pytest.mark.parametrize("driver", [LOSES, CUTS, DIES])
def test_without_an_outcome_the_engine_is_lost(elsewhere, merge: Merge, bucket: Bucket, driver: str):
    store = Store.open(bucket.uri)
    with of_yarn(elsewhere(driver), store) as runner, pytest.raises(errors.EngineLost) as e:
        runner.submit(merge()).result(60)
    assert e.value.is_transient
    assert str(e.value).startswith("spark-submit to yarn exited with code ")
    assert str(e.value).endswith(" (the log of the driver in the cluster says more)")
    assert passed(store) == []


def test_a_driver_ends_when_the_runner_is_closed(elsewhere, merge: Merge, bucket: Bucket, tmp_path: Path):
    store = Store.open(bucket.uri)
    runner = of_yarn(elsewhere(WAITS), store)
    running = runner.submit(merge())
    end = time.monotonic() + 60
    while not (tmp_path / "machine" / "begun").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    runner.close()
    with pytest.raises(errors.EngineLost) as e:
        running.result(10)
    assert e.value.was_closed
    assert passed(store) == []

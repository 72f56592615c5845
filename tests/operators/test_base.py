import subprocess
import sys
import time

import psutil
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_odf import PollingSourceOperator
from airflow_provider_odf.errors import CommitConflict, InternalError, InvalidQuery
from airflow_provider_odf.operators.base import OdfOperator
from tests.manifests import polled


class Failing(OdfOperator):
    def __init__(self, *, error, **kwargs):
        super().__init__(**kwargs)
        self.error = error

    def run_step(self, context):
        raise self.error


def failure(error):
    with pytest.raises(AirflowException) as caught:
        Failing(error=error, task_id="fail").execute({})
    return caught.value


def test_what_would_fail_again_is_not_retried():
    error = failure(InvalidQuery("no column of that name"))
    assert isinstance(error, AirflowFailException)
    assert str(error) == "no column of that name"


@pytest.mark.parametrize("error", [InternalError("Spark died"), CommitConflict("head moved")])
def test_what_may_pass_is_retried(error):
    found = failure(error)
    assert not isinstance(found, AirflowFailException)
    assert str(found) == str(error)


def test_the_engines_own_words_are_in_the_log(caplog):
    failure(InternalError("Spark died", backtrace="java.lang.OutOfMemoryError"))
    assert "java.lang.OutOfMemoryError" in caplog.text


def test_other_errors_are_left_alone():
    with pytest.raises(ZeroDivisionError):
        Failing(error=ZeroDivisionError(), task_id="fail").execute({})


def test_killing_a_task_stops_spark(monkeypatch):
    closed = []

    class Runner:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def submit(self, request, on_progress, on_engine):
            operator.on_kill()

        def close(self):
            closed.append(True)

    monkeypatch.setattr("airflow_provider_odf.hooks.runners.open_runner", lambda *connection: Runner())
    operator = OdfOperator(task_id="x")
    operator.on_kill()
    with operator.runner:
        operator.runner.submit(None)
    assert closed == [True]


PIPED = polled(
    "piped",
    "{kind: Url, url: in.csv}",
    "{kind: Csv, schema: [id BIGINT]}",
    prepare='[{kind: Pipe, command: [sh, -c, "echo $$ > pid; sleep 600"]}]',
)


KILLED = """\
import signal, sys
from airflow_provider_odf import PollingSourceOperator
operator = PollingSourceOperator(task_id="poll", manifest=sys.argv[1], store=sys.argv[2])
signal.signal(signal.SIGTERM, lambda *_: operator.on_kill())  # as Airflow does in the process of a task
operator.execute({})
"""


def test_what_a_pipe_runs_ends_with_its_task(tmp_path):
    (tmp_path / "piped.yaml").write_text(PIPED)
    (tmp_path / "in.csv").write_text("1\n")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "piped.yaml"), str(tmp_path / "store")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as task:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert task.poll() is None, task.stderr.read()
            time.sleep(0.05)
        pid = int((tmp_path / "pid").read_text())
        assert psutil.pid_exists(pid)
        task.terminate()
        log = task.communicate(timeout=20)[1]
        assert "AirflowException: the task was stopped while it ran: somebody set its state" in log
        assert "sh was killed" not in log
    assert not psutil.pid_exists(pid)
    assert task.returncode == 1


def test_limits_and_secrets_of_the_installation_reach_the_source(tmp_path, monkeypatch):
    (tmp_path / "piped.yaml").write_text(
        PIPED.replace("echo $$ > pid; sleep 600", "yes").replace("in.csv", "'${{ env.NAME }}'")
    )
    (tmp_path / "odf.yaml").write_text("defaults: {env: {NAME: {variable: name_of_file}}}")
    (tmp_path / "in.csv").write_text("1\n")
    monkeypatch.setenv("AIRFLOW_VAR_NAME_OF_FILE", "in.csv")
    monkeypatch.setenv("AIRFLOW__ODF__LARGEST_FILE", "1m")
    operator = PollingSourceOperator(
        task_id="poll", manifest=str(tmp_path / "piped.yaml"), store=str(tmp_path / "store")
    )
    with pytest.raises(AirflowFailException, match="sh wrote more than 1 MB, the limit for output: "):
        operator.execute({})

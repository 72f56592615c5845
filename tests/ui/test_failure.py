"""Why is it failing: the error of the newest run on the page of the dataset, from the log of its task."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

from .rejecting import publish, reject
from .shown import shown

# Airflow leaves the file of a log open.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PAGE = "/datasets/acme.numbers"
LOGS = Path(os.environ["AIRFLOW_HOME"]) / "logs" / "dag_id=acme.numbers"
ERROR = (
    "https://me:pa55word@example.org/a.csv: HTTP 404; run `odf validate x --store /srv/odf`, see /srv/odf/dags/x.yaml"
)


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    growing = Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), columns)
    publish(growing, ("+A", 1, "one"))
    return growing


@pytest.fixture
def fail(airflow_server, as_user):
    """Make a run of the DAG whose poll failed with an error in its log."""
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    def make(*lines, state="failed"):
        path = "/api/v2/dags/acme.numbers/dagRuns"
        airflow_server.post(path, json={"dag_run_id": "by_hand", "logical_date": None}, headers=as_user("user"))
        with create_session() as session:
            for task in session.query(TaskInstance).filter(
                TaskInstance.run_id == "by_hand", TaskInstance.task_id == "poll"
            ):
                task.state, task.try_number = state, 1
            for run in session.query(DagRun).filter(DagRun.run_id == "by_hand"):
                run.state = "failed" if state == "failed" else "running"
        log = LOGS / "run_id=by_hand" / "task_id=poll" / "attempt=1.log"
        log.parent.mkdir(parents=True)
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))

    yield make
    shutil.rmtree(LOGS, ignore_errors=True)
    with create_session() as session:
        session.query(DagRun).filter(DagRun.dag_id == "acme.numbers").delete()


def line(text, **more):
    return {"timestamp": "2026-05-01T12:00:00Z", "event": text, "level": "info", **more}


def failure(error):
    detail = {"exc_type": "AirflowFailException", "exc_value": error, "is_cause": False, "frames": []}
    return line(
        "Task failed with exception", level="error", error_detail=[detail, {**detail, "exc_value": "its cause"}]
    )


def test_the_error_of_the_newest_run(open_page, numbers, fail):
    fail(line("begins"), failure("first error"), failure(ERROR), line("ends"))
    page = shown(open_page(PAGE, role="user"))
    start = page.lines.index("Why the run failed")
    assert page.lines[start + 1 : start + 3] == [
        "https://***@example.org/a.csv: HTTP 404; run `odf validate x --store STORE`, see …/x.yaml",
        "Task poll of run by_hand, DAG acme.numbers",
    ]
    assert page.links["poll"] == "/dags/acme.numbers/runs/by_hand/tasks/poll"
    assert page.links["by_hand"] == "/dags/acme.numbers/runs/by_hand"
    assert page.links["acme.numbers"] == "/dags/acme.numbers"


def test_a_task_that_is_tried_again(open_page, numbers, fail):
    fail(failure("the server does not answer"), state="up_for_retry")
    assert shown(open_page(PAGE, role="user")).after("Why the run failed") == "the server does not answer"


def test_a_log_without_an_error(open_page, numbers, fail):
    fail(line("killed"))
    after = shown(open_page(PAGE, role="user")).after("Why the run failed")
    assert after == "The log of the task has no error, or you may not read it."


def test_a_dataset_that_no_run_could_create(open_page, store, fail):
    fail(failure("the bucket does not exist"))
    page = shown(open_page(PAGE, role="user"))
    assert page.after("Why the run failed") == "the bucket does not exist"


def test_the_page_of_a_run_that_failed(open_page, numbers, fail):
    fail(failure("the bucket does not exist"))
    page = shown(open_page(f"{PAGE}/runs/by_hand", role="user"))
    assert "This run failed before it had new data." in page.lines
    assert page.after("Why the run failed") == "the bucket does not exist"


def test_the_page_of_a_run_leads_to_the_candidate_that_it_merged(open_page, numbers, fail):
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    rejection = reject(numbers, ("+A", 2, "two"))
    fail(failure("contract numbers rejected 1 record"))
    with create_session() as session:
        for task, value in (("poll", {"input": "a"}), ("merge", {"candidate": rejection.block_hash})):
            XComModel.set("return_value", value, dag_id="acme.numbers", task_id=task, run_id="by_hand", session=session)
    answer = open_page(f"{PAGE}/runs/by_hand", role="user", follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/odf{PAGE}/rejected/{rejection.block_hash}")


def test_a_failure_that_somebody_has_decided_on(open_page, numbers, fail, store):
    rejection = reject(numbers, ("+A", 2, "two"))
    fail(failure("the newest input is still rejected"))
    waiting = shown(open_page(PAGE, role="user")).lines
    assert waiting.index("Not published") < waiting.index("Why the run failed")
    assert "passed Report of the last publication newest test failed" in waiting
    author = Author("ann", "a typing error", time=str(Instant.from_datetime(datetime.now(UTC))))
    decisions.discard(numbers.dataset, rejection, author)
    page = shown(open_page(PAGE, role="user"))
    assert "Why the run failed" not in page.lines


def test_nothing_is_said_of_a_run_that_is_well(open_page, numbers):
    assert "Why the run failed" not in shown(open_page(PAGE)).lines


@pytest.fixture
def say(fail):
    """Keep notices as XComs of a run."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import update

    def make(*texts, days=0):
        fail(state="success")
        with create_session() as session:
            XComModel.set(
                "odf_notices", list(texts), dag_id="acme.numbers", task_id="poll", run_id="by_hand", session=session
            )
            time = datetime.now(UTC) - timedelta(days=days)
            session.execute(update(XComModel).where(XComModel.dag_id == "acme.numbers").values(timestamp=time))

    return make


def test_what_runs_said(open_page, numbers, say):
    say("in.csv: ignored columns that are not in the schema: <b>extra", "skipped files: late.csv")
    page = shown(open_page(PAGE, role="user"))
    start = page.lines.index("What runs said")
    assert page.lines[start + 1].startswith(
        "in.csv: ignored columns that are not in the schema: <b>extra "
        "(odf plan MANIFEST --suggest shows how to add them) run by_hand, 20"
    )
    assert page.lines[start + 2].startswith("skipped files: late.csv run by_hand, 20")
    assert page.links["by_hand"] == "/dags/acme.numbers/runs/by_hand"


def test_what_runs_said_long_ago(open_page, numbers, say):
    say("skipped files: late.csv", days=8)
    assert "What runs said" not in shown(open_page(PAGE, role="user")).lines

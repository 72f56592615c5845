"""Health where a user marks a run of Airflow as a success that published nothing."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

from .rejecting import publish
from .shown import health_of, shown

PAGE = "/datasets/acme.numbers"


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    growing = Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), columns)
    publish(growing, ("+A", 1, "one"))
    return growing


@pytest.fixture
def run(airflow_server, as_user):
    """A run of the DAG; its API path."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    path = "/api/v2/dags/acme.numbers/dagRuns"
    made = airflow_server.post(path, json={"dag_run_id": "by_hand", "logical_date": None}, headers=as_user("user"))
    assert made.status_code == 200, made.text
    yield f"{path}/by_hand"
    with create_session() as session:
        session.query(DagRun).filter(DagRun.dag_id == "acme.numbers").delete()


def words(open_page):
    """The word on the page of the dataset, and that in the catalog."""
    listed = shown(open_page("/datasets?name=acme/numbers"))
    overview = shown(open_page(PAGE))
    return (
        overview.lines[1].removeprefix("acme/numbers "),
        health_of(listed, "acme/numbers"),
        overview,
    )


def test_a_run_marked_as_a_success_published_nothing(airflow_server, as_user, open_page, numbers, run):
    assert words(open_page)[:2] == ("stale", "stale")  # paused; the run waits
    failed = airflow_server.patch(f"{run}/taskInstances/publish", json={"new_state": "failed"}, headers=as_user("user"))
    assert failed.status_code == 200, failed.text
    marked = airflow_server.patch(run, json={"state": "success"}, headers=as_user("user"))
    assert marked.status_code == 200, marked.text
    on_page, in_catalog, overview = words(open_page)
    assert (on_page, in_catalog) == ("unpublished", "unpublished")
    assert (
        "Run by_hand has the state success, but published nothing: its publication did not succeed." in overview.lines
    )


def test_a_task_that_publishes_marked_as_a_success(airflow_server, as_user, open_page, numbers, run):
    task = f"{run}/taskInstances/publish"
    done = airflow_server.patch(task, json={"new_state": "success"}, headers=as_user("user"))
    assert done.status_code == 200, done.text
    airflow_server.patch(run, json={"state": "success"}, headers=as_user("user"))
    assert words(open_page)[:2] == ("unpublished", "unpublished")


def test_the_next_run_while_one_is_running(airflow_server, as_user, open_page, numbers, run):
    """While as many runs as may be are running, Airflow 3.1 knows no time of the next, later versions a past one."""
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    dag = "/api/v2/dags/acme.numbers"

    def next_run(time):
        with create_session() as session:
            session.get(DagModel, "acme.numbers").next_dagrun_create_after = time
        _, _, overview = words(open_page)
        listed = shown(open_page("/datasets?name=acme/numbers"))
        assert overview.after("Next run") in listed.lines
        return overview.after("Next run")

    past = datetime(2026, 5, 1, tzinfo=UTC)
    airflow_server.patch(dag, json={"is_paused": False}, headers=as_user("user"))
    try:
        waiting = "after the run that is running now, by the schedule 0 * * * *"
        assert [next_run(None), next_run(past)] == [waiting, waiting]
        assert next_run(past.replace(year=2126)).startswith("2126-05-01 00:00:00 UTC")
        airflow_server.patch(run, json={"state": "success"}, headers=as_user("user"))
        assert next_run(None) == "by the schedule 0 * * * *"
        assert next_run(past).startswith("2026-05-01 00:00:00 UTC")
    finally:
        airflow_server.patch(dag, json={"is_paused": True}, headers=as_user("user"))


def test_a_deferred_task_without_a_triggerer(airflow_server, as_user, open_page, numbers, run):
    from airflow.jobs.job import Job
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import update

    notice = "no triggerer Task poll is deferred, and no triggerer runs to resume it: start one."
    of_dag = {"dag_id": "acme.numbers"}
    with create_session() as session:
        session.execute(update(DagRun).filter_by(**of_dag).values(state="running"))
    assert notice not in words(open_page)[2].lines
    with create_session() as session:
        session.execute(update(TaskInstance).filter_by(**of_dag, task_id="poll").values(state="deferred"))
    assert notice in words(open_page)[2].lines
    triggerer = Job(job_type="TriggererJob", state="running", latest_heartbeat=datetime.now(UTC))
    with create_session() as session:
        session.add(triggerer)
    try:
        assert notice not in words(open_page)[2].lines
    finally:
        with create_session() as session:
            session.delete(triggerer)

"""Airflow's scheduler in the test process. Its executor runs tasks here too, one after the other, with the JVM that
tests share: Airflow's own executors start a process and a JVM for each task."""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Sequence
from uuid import UUID

from airflow.api.common.trigger_dag import trigger_dag
from airflow.assets.manager import asset_manager
from airflow.executors.base_executor import BaseExecutor
from airflow.executors.workloads import ExecuteTask
from airflow.jobs.job import Job, run_job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models.asset import AssetModel
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.trigger import Trigger
from airflow.sdk import Asset
from airflow.sdk.api.datamodels._generated import TaskInstance as TaskToRun
from airflow.sdk.execution_time.supervisor import run_task_in_process
from airflow.triggers.base import BaseTrigger, TriggerEvent
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType
from sqlalchemy import select, update

from tests.airflow_parts import DagBag


class InProcessExecutor(BaseExecutor):
    """Runs tasks of DAGs that are parsed already."""

    def __init__(self, dags: DagBag) -> None:
        super().__init__(parallelism=1)
        self.dags = dags

    def _process_workloads(self, workload_items: Sequence[ExecuteTask]) -> None:
        for workload in workload_items:
            ti = workload.ti
            del self.queued_tasks[ti.key]
            names = ("task_id", "dag_id", "run_id", "try_number", "map_index")
            fields = {name: getattr(ti, name) for name in names}
            task = self.dags.dags[ti.dag_id].get_task(ti.task_id)
            to_run = TaskToRun(id=UUID(str(ti.id)), dag_version_id=UUID(str(ti.dag_version_id)), **fields)
            run_task_in_process(ti=to_run, task=task)
            self.success(ti.key)

    def end(self) -> None:
        """Nothing runs between two heartbeats."""


def schedule(dags: DagBag, paused: Sequence[str] = ()) -> None:
    """Run the scheduler until it has nothing more to do."""
    with create_session() as session:
        session.execute(update(DagModel).values(is_paused=DagModel.dag_id.not_in(set(dags.dags) - set(paused))))
    job = Job()
    # On SQLite a run becomes due with the next whole second.
    runner = SchedulerJobRunner(
        job, num_runs=8, only_idle=True, scheduler_idle_sleep_time=0.2, executors=[InProcessExecutor(dags)]
    )
    run_job(job=job, execute_callable=runner._execute)


def trigger(*dag_ids: str) -> None:
    """Queue a run of each DAG."""
    for dag_id in dag_ids:
        trigger_dag(dag_id, triggered_by=DagRunTriggeredByType.TEST)


def emit(uri: str) -> None:
    """Register an event of an asset, as a task does that publishes it."""
    with create_session() as session:
        asset = session.scalars(select(AssetModel).where(AssetModel.uri == uri)).one()
        asset_manager.register_asset_change(asset=Asset(name=asset.name, uri=asset.uri), session=session)


def fire_triggers() -> None:
    """Wait for the first event of each trigger, and resume its task, as the triggerer does."""
    with create_session() as session:
        for row in session.scalars(select(Trigger)).all():
            trigger = pkgutil.resolve_name(row.classpath)(**row.kwargs)
            event = asyncio.run(_first(trigger))
            assert event.payload["status"] == "changed", event.payload
            Trigger.submit_event(row.id, event, session=session)


async def _first(trigger: BaseTrigger) -> TriggerEvent:
    events = trigger.run()
    try:
        return await asyncio.wait_for(anext(events), 30)
    finally:
        await events.aclose()


def runs(*dag_ids: str) -> list[tuple[str, str, dict[str, str]]]:
    """The runs of DAGs in the order of their start: DAG, type, and states of the tasks."""
    with create_session() as session:
        found = session.scalars(select(DagRun).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.id))
        return [
            (
                run.dag_id,
                str(run.run_type),
                {ti.task_id: str(ti.state) for ti in run.get_task_instances(session=session)},
            )
            for run in found
        ]

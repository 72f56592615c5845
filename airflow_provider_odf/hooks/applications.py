"""Lineage of the Spark applications of a task, sent as Airflow's OpenLineage provider sends that of the task."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import EngineLost

if TYPE_CHECKING:
    from airflow.sdk import Context
    from openlineage.client.event_v2 import RunEvent
    from openlineage.client.facet_v2 import RunFacet

    from airflow_provider_odf.lineage.applications import ApplicationRun, Parents
    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.protocol import Engine, Request, Success
    from airflow_provider_odf.runner import Runner
    from airflow_provider_odf.runner.runner import OnProgress

log = logging.getLogger(__name__)


class ApplicationLineage:
    """Reports the applications of one task, unless Spark's own OpenLineage listener does.

    ``datasets`` returns the inputs and outputs of the task, ``send`` sends an event.
    """

    def __init__(
        self, parents: Parents, datasets: Callable[[], TaskLineage | None], send: Callable[[RunEvent], None]
    ) -> None:
        self._parents = parents
        self._datasets = datasets
        self._send = send
        self._lost: set[str] = set()
        self.task_facets: Mapping[str, RunFacet] = {}
        """Facets of the task's run: the engine of its newest request."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of Spark that make the listener report applications as children of the task."""
        return self._parents.settings

    def submit(self, runner: Runner, request: Request, on_progress: OnProgress | None) -> Future[Success]:
        """Send a request; the future has its result once the end is reported."""
        run = self._run(request)
        result: Future[Success] = Future()

        def on_engine(engine: Engine) -> None:
            self._send_all(run.start(engine))

        def on_end(answer: Future[Success]) -> None:
            error = answer.exception()
            outcome = error or answer.result()
            self._send_all(self._end(run, outcome))
            self.task_facets = run.task_facets(outcome) or self.task_facets
            result.set_exception(error) if error else result.set_result(answer.result())

        result.set_running_or_notify_cancel()
        runner.submit(request, on_progress, on_engine).add_done_callback(on_end)
        return result

    def _send_all(self, events: list[RunEvent]) -> None:
        for event in events:
            try:
                self._send(event)
            except Exception as e:  # Lineage must not fail a task.
                log.warning("lineage of a Spark application was not sent: %s", e)

    def _run(self, request: Request) -> ApplicationRun:
        from airflow_provider_odf.lineage.applications import ApplicationRun
        from airflow_provider_odf.lineage.events import TaskLineage

        try:
            datasets = self._datasets()
        except Exception as e:  # Lineage must not fail a task.
            log.warning("lineage of a Spark application has no datasets: %s", e)
            datasets = None
        return ApplicationRun(request, self._parents, datasets or TaskLineage())

    def _end(self, run: ApplicationRun, outcome: Success | BaseException) -> list[RunEvent]:
        reported = run.reported_run
        if reported is None:
            return run.end(outcome)
        if not isinstance(outcome, EngineLost) or outcome.was_closed or reported in ("", *self._lost):
            return []
        self._lost.add(reported)
        return [run.lost(reported, outcome)]


def of_task(context: Context, datasets: Callable[[], TaskLineage | None]) -> ApplicationLineage | None:
    """Return the lineage of a task's applications, or None if Airflow sends none for the task."""
    parents = _parents(context, "lineage of Spark applications is not sent")
    if parents is None:
        return None
    from airflow.providers.openlineage.api import emit

    return ApplicationLineage(parents, datasets, emit)


def run_id_of(context: Context) -> str | None:
    """Return the id of a task's run in lineage, or None if Airflow sends none for the task."""
    parents = _parents(context, "the run has no id in lineage") if "task" in context else None
    return parents.parent.id if parents is not None else None


def _parents(context: Context, problem: str) -> Parents | None:
    """Return the names of a task's run and its root. An error is logged as a ``problem``: it must not fail the task."""
    from airflow.providers.openlineage import conf

    if "ti" not in context or conf.is_disabled():
        return None
    try:
        return _named_parents(context)
    except Exception as e:
        log.warning("%s: %s", problem, e)
        return None


def _named_parents(context: Context) -> Parents | None:
    from airflow.providers.openlineage import conf
    from airflow.providers.openlineage.plugins import macros
    from airflow.providers.openlineage.utils.emission_policy import resolve_task_emission_policy

    from airflow_provider_odf.lineage.applications import Parents, RunName

    ti = context["ti"]
    policy = resolve_task_emission_policy(operator=context["task"], dag_id=ti.dag_id, task_id=ti.task_id)
    if not policy.emit:
        return None
    return Parents(
        RunName(conf.namespace(), macros.lineage_job_name(ti), macros.lineage_run_id(ti)),
        RunName(
            macros.lineage_root_job_namespace(ti), macros.lineage_root_job_name(ti), macros.lineage_root_run_id(ti)
        ),
    )

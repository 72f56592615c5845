"""Lineage events of Spark applications: each is a run of its own below the task that asked for it.

An application has one action, which has the datasets. Both have a start, and one end: COMPLETE, FAIL, or ABORT where
the task ended them. The names are those that Spark's OpenLineage listener would report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from airflow_provider_odf import protocol
from airflow_provider_odf.errors import EngineLost
from airflow_provider_odf.lineage import jobs
from airflow_provider_odf.lineage.dataset import Counts
from airflow_provider_odf.lineage.events import TaskLineage
from airflow_provider_odf.lineage.facets import output_statistics, sql
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from openlineage.client.event_v2 import OutputDataset, RunEvent
    from openlineage.client.facet_v2 import RunFacet

State: TypeAlias = Literal["START", "COMPLETE", "FAIL", "ABORT"]

PRODUCER = f"https://pypi.org/project/airflow-provider-odf/{version('airflow-provider-odf')}"


@dataclass(frozen=True)
class RunName:
    """A run in lineage: its job's namespace and name, and its id."""

    namespace: str
    job: str
    id: str


@dataclass(frozen=True)
class Parents:
    """The run above a run, and the one above all."""

    parent: RunName
    root: RunName

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of Spark's OpenLineage listener that make an application a child of the parent."""
        return {
            "spark.openlineage.namespace": self.parent.namespace,
            "spark.openlineage.parentJobNamespace": self.parent.namespace,
            "spark.openlineage.parentJobName": self.parent.job,
            "spark.openlineage.parentRunId": self.parent.id,
            "spark.openlineage.rootParentJobNamespace": self.root.namespace,
            "spark.openlineage.rootParentJobName": self.root.job,
            "spark.openlineage.rootParentRunId": self.root.id,
        }


class ApplicationRun:
    """The run of an application that answers one request, and that of its action."""

    def __init__(self, request: protocol.Request, parents: Parents, lineage: TaskLineage) -> None:
        from openlineage.client.uuid import generate_new_uuid

        namespace = parents.parent.namespace
        if _is_analysis(request):
            lineage = lineage._replace(outputs=())
        self._request = request
        self._parents = parents
        self._lineage = lineage
        self._engine = protocol.Engine(jobs.of_request(request), "")
        self._run = RunName(namespace, jobs.of_request(request), str(generate_new_uuid()))
        self._action = RunName(namespace, jobs.action(request), str(generate_new_uuid()))

    def start(self, engine: protocol.Engine | None) -> list[RunEvent]:
        """Return the events of the start; ``engine`` is None if the application died before it began to work."""
        self._engine = engine or self._engine
        return [self._of_application("START"), self._of_action("START")]

    def end(self, outcome: protocol.Success | BaseException) -> list[RunEvent]:
        """Return the events of the end."""
        if isinstance(outcome, BaseException):
            state: State = "ABORT" if isinstance(outcome, EngineLost) and outcome.was_closed else "FAIL"
            error = _error(outcome)
            return [self._of_action(state, error), self._of_application(state, error)]
        return [self._of_action("COMPLETE", counts=counts(outcome)), self._of_application("COMPLETE")]

    def lost(self, run_id: str, error: BaseException) -> RunEvent:
        """Return the failure of an application whose listener reported the start and was killed with it."""
        run = RunName(self._run.namespace, jobs.normalize(self._engine.application), run_id)
        return event("FAIL", run, self._parents, "APPLICATION", facets=_error(error))

    def _of_application(self, state: State, error: Mapping[str, RunFacet] | None = None) -> RunEvent:
        facets = {**_processing_engine(self._engine.version), **(error or {})}
        return event(state, self._run, self._parents, "APPLICATION", facets=facets)

    def _of_action(
        self, state: State, error: Mapping[str, RunFacet] | None = None, counts: Counts | None = None
    ) -> RunEvent:
        facets = {**_processing_engine(self._engine.version), **(error or {})}
        lineage = self._lineage
        if counts is not None:
            lineage = lineage._replace(outputs=tuple(_counted(output, counts) for output in lineage.outputs))
        query = getattr(self._request, "transform", None) or getattr(self._request, "preprocess", None)
        lineage = lineage._replace(job_facets={**lineage.job_facets, **sql(query)})
        parents = Parents(self._run, self._parents.root)
        return event(state, self._action, parents, "SQL_JOB" if query else "JOB", lineage, facets)


def event(
    state: State,
    run: RunName,
    parents: Parents,
    kind: str,
    lineage: TaskLineage | None = None,
    facets: Mapping[str, RunFacet] | None = None,
) -> RunEvent:
    """Return an event of a run that has just happened."""
    from openlineage.client import event_v2
    from openlineage.client.facet_v2 import job_type_job

    lineage = lineage or TaskLineage()
    job_type = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="SPARK", jobType=kind)
    return event_v2.RunEvent(
        eventType=event_v2.RunState[state],
        eventTime=datetime.now(timezone.utc).isoformat(),
        run=event_v2.Run(run.id, {"parent": _parent(parents), **(facets or {})}),
        job=event_v2.Job(run.namespace, run.job, {"jobType": job_type, **lineage.job_facets}),
        producer=PRODUCER,
        inputs=list(lineage.inputs),
        outputs=list(lineage.outputs),
    )


def counts(success: protocol.Success) -> Counts | None:
    """Return the size of what an engine wrote to a dataset; None if it answered without writing to one."""
    if isinstance(success, protocol.MergeSuccess):
        slices = [slice for slice in success.slices if slice is not None]
    elif isinstance(success, protocol.TransformSuccess):
        slices = [success.slice] if success.slice is not None else []
    else:
        return None
    records = sum(slice.offset_interval.end - slice.offset_interval.start + 1 for slice in slices)
    return Counts(records, sum(slice.size for slice in slices), len(slices))


def _is_analysis(request: protocol.Request) -> bool:
    """Return whether an engine only analyzes the queries of a request, and writes nothing."""
    if isinstance(request, protocol.TransformRequest):
        return not request.new_data_path
    return isinstance(request, protocol.MergeRequest) and not request.inputs


def _counted(output: OutputDataset, counts: Counts) -> OutputDataset:
    import attr

    return attr.evolve(output, outputFacets={"outputStatistics": output_statistics(counts)})


def _parent(parents: Parents) -> Any:
    from openlineage.client.facet_v2 import parent_run as facet

    def names(run: RunName) -> dict[str, Any]:
        return {"namespace": run.namespace, "name": run.job}

    root = facet.Root(run=facet.RootRun(parents.root.id), job=facet.RootJob(**names(parents.root)))
    parent = parents.parent
    return facet.ParentRunFacet(run=facet.Run(parent.id), job=facet.Job(**names(parent)), root=root)


def _processing_engine(spark: str) -> dict[str, RunFacet]:
    from openlineage.client.facet_v2 import processing_engine_run as facet

    if not spark:
        return {}
    own = version("airflow-provider-odf")
    return {"processing_engine": facet.ProcessingEngineRunFacet(spark, "spark", own)}


def _error(error: BaseException) -> dict[str, RunFacet]:
    from openlineage.client.facet_v2 import error_message_run as facet

    return {"errorMessage": facet.ErrorMessageRunFacet(redact(str(error)), "PYTHON")}

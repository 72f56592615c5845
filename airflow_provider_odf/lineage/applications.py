"""Lineage events of Spark applications: each is a run of its own below the task that asked for it.

An application begins when Spark starts for a request, or begins to work on it. What is done without Spark has none. An
application has one action, which has the datasets. Both have a start, and one end: COMPLETE, FAIL, or ABORT where the
task ended them. The names are those that Spark's OpenLineage listener would report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal, TypeAlias

import attr
from openlineage.client import facet_v2 as ol
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet
from openlineage.client.uuid import generate_new_uuid

from airflow_provider_odf import protocol
from airflow_provider_odf.errors import EngineLost
from airflow_provider_odf.lineage import jobs
from airflow_provider_odf.lineage.dataset import Counts
from airflow_provider_odf.lineage.events import TaskLineage
from airflow_provider_odf.lineage.facets import output_statistics, sql
from airflow_provider_odf.redaction import redact
from airflow_provider_odf.version import __version__

State: TypeAlias = Literal["START", "COMPLETE", "FAIL", "ABORT"]

PRODUCER = f"https://pypi.org/project/airflow-provider-odf/{__version__}"


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
        namespace = parents.parent.namespace
        self._request = request
        self._parents = parents
        self._lineage = lineage._replace(outputs=()) if _is_analysis(request) else lineage
        self._engine: protocol.Engine | None = None
        self._begun = ""
        self._run = RunName(namespace, jobs.of_request(request), str(generate_new_uuid()))
        self._action = RunName(namespace, jobs.action(request), str(generate_new_uuid()))

    @property
    def reported_run(self) -> str | None:
        """The id of the application's run if Spark's own listener reports it, else None."""
        return self._engine.reported_run if self._engine is not None else None

    def start(self, engine: protocol.Engine) -> list[RunEvent]:
        """Return the events of the start. There are none while Spark starts, since its listener may report them."""
        self._engine, self._begun = engine, self._begun or _now()
        return self._starts() if engine.version and engine.reported_run is None else []

    def end(self, outcome: protocol.Success | BaseException) -> list[RunEvent]:
        """Return the events of the end, after those of the start if Spark died while it started."""
        if self._engine is None:
            return []
        return [*([] if self._engine.version else self._starts()), *self._ends(outcome)]

    def task_facets(self, outcome: protocol.Success | BaseException) -> dict[str, RunFacet]:
        """Return facets of the task's run: what worked on the rows, Spark or, without it, Arrow."""
        if self._engine is None and isinstance(outcome, BaseException):
            return {}
        engine = ("spark", self._engine.version) if self._engine is not None else ("arrow", version("pyarrow"))
        return _processing_engine(*engine, facet_name="odf_engine")

    def _starts(self) -> list[RunEvent]:
        return [self._of_application("START"), self._of_action("START")]

    def _ends(self, outcome: protocol.Success | BaseException) -> list[RunEvent]:
        if isinstance(outcome, BaseException):
            state: State = "ABORT" if isinstance(outcome, EngineLost) and outcome.was_closed else "FAIL"
            error = _error(outcome)
            return [self._of_action(state, error), self._of_application(state, error)]
        return [self._of_action("COMPLETE", counts=counts(outcome)), self._of_application("COMPLETE")]

    def lost(self, run_id: str, error: BaseException) -> RunEvent:
        """Return the failure of an application whose listener reported the start and was killed with it."""
        application = self._engine.application if self._engine is not None else self._run.job
        run = RunName(self._run.namespace, jobs.normalize(application), run_id)
        return event("FAIL", run, self._parents, "APPLICATION", TaskLineage(), _error(error))

    def _of_application(self, state: State, error: Mapping[str, RunFacet] | None = None) -> RunEvent:
        return self._event(state, self._run, self._parents, "APPLICATION", TaskLineage(), error)

    def _of_action(
        self, state: State, error: Mapping[str, RunFacet] | None = None, counts: Counts | None = None
    ) -> RunEvent:
        lineage = self._lineage
        if counts is not None:
            written = output_statistics(counts)
            lineage = lineage._replace(outputs=tuple(attr.evolve(o, outputFacets=written) for o in lineage.outputs))
        query = getattr(self._request, "transform", None) or getattr(self._request, "preprocess", None)
        lineage = lineage._replace(job_facets={**lineage.job_facets, **sql(query)})
        parents = Parents(self._run, self._parents.root)
        return self._event(state, self._action, parents, "SQL_JOB" if query else "JOB", lineage, error)

    def _event(
        self,
        state: State,
        run: RunName,
        parents: Parents,
        kind: str,
        lineage: TaskLineage,
        error: Mapping[str, RunFacet] | None,
    ) -> RunEvent:
        spark = self._engine.version if self._engine is not None else ""
        facets = {**_processing_engine("spark", spark), **(error or {})}
        return event(state, run, parents, kind, lineage, facets, self._begun if state == "START" else None)


def event(
    state: State,
    run: RunName,
    parents: Parents,
    kind: str,
    lineage: TaskLineage,
    facets: Mapping[str, RunFacet],
    time: str | None = None,
) -> RunEvent:
    """Return an event of a run; it has just happened, unless it has a time."""
    job_type = ol.job_type_job.JobTypeJobFacet(processingType="BATCH", integration="SPARK", jobType=kind)
    return RunEvent(
        eventType=RunState[state],
        eventTime=time or _now(),
        run=Run(run.id, {"parent": _parent(parents), **facets}),
        job=Job(run.namespace, run.job, {"jobType": job_type, **lineage.job_facets}),
        producer=PRODUCER,
        inputs=list(lineage.inputs),
        outputs=list(lineage.outputs),
    )


def counts(success: protocol.Success) -> Counts | None:
    """Return the size of what an engine wrote to a dataset; None if it answered without writing to one."""
    if isinstance(success, protocol.MergeSuccess):
        slices = success.new_slices
    elif isinstance(success, protocol.TransformSuccess):
        slices = (success.slice,) if success.slice is not None else ()
    else:
        return None
    records = sum(slice.offset_interval.end - slice.offset_interval.start + 1 for slice in slices)
    return Counts(records, sum(slice.size for slice in slices), len(slices))


def _is_analysis(request: protocol.Request) -> bool:
    if isinstance(request, protocol.TransformRequest):
        return not request.new_data_path
    return isinstance(request, protocol.MergeRequest) and not request.inputs


def _parent(parents: Parents) -> RunFacet:
    facet, parent, root = ol.parent_run, parents.parent, parents.root
    above = facet.Root(run=facet.RootRun(root.id), job=facet.RootJob(namespace=root.namespace, name=root.job))
    job = facet.Job(namespace=parent.namespace, name=parent.job)
    return facet.ParentRunFacet(run=facet.Run(parent.id), job=job, root=above)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _processing_engine(name: str, number: str, facet_name: str = "processing_engine") -> dict[str, RunFacet]:
    """Return the facet of an engine of a version; none without a version."""
    return {facet_name: ol.processing_engine_run.ProcessingEngineRunFacet(number, name, __version__)} if number else {}


def _error(error: BaseException) -> dict[str, RunFacet]:
    return {"errorMessage": ol.error_message_run.ErrorMessageRunFacet(redact(str(error)), "PYTHON")}

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
        return event("FAIL", run, self._parents, "APPLICATION", facets=_error(error))

    def _of_application(self, state: State, error: Mapping[str, RunFacet] | None = None) -> RunEvent:
        return self._event(state, self._run, self._parents, "APPLICATION", error=error)

    def _of_action(
        self, state: State, error: Mapping[str, RunFacet] | None = None, counts: Counts | None = None
    ) -> RunEvent:
        lineage = self._lineage
        if counts is not None:
            lineage = lineage._replace(outputs=tuple(_counted(output, counts) for output in lineage.outputs))
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
        lineage: TaskLineage | None = None,
        error: Mapping[str, RunFacet] | None = None,
    ) -> RunEvent:
        spark = self._engine.version if self._engine is not None else ""
        facets = {**_processing_engine("spark", spark), **(error or {})}
        return event(state, run, parents, kind, lineage, facets, self._begun if state == "START" else None)


def event(
    state: State,
    run: RunName,
    parents: Parents,
    kind: str,
    lineage: TaskLineage | None = None,
    facets: Mapping[str, RunFacet] | None = None,
    time: str | None = None,
) -> RunEvent:
    """Return an event of a run; it has just happened, unless it has a time."""
    from openlineage.client import event_v2
    from openlineage.client.facet_v2 import job_type_job

    lineage = lineage or TaskLineage()
    job_type = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="SPARK", jobType=kind)
    return event_v2.RunEvent(
        eventType=event_v2.RunState[state],
        eventTime=time or _now(),
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


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _processing_engine(name: str, number: str, facet_name: str = "processing_engine") -> dict[str, RunFacet]:
    """Return the facet of an engine of a version; none without a version."""
    from openlineage.client.facet_v2 import processing_engine_run as facet

    own = version("airflow-provider-odf")
    return {facet_name: facet.ProcessingEngineRunFacet(number, name, own)} if number else {}


def _error(error: BaseException) -> dict[str, RunFacet]:
    from openlineage.client.facet_v2 import error_message_run as facet

    return {"errorMessage": facet.ErrorMessageRunFacet(redact(str(error)), "PYTHON")}

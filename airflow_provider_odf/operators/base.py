"""Base of the operators: the configuration of a task's cycle, and Airflow's exceptions for errors of the package."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import BaseOperator, XComArg

from airflow_provider_odf import settings
from airflow_provider_odf.closed_files import closed_to_others
from airflow_provider_odf.error_conversion import missing_package, not_installed, storage_error
from airflow_provider_odf.errors import CandidateRejected, DatasetGone, InternalError, InvalidInput, OdfError
from airflow_provider_odf.hooks.applications import of_task
from airflow_provider_odf.hooks.environment import TaskEnvironment
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.hooks.runners import TaskRunner
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.operators.lineage import LineageMixin, operator_lineage
from airflow_provider_odf.operators.links import DatasetLink
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import BaseOperatorLink, Context
    from openlineage.client.facet_v2 import RunFacet

    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.cycle import Cycle, States
    from airflow_provider_odf.cycle.messages import Candidate, UpToDate
    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.manifest.names import DatasetAlias
    from airflow_provider_odf.operators.lineage_datasets import Datasets

log = logging.getLogger(__name__)

DEFAULT_OWNER = "airflow"
"""Owner of tasks that name none."""

_STOPPED = (
    "the task was stopped while it ran: somebody set its state or that of its run, its time was over, or its worker "
    "was shut down. To run it again, clear it"
)


class OdfOperator(LineageMixin, BaseOperator):
    """Base of the operators on one dataset.

    :param dataset: alias of the dataset: ``name`` or ``account/name``. (templated)
    :param manifest: path of the file with the dataset's manifest. (templated)
    :param contract: path of a data contract, relative to the manifest, in place of ``NAME.datacontract.yaml`` next to
        it. (templated)
    :param store: path or URI of the store, in place of the connection's. (templated)
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param spark_conn_id: connection of type ``spark`` or ``spark_connect``; without one, and without ``[odf]
        spark_conn_id``, Spark runs in a child process of the task.
    """

    template_fields: Sequence[str] = ("dataset", "manifest", "store", "contract")
    operator_extra_links: Sequence[BaseOperatorLink] = (DatasetLink(),)
    ui_color = "#d7ecf2"

    def __init__(
        self,
        *,
        dataset: str | None = None,
        manifest: str | None = None,
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        spark_conn_id: str | None = None,
        contract: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dataset = dataset
        self.manifest = manifest
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.spark_conn_id = spark_conn_id
        self.contract = contract
        self.shown: Candidate | None = None
        self.is_skipped = False
        self.is_stopped = False
        self.has_report = False

    @cached_property
    def runner(self) -> TaskRunner:
        """The runner of the task; it is closed at the end, and when the task is killed."""
        return TaskRunner(self.spark_conn_id, lambda: self.odf.exchange)

    @cached_property
    def odf(self) -> Store:
        """The store."""
        return self._hook.get_conn()

    @property
    def _hook(self) -> OdfHook:
        return OdfHook(self.odf_conn_id, store=self.store)

    @cached_property
    def dataset_manifest(self) -> Manifest | None:
        """The manifest of the dataset; None if the task names no manifest.

        :raises ManifestInvalid: the file is not valid, or uses forbidden steps.
        """
        from airflow_provider_odf.settings.manifests import load_one

        return load_one(self.manifest, self.dataset) if self.manifest is not None else None

    @cached_property
    def dataset_name(self) -> str | None:
        """The dataset of the task, which XComs of other tasks must match; None if the task names no dataset or
        manifest."""
        if self.dataset is None and self.dataset_manifest is not None:
            return str(self.dataset_manifest.snapshot.alias)
        return self.dataset

    @cached_property
    def cycle(self) -> Cycle:
        """The configuration for steps of the dataset's cycle.

        :raises InvalidInput: the task names neither dataset nor manifest, or the manifest or a setting is not valid.
        """
        if self.dataset_name is None:
            raise InvalidInput(f"{type(self).__name__} needs dataset= or manifest=")
        return self.cycle_of(self.dataset_name)

    def cycle_of(self, dataset: str) -> Cycle:
        """Return the configuration for steps of a dataset's cycle."""
        from airflow_provider_odf.cycle.cycle import Cycle, settings_of
        from airflow_provider_odf.instant import Instant

        config, manifest = settings.read(), self.dataset_manifest
        own = settings_of(manifest)
        return Cycle(
            self.odf,
            dataset,
            self.runner,
            Instant.now(),
            manifest,
            TaskEnvironment.of(manifest.file, str(manifest.snapshot.name)) if manifest is not None else {},
            config.options,
            config.manifest_version,
            self.log.info,
            self.contract,
            own.spark or config.spark,
            own.slice_records or config.slice_records,
            states=self.states,
        )

    @cached_property
    def states(self) -> States:
        """States of chains that the task has replayed, for its steps and its lineage."""
        from airflow_provider_odf.cycle.cycle import States

        return States()

    @cached_property
    def datasets(self) -> Datasets:
        """Datasets in the lineage of the task."""
        from airflow_provider_odf.contract.binding import Location, contract_location
        from airflow_provider_odf.evolution.inputs import linked
        from airflow_provider_odf.operators.lineage_datasets import Datasets

        manifest = self.dataset_manifest
        if manifest is not None:
            contract = contract_location(manifest, self.contract)
        else:
            contract = Location(Path(self.contract)) if self.contract else None
        dag = self.get_dag()
        owner = dag.owner if self.owner == DEFAULT_OWNER and dag is not None else self.owner
        owners = tuple(filter(None, (name.strip() for name in owner.split(","))))
        return Datasets(linked(self.odf, manifest), self.dataset_name, contract, owners, self.states)

    def _do_render_template_fields(self, *args: Any, **kwargs: Any) -> None:
        """Render the templates, and open the store.

        Airflow then asks for the lineage of the start in a forked process, which must not look up a connection: it
        shares the task's channel to the supervisor, and under ``dag.test`` waits for threads that it does not have.
        Of a mapped task, Airflow calls this method alone, not the public one.
        """
        super()._do_render_template_fields(*args, **kwargs)
        with suppress(Exception):  # `execute` raises it
            _ = self.odf

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        """Return the lineage of the start; it names no datasets if the store cannot be opened."""
        return super().get_openlineage_facets_on_start() if "odf" in self.__dict__ else operator_lineage(None)

    def execute(self, context: Context) -> Any:
        """Do the task's work.

        :raises AirflowFailException: the error is not retryable.
        :raises AirflowException: the error is retryable.
        """
        from airflow_provider_odf.cycle.messages import Candidate

        self.runner.applications = of_task(context, self.application_lineage)
        self._notices: dict[str, None] = {}
        try:
            with airflow_errors(), closed_to_others(), self.runner:
                self._check_published(context)
                try:
                    return self.run_step(context)
                except CandidateRejected as e:
                    if isinstance(e.candidate, Candidate):
                        self.show(e.candidate)
                    self.warn(e.notices)
                    raise
                except OdfError as e:
                    if not self.is_stopped:
                        raise
                    raise InternalError(_STOPPED) from e
        finally:
            self._pass_notices(context)

    def from_upstream(self, argument: str) -> Any:
        """Return the XCom of another task that an argument has.

        :raises InvalidInput: it is gone, or that task left none.
        """
        xcom = getattr(self, argument)
        if xcom is None:
            dag = self.get_dag()
            declared = getattr(dag.get_task(self.task_id), argument, None) if dag is not None else None
            named = {operator.task_id for operator, _ in XComArg.iter_xcom_references(declared)}
            tasks = " and ".join(sorted(named or self.upstream_task_ids))
            made_by = f"task {tasks} left none, or it was deleted" if tasks else "it was deleted"
            # A merge that ran has used up its input: only the task that fetched it makes it again.
            has_earlier = dag is not None and any(dag.get_task(task_id).upstream_task_ids for task_id in named)
            advice = f"{tasks or 'the task that makes it'}{' and the tasks before it' if has_earlier else ''}"
            raise InvalidInput(f"XCom: {argument} has none: {made_by}; clear {advice}")
        return xcom

    def warn(self, notices: Iterable[str]) -> None:
        """Log notices, and show them on the pages of the dataset."""
        for notice in notices:
            self.log.warning(notice)
            self._notices[redact(notice)] = None

    def _pass_notices(self, context: Context) -> None:
        if self._notices:
            from airflow_provider_odf.cycle.xcom import NOTICES, pass_notices

            with suppress(Exception):  # A task does not fail because of what pages show.
                context["ti"].xcom_push(NOTICES, pass_notices(list(self._notices)))

    def _check_published(self, context: Context) -> None:
        if self.inlets and self.dataset_manifest is not None and "inlet_events" in context:
            alias = self.dataset_manifest.snapshot.alias
            check_published(self._hook, self.odf, alias, self.inlets, context["inlet_events"])

    def run_step(self, context: Context) -> Any:
        """Do the task's work and return its XCom.

        :raises OdfError: it failed.
        """
        raise NotImplementedError

    def on_kill(self) -> None:
        """Stop Spark and the programs of Pipe and Container steps."""
        from airflow_provider_odf.source.program import kill_all

        self.is_stopped = True
        kill_all()
        self.runner.close()

    def task_facets(self) -> Mapping[str, RunFacet]:
        applications = self.runner.applications
        return applications.task_facets if applications is not None else {}

    def application_lineage(self) -> TaskLineage | None:
        """Return the datasets of the task's Spark applications."""
        return self.planned_lineage()

    def show(self, candidate: Candidate) -> None:
        """Make the task's extra links lead to a candidate, and to its report if there is one."""
        from airflow_provider_odf.cycle.candidates import load_record

        self.shown = candidate
        self.has_report = load_record(self.odf.dataset(candidate.dataset), candidate.candidate) is not None

    def skip(self, result: UpToDate) -> NoReturn:
        """Skip the task and its downstream tasks, since there is nothing to do.

        :raises AirflowSkipException: always.
        """
        self.is_skipped = True
        self.warn(result.notices)
        reason = f"{self.dataset or self.manifest}: {result.reason}"
        self.log.info(reason)
        raise AirflowSkipException(reason)


class ReadingOperator(OdfOperator):
    """Base of the operators that read a dataset up to a block, ``_head``, and write none."""

    _head: str | None = None

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        if self._head is None:
            return None
        return events.read(self.datasets.at(self.cycle.dataset, self._head), self._head)

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        return events.read(self.datasets.now(self.dataset_name)[0], None) if self.dataset_name is not None else None


@contextmanager
def airflow_errors() -> Iterator[None]:
    """Raise errors of the package as exceptions of Airflow, so that only retryable errors are retried.

    :raises AirflowFailException: the error is not retryable.
    :raises AirflowException: the error is retryable.
    """
    try:
        yield
    except OdfError as e:
        if isinstance(e, InternalError) and e.backtrace:
            log.error("Engine log:\n%s", redact(e.backtrace))
        kind = AirflowException if e.is_transient else AirflowFailException
        raise kind(redact(str(e))) from None
    except OSError as e:
        raise AirflowException(str(storage_error(e))) from e
    except ModuleNotFoundError as e:
        if (package := missing_package(e)) is None:
            raise
        raise AirflowFailException(str(not_installed(package))) from e


def check_published(hook: OdfHook, store: Store, alias: DatasetAlias, inlets: Sequence[Any], inlet_events: Any) -> None:
    """Compare the store with the events of the dataset's asset, if it is an inlet of the task.

    The registry of the store notices a deleted dataset, but not that the whole store is gone.

    :raises DatasetGone: the dataset was published, and is not in the store.
    """
    if store.get(alias) is not None:
        return
    uri = hook.dataset_uri(str(alias))
    entry = store.registry.get(alias)
    for inlet in inlets:
        if getattr(inlet, "uri", None) != uri:
            continue
        events = inlet_events[inlet]
        if len(events) and (entry is None or Instant.from_datetime(events[-1].timestamp) > entry.since):
            location, published = store.folder(alias).location(), events[-1].timestamp
            message = f"{location}: dataset {alias} was published at {published}, but no longer exists"
            raise DatasetGone(f"{message}: mount the store or restore it, or {store.restart_advice(alias)}")

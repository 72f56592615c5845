"""What the operators share: where datasets lie, where Spark runs, and how errors become Airflow's."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from airflow_provider_odf import settings
from airflow_provider_odf.errors import CandidateRejected, InternalError, ManifestInvalid, OdfError
from airflow_provider_odf.failures import storage_error
from airflow_provider_odf.hooks.environment import TaskEnvironment
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.operators.gone import check_published
from airflow_provider_odf.operators.lineage import LineageMixin
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Candidate, Polled, UpToDate
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Contract, MergeRequest
    from airflow_provider_odf.runner import Runner

log = logging.getLogger(__name__)


class DatasetMixin:
    """Store, manifest and contract of a task's dataset, from the task's own fields."""

    dataset: str | None
    manifest: str | None
    store: str | None
    odf_conn_id: str

    @cached_property
    def odf(self) -> Store:
        """The store."""
        return OdfHook(self.odf_conn_id, store=self.store).get_conn()

    @cached_property
    def expected_dataset(self) -> str | None:
        """The dataset that XComs of other tasks must be of; None where the task names neither dataset nor manifest."""
        return str(self.load_manifest().snapshot.alias) if self.dataset is None and self.manifest else self.dataset

    def load_manifest(self) -> Manifest:
        """The dataset's manifest.

        :raises ManifestInvalid: the file is not valid, or uses steps that are switched off.
        """
        from airflow_provider_odf.settings.manifests import load_one

        return load_one(str(self.manifest), self.dataset)

    def load_contract(self) -> Contract | None:
        """The data contract beside the manifest, if there is one.

        :raises ManifestInvalid: it is not valid, or asks for columns that the manifest cannot give.
        """
        from airflow_provider_odf.contract.binding import bind
        from airflow_provider_odf.contract.columns import problems

        manifest = self.load_manifest()
        contract = bind(manifest.file, str(manifest.snapshot.name))
        if found := sorted(problems(manifest)):
            raise ManifestInvalid(found)
        return contract


class OdfOperator(DatasetMixin, LineageMixin, BaseOperator):
    """Base of the operators on one dataset.

    :param dataset: alias of the dataset: ``name`` or ``account/name``. (templated)
    :param manifest: path of the file with the dataset's manifest. (templated)
    :param store: path or URI of the store, in place of the connection's. (templated)
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param spark_conn_id: connection of type ``spark``; without one, and without ``[odf] spark_conn_id``, Spark runs in
        a child process of the task.
    """

    template_fields: Sequence[str] = ("dataset", "manifest", "store")
    operator_extra_links: Sequence[BaseOperatorLink] = ()
    ui_color = "#d7ecf2"

    def __init__(
        self,
        *,
        dataset: str | None = None,
        manifest: str | None = None,
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        spark_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dataset = dataset
        self.manifest = manifest
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.spark_conn_id = spark_conn_id
        self.shown: Candidate | None = None
        self.has_report = False
        self._runner: Runner | None = None

    def execute(self, context: Context) -> Any:
        """Do the task's work.

        :raises AirflowFailException: the same would fail again.
        :raises AirflowException: trying again may help.
        """
        with airflow_errors():
            check_published(self, context)
            try:
                return self.run_step(context)
            except CandidateRejected as e:
                if e.candidate is not None:
                    self.show(e.candidate)
                for notice in e.notices:
                    self.log.warning(notice)
                raise

    def run_step(self, context: Context) -> Any:
        """The task's work.

        :raises OdfError: it cannot be done.
        """
        raise NotImplementedError

    def on_kill(self) -> None:
        """Stop Spark, and what Pipe and Container steps are running."""
        from airflow_provider_odf.source.program import kill_all

        kill_all()
        if self._runner is not None:
            self._runner.close()

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """Where Spark runs; it starts with the first request, is stopped at the end, and when the task is killed."""
        from airflow_provider_odf.hooks.runner import open_runner

        if self._runner is not None:
            yield self._runner
            return
        with open_runner(self.spark_conn_id or settings.read().spark_conn_id) as runner:
            self._runner = runner
            try:
                yield runner
            finally:
                self._runner = None

    def ask(self, request: MergeRequest) -> object:
        """Return the engine's success for a request; Spark is started for it if it does not run yet."""
        with self.runner() as runner:
            return runner.submit(request, self.progress).result()

    def show(self, candidate: Candidate) -> None:
        """Make the task's extra links lead to a candidate, and to its report if there is one."""
        from airflow_provider_odf.cycle.rejected import load

        self.shown = candidate
        self.has_report = load(self.odf.dataset(candidate.dataset), candidate.candidate) is not None

    def progress(self, message: str) -> None:
        self.log.info(message)

    def skip(self, reason: str) -> NoReturn:
        """End the task as skipped; what depends on it is skipped too.

        :raises AirflowSkipException: always.
        """
        self.log.info(reason)
        raise AirflowSkipException(reason)


@contextmanager
def airflow_errors() -> Iterator[None]:
    """Errors of the package as Airflow's, so that only what may help is retried.

    :raises AirflowFailException: the same would fail again.
    :raises AirflowException: trying again may help.
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


def poll_source(task: OdfOperator, manifest: Manifest, contract: Contract | None) -> Polled | UpToDate:
    """What is new in a dataset's source now.

    :raises OdfError: the source cannot be had, or the dataset cannot be made to say what its manifest says.
    """
    from airflow_provider_odf.cycle.poll import poll
    from airflow_provider_odf.instant import Instant

    config = settings.read()
    return poll(
        task.odf,
        manifest,
        system_time=Instant.now(),
        environment=TaskEnvironment.of(manifest.file, str(manifest.snapshot.name)),
        contract_digest=contract.digest if contract else None,
        manifest_version=config.manifest_version,
        options=config.options,
        progress=task.progress,
        ask=task.ask,
    )

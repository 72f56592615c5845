"""One dataset as an Airflow DAG: ``poll ▶ merge ▶ contract_test ▶ publish`` for a root, with ``push`` in place of
``poll`` if data is pushed, and ``transform ▶ contract_test ▶ publish`` for a derivative."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Asset, AssetWatcher, BaseOperator, get_parsing_context

from airflow_provider_odf.contract.binding import contract_location
from airflow_provider_odf.dag import inputs
from airflow_provider_odf.dag.doc import doc_md
from airflow_provider_odf.dag.inputs import Declared, StoreNames
from airflow_provider_odf.dag.markdown import block, readable
from airflow_provider_odf.hooks.odf import INVALID_TAG, TAG, OdfHook
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder_settings import CHANGE, tag
from airflow_provider_odf.operators.contract_test import ContractTestOperator
from airflow_provider_odf.operators.links import pages_of
from airflow_provider_odf.operators.merge import MergeOperator
from airflow_provider_odf.operators.polling_source import PollingSourceOperator
from airflow_provider_odf.operators.publish import PublishOperator
from airflow_provider_odf.operators.push_source import PushSourceOperator, conf_params
from airflow_provider_odf.operators.transform import TransformOperator
from airflow_provider_odf.triggers.change import DEFAULT_POKE_INTERVAL
from airflow_provider_odf.triggers.input_heads import InputHeadsTrigger
from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_provider_odf.errors import Problem
    from airflow_provider_odf.manifest.folder_settings import FolderSettings
    from airflow_provider_odf.manifest.manifest import Manifest

DEFAULT_SCHEDULE = "@hourly"
DEFAULT_START = datetime(2024, 1, 1, tzinfo=UTC)
DEFAULT_ARGS = {"owner": "odf", "retries": 2, "retry_delay": timedelta(minutes=1)}


@dataclass(frozen=True)
class Defaults:
    """Settings of a loader for all its datasets; ``odf.yaml`` beside a manifest overrides them."""

    schedule: Any = DEFAULT_SCHEDULE
    store: str | None = None
    odf_conn_id: str = OdfHook.default_conn_name
    spark_conn_id: str | None = None
    _names: dict[str | None, StoreNames] = field(default_factory=dict)

    def names(self, store: str | None) -> StoreNames:
        """Return the names of the datasets of a store, with one hook for all of them: each lookup of a connection is a
        request to Airflow."""
        if store not in self._names:
            self._names[store] = StoreNames(OdfHook(self.odf_conn_id, store=store))
        return self._names[store]


def dag_id(dataset: str) -> str:
    """Return the dag_id of a dataset: its alias, with ``.`` for ``/``."""
    return dataset.replace("/", ".")


def build(
    manifest: Manifest,
    settings: FolderSettings,
    defaults: Defaults,
    warnings: Sequence[Problem] = (),
    declared: Declared | None = None,
) -> DAG:
    """Return the DAG of a dataset. Its documentation lists the warnings.

    With push sources it has no schedule: each run ingests the data of its conf, one run after the other. The DAG of a
    derivative is scheduled by the assets of its inputs; ``declared`` are the datasets of the same loader.
    """
    name = str(manifest.snapshot.name)
    store = settings.store or defaults.store
    names = defaults.names(store)
    asset = names.hook.asset(name)
    contract = contract_location(manifest)
    info = manifest.snapshot.last(model.SetInfo)
    text, keywords = (info.description or "", info.keywords or ()) if info else ("", ())
    where: dict[str, Any] = {
        "dataset": name,
        "manifest": str(manifest.file),
        "store": store,
        "odf_conn_id": defaults.odf_conn_id,
        "spark_conn_id": settings.spark_conn_id or defaults.spark_conn_id,
    }
    own_args = {"pool": settings.pool, "retries": settings.retries}
    declared = declared or Declared.of([manifest], is_whole=False)
    warnings = [*warnings, *inputs.unknown(manifest, declared, names)]
    pushed = [source.source_name for source in manifest.snapshot.events(model.AddPushSource)]
    is_derivative = manifest.snapshot.kind == "Derivative"
    schedule = (
        inputs.schedule(manifest, declared, names, partial(_input_watcher, settings, where))
        if is_derivative
        else _schedule(settings, defaults, where)
    )
    with DAG(
        dag_id(name),
        description="".join(filter(str.isprintable, text.strip().partition("\n")[0])) or None,
        doc_md=doc_md(
            manifest,
            str(asset.uri),
            contract,
            warnings,
            inputs.evaluation(manifest, names),
            has_clauses=get_parsing_context().dag_id is None,  # a task needs no documentation
            pages=pages_of(dag_id(name)),
        ),
        schedule=None if pushed else schedule,
        start_date=settings.start_date.to_datetime() if settings.start_date else DEFAULT_START,
        catchup=False,
        max_active_runs=1,
        params=conf_params(pushed) if pushed else None,
        default_args=DEFAULT_ARGS | {name: value for name, value in own_args.items() if value is not None},
        tags={TAG, *settings.tags, *filter(None, map(tag, keywords)), *(["warning"] if warnings else [])},
        # A DAG that fails to build must not be registered: the factory returns only complete ones.
        auto_register=False,
    ) as dag:
        candidate = _candidate(where, asset, is_derivative=is_derivative, is_pushed=bool(pushed))
        publish = PublishOperator(task_id="publish", candidate=candidate.output, outlets=[asset], **where)
        if contract is not None:
            source_name = "{{ ti.xcom_pull('push')['sourceName'] }}" if pushed else None
            test = ContractTestOperator(
                task_id="contract_test", candidate=candidate.output, source_name=source_name, **where
            )
            candidate >> test >> publish
    return dag


def build_invalid(id_: str, problems: Sequence[Problem]) -> DAG:
    """Return a DAG in place of one that cannot be built. It shows the problems, and its tasks fail with them. It has no
    schedule."""
    text = readable("\n".join(map(str, problems)))
    with DAG(
        id_,
        description=text.partition("\n")[0],
        doc_md=f"## Invalid manifest\n\n{block([text])}\n",
        schedule=None,
        catchup=False,
        tags={TAG, INVALID_TAG},
        auto_register=False,
    ) as dag:
        InvalidManifestOperator(task_id=get_parsing_context().task_id or "validate", problems=text)
    return dag


class InvalidManifestOperator(BaseOperator):
    """Fails with the problems of a manifest.

    :param problems: one line for each.
    """

    def __init__(self, *, problems: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problems = problems

    def execute(self, context: Any) -> None:
        raise AirflowFailException(self.problems)


def _candidate(where: dict[str, Any], asset: Asset, *, is_derivative: bool, is_pushed: bool) -> BaseOperator:
    """Return the task that makes the candidate. The inlet of the first task is the dataset's asset, whose events record
    whether the dataset was published. It is a reference, because OpenLineage would report an asset as an input of the
    task."""
    published = [Asset.ref(uri=asset.uri)]
    if is_derivative:
        return TransformOperator(task_id="transform", inlets=published, **where)
    source: BaseOperator = (
        PushSourceOperator(task_id="push", inlets=published, **where)
        if is_pushed
        else PollingSourceOperator(task_id="poll", inlets=published, **where)
    )
    return MergeOperator(task_id="merge", data=source.output, **where)


def _schedule(settings: FolderSettings, defaults: Defaults, where: dict[str, Any]) -> Any:
    """Return the schedule of a root; that by changes of its source is an asset, which a trigger watches."""
    schedule = settings.schedule if "schedule" in settings.model_fields_set else defaults.schedule
    if schedule != CHANGE:
        return schedule
    arguments = {name: where[name] for name in ("manifest", "dataset", "store", "odf_conn_id")}
    trigger = PollingSourceTrigger(**arguments, poke_interval=settings.poke_interval or DEFAULT_POKE_INTERVAL)
    watcher = AssetWatcher(name=where["dataset"], trigger=trigger)
    return [Asset(f"{where['dataset']}/source", group=inputs.WATCHED_GROUP, watchers=[watcher])]


def _input_watcher(settings: FolderSettings, where: dict[str, Any], locations: Sequence[str]) -> AssetWatcher:
    """Return what watches inputs of a derivative in other stores."""
    arguments = {name: where[name] for name in ("dataset", "store", "odf_conn_id")}
    poke_interval = settings.poke_interval or DEFAULT_POKE_INTERVAL
    trigger = InputHeadsTrigger(inputs=locations, **arguments, poke_interval=poke_interval)
    return AssetWatcher(name=where["dataset"], trigger=trigger)

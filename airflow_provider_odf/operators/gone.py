"""Check that a dataset which Airflow published is in the store: it may not be mounted, or was deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf.errors import DatasetGone
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.instant import Instant

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.operators.base import OdfOperator


def check_published(task: OdfOperator, context: Context) -> None:
    """Compare the store with the events of the dataset's asset, where the task has that among its inlets.

    The store itself knows of a folder that was deleted, and nothing where all of it is away.

    :raises DatasetGone: the dataset was published, and is not in the store.
    """
    if not task.inlets or task.dataset_manifest is None or "inlet_events" not in context:
        return
    alias = task.dataset_manifest.snapshot.alias
    if task.odf.get(alias) is not None:
        return
    uri = OdfHook(task.odf_conn_id, store=task.store).dataset_uri(str(alias))
    entry = task.odf.registry.get(alias)
    for inlet in task.inlets:
        if getattr(inlet, "uri", None) != uri:
            continue
        events = context["inlet_events"][inlet]
        if len(events) and (entry is None or Instant.from_datetime(events[-1].timestamp) > entry.since):
            location, published = task.odf.folder(alias).location(), events[-1].timestamp
            message = f"{location}: dataset {alias} was published at {published} and is gone"
            raise DatasetGone(f"{message}: mount the store or restore it, or {task.odf.restart_advice(alias)}")

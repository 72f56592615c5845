"""Check that a dataset which Airflow published is in the store, which may be unmounted or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import DatasetGone
from airflow_provider_odf.instant import Instant

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.hooks.odf import OdfHook
    from airflow_provider_odf.manifest.names import DatasetAlias


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

"""A TaskFlow DAG that consumes what changed in a dataset since its own last run, whenever the dataset is published."""

from __future__ import annotations

from typing import Any

from airflow.sdk import dag, task

from airflow_provider_odf import OdfHook

hook = OdfHook()
levels = hook.asset("river-levels")


@task(inlets=[levels])
def forward(*, asset_state_store: Any = None) -> int:
    """Return the number of records that no run has seen yet."""
    # Airflow may merge asset events into one run, so the position is the reader's own and not that of an event.
    position = asset_state_store[levels]
    changes = hook.get_changes("river-levels", since=position.get("forwarded", None))
    records = 0
    for batch in changes.to_arrow():
        records += batch.num_rows  # send the batch to where it is needed
    position.set("forwarded", changes.block)
    return records


@dag(schedule=[levels], catchup=False, max_active_runs=1, tags={"odf", "example"}, doc_md=__doc__)
def forward_changes() -> None:
    forward()


forward_changes()

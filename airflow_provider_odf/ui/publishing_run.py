"""The run of a DAG that published a block, found by its asset event."""

from __future__ import annotations

from fastapi import HTTPException, Request

from airflow_provider_odf.ui.airflow_api import Api

_MOST = 100
"""Newest asset events in which a block is looked for."""


async def publishing_run(request: Request, dag_id: str, block_hash: str) -> str | None:
    """Return the id of the run that published a block, None if its event is not among the newest, or if the user may
    not read events."""
    try:
        answer = await Api(request).get("assets/events", source_dag_id=dag_id, order_by="-timestamp", limit=_MOST)
    except HTTPException:
        return None
    found = (e["source_run_id"] for e in answer["asset_events"] if (e["extra"] or {}).get("blockHash") == block_hash)
    return next(found, None)

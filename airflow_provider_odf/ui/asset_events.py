"""Which run of a DAG published which block: its asset event says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException, Request

from airflow_provider_odf.ui.airflow_api import Api

_MOST = 100
"""Newest asset events in which a block is looked for."""


async def publishing_run(request: Request, dag_id: str, block_hash: str) -> str | None:
    """Return the id of the run that published a block, None if its event is not among the newest, or if the user may
    not read events."""
    found = await _events(request, source_dag_id=dag_id)
    return next((event["source_run_id"] for event in found if _block(event) == block_hash), None)


async def published_block(request: Request, dag_id: str, run_id: str) -> str | None:
    """Return the hash of the block that a run published, None if it published none, or if the user may not read
    events."""
    return next(filter(None, map(_block, await _events(request, source_dag_id=dag_id, source_run_id=run_id))), None)


async def _events(request: Request, **source: str) -> list[dict[str, Any]]:
    try:
        answer = await Api(request).get("assets/events", **source, order_by="-timestamp", limit=_MOST)
    except HTTPException:
        return []
    events: list[dict[str, Any]] = answer["asset_events"]
    return events


def _block(event: Mapping[str, Any]) -> str | None:
    return (event["extra"] or {}).get("blockHash")

"""Runs that carry out decisions on a candidate, asked and started by Airflow's REST API as the user of a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request

from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.cycle.decisions import PUBLISH
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.ui.airflow_api import Api, runs_path

if TYPE_CHECKING:
    from airflow_provider_odf.ui.subject import Subject

_ACTIVE = ("queued", "running")
_MOST = 20


@dataclass(frozen=True)
class DecisionRun:
    """A run with a decision. ``start`` is in RFC 3339, None before the run starts."""

    run_id: str
    action: str
    state: str
    start: str | None
    user: str | None

    @property
    def is_active(self) -> bool:
        return self.state in _ACTIVE


async def decision_runs(request: Request, dag_id: str, block_hash: str) -> list[DecisionRun]:
    """Return the runs with decisions on a candidate that pages started, newest first; none if the user may not read
    runs.

    :raises InvalidInput: not the hash of a block.
    """
    if not is_hash(block_hash):
        raise InvalidInput(f"{block_hash[:80]!r} is not the hash of a block")
    try:
        answer = await Api(request).get(
            runs_path(dag_id), run_id_prefix_pattern=_prefix(block_hash), order_by="-run_after", limit=_MOST
        )
    except HTTPException:
        return []
    return [_run(entry) for entry in answer["dag_runs"]]


def _run(entry: dict[str, Any]) -> DecisionRun:
    action = str(entry["dag_run_id"]).split("_")[2]
    return DecisionRun(
        entry["dag_run_id"], action, entry["state"], entry["start_date"], entry.get("triggering_user_name")
    )


async def start_run(request: Request, subject: Subject, action: str, block_hash: str, reason: str | None) -> None:
    """Start the run for a decision. A candidate has at most one run that publishes it.

    :raises HTTPException: somebody has started it before, or Airflow refuses it.
    """
    dag_id, sources = subject.publication.dag_id, subject.history.state.push_sources
    name = f"{_prefix(block_hash)}{action}"
    if action != PUBLISH:
        name += f"_{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S}"
    why = {"reason": reason} if reason is not None else {}
    conf: dict[str, Any] = {"decision": {"dataset": subject.publication.alias, action: block_hash, **why}}
    if sources:  # Airflow checks the conf of a DAG with several push sources: it must name one.
        conf["source"] = next(iter(sources))
    try:
        await Api(request).post(runs_path(dag_id), {"dag_run_id": name, "logical_date": None, "conf": conf})
    except HTTPException as e:
        # Of two requests at once, the database may refuse one without a reason.
        run = next((r for r in await decision_runs(request, dag_id, block_hash) if r.run_id == name), None)
        if run is None:
            raise
        raise HTTPException(
            409,
            f"{run.user or 'Somebody'} has decided: run {name} is {run.state}. If it failed, correct the reason, and "
            "clear the run in Airflow.",
        ) from e


def _prefix(block_hash: str) -> str:
    """Return the start of the names of runs that decide on a candidate."""
    return f"decision_{block_hash[-16:]}_"

"""Airflow's REST API, as far as the demo of a cluster asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

API = "/api/v2"
"""Path of the REST API."""


def log_in(address: str, user: str, password: str) -> httpx.Client:
    """Return a client for all pages of a server, as a user.

    :raises HTTPStatusError: the password is wrong.
    """
    token = httpx.post(f"{address}/auth/token", json={"username": user, "password": password}, timeout=30)
    headers = {"Authorization": f"Bearer {token.raise_for_status().json()['access_token']}"}
    return httpx.Client(base_url=address, headers=headers, timeout=30)


@dataclass(frozen=True)
class Task:
    """A task of a run: its state, and the host and process that it ran in."""

    name: str
    state: str
    host: str
    process: int | None
    seconds: float


@dataclass(frozen=True)
class Run:
    """A run of a DAG."""

    dag: str
    id: str
    state: str


class Airflow:
    """The API of a server, for a user with a password."""

    def __init__(self, address: str, user: str, password: str) -> None:
        self._client = log_in(address, user, password)

    def trigger(self, dag: str) -> None:
        """Start a run of a DAG."""
        self._client.post(f"{API}/dags/{dag}/dagRuns", json={"logical_date": None}).raise_for_status()

    def ended_runs(self) -> list[Run]:
        """Return the runs of all DAGs that have succeeded or failed."""
        found = self._get("/dags/~/dagRuns", state=["success", "failed"])["dag_runs"]
        return [Run(run["dag_id"], run["dag_run_id"], run["state"]) for run in found]

    def tasks(self, run: Run) -> list[Task]:
        """Return the tasks of a run, in the order of their start."""
        found = self._get(f"/dags/{run.dag}/dagRuns/{run.id}/taskInstances")["task_instances"]
        return [
            Task(ti["task_id"], str(ti["state"]), ti["hostname"], ti["pid"], ti["duration"] or 0)
            for ti in sorted(found, key=lambda ti: (ti["start_date"] is None, ti["start_date"]))
        ]

    def _get(self, path: str, **parameters: list[str]) -> Any:
        return self._client.get(f"{API}{path}", params=parameters).raise_for_status().json()

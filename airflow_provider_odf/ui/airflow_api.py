"""What Airflow knows of a DAG and its datasets, asked of its REST API in the same process, as the user of a request.

The REST API is the public way to this, and it applies the user's rights. A dataset is where the asset of its DAG's task
``publish`` is: so pages find each dataset whose DAG Airflow knows, in whatever store, and need no settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import HTTPException, Request

from airflow_provider_odf.hooks.odf import ASSET_GROUP

MAIN_APP = "odf_airflow"
"""Key of the scope with the app of Airflow that the pages are mounted in."""

_CREDENTIALS = ("authorization", "cookie")


@dataclass(frozen=True)
class Neighbor:
    """A dataset that is an input of another, or computed from it: its URI, and the DAG that publishes it."""

    name: str
    dag_id: str | None


@dataclass(frozen=True)
class Publication:
    """A DAG and the dataset that it publishes.

    Times are RFC 3339. What the user may not see is None.
    """

    dag_id: str
    uri: str
    is_paused: bool = False
    next_run: str | None = None
    run_state: str | None = None
    run_end: str | None = None
    inputs: tuple[Neighbor, ...] = ()
    derivatives: tuple[str, ...] = ()
    """DAGs that an event of the dataset starts."""

    @property
    def alias(self) -> str:
        """The alias of the dataset: the end of its URI that gives the dag_id, else its last part."""
        parts = self.uri.rsplit("/", 2)
        in_account = "/".join(parts[-2:])
        return in_account if in_account.replace("/", ".").lower() == self.dag_id.lower() else parts[-1]

    @property
    def store(self) -> str:
        """URI of the store."""
        return self.uri[: -len(self.alias) - 1]


async def publication(request: Request, dag_id: str) -> Publication:
    """Return the dataset that a DAG publishes, and the DAG's state.

    :raises HTTPException: the user may not read the DAG or its assets, or the DAG publishes no dataset.
    """
    api = _Api(request)
    assets = (await api.get("assets", dag_ids=dag_id, limit=100))["assets"]
    published = sorted(a["uri"] for a in assets if a["group"] == ASSET_GROUP and _is_published(a, dag_id))
    if not published:
        raise HTTPException(404, f"DAG {dag_id} publishes no dataset of Open Data Fabric, or Airflow has not parsed it")
    dag = await api.get(f"dags/{quote(dag_id, safe='')}")
    run = await api.last_run(dag_id)
    own = next(asset for asset in assets if asset["uri"] == published[0])
    return Publication(
        dag_id,
        published[0],
        dag["is_paused"],
        dag["next_dagrun_run_after"],
        run.get("state"),
        run.get("end_date"),
        tuple(_inputs(assets, dag_id)),
        tuple(sorted(reference["dag_id"] for reference in own["scheduled_dags"])),
    )


def _is_published(asset: Mapping[str, Any], dag_id: str) -> bool:
    return any(task["dag_id"] == dag_id for task in asset["producing_tasks"])


def _inputs(assets: Sequence[Mapping[str, Any]], dag_id: str) -> Iterator[Neighbor]:
    for asset in assets:
        if any(reference["dag_id"] == dag_id for reference in asset["scheduled_dags"]):
            dags = sorted(task["dag_id"] for task in asset["producing_tasks"])
            yield Neighbor(asset["uri"].rpartition("/")[2], dags[0] if dags else None)


class _Api:
    """Airflow's REST API with the credentials of a request."""

    def __init__(self, request: Request) -> None:
        self._app = request.scope[MAIN_APP]
        self._headers = {name: request.headers[name] for name in _CREDENTIALS if name in request.headers}

    async def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a request.

        :raises HTTPException: Airflow refuses it.
        """
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://airflow") as client:
            response = await client.get(f"/api/v2/{path}", params=parameters, headers=self._headers)
        if response.status_code != httpx.codes.OK:
            raise HTTPException(response.status_code, "Airflow refuses it: the page needs the right to read assets")
        content: dict[str, Any] = response.json()
        return content

    async def last_run(self, dag_id: str) -> Mapping[str, Any]:
        """Return the newest run of a DAG; nothing if there is none, or the user may not read runs."""
        path = f"dags/{quote(dag_id, safe='')}/dagRuns"
        try:
            runs = (await self.get(path, limit=1, order_by="-run_after"))["dag_runs"]
        except HTTPException:
            return {}
        return runs[0] if runs else {}

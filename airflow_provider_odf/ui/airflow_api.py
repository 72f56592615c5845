"""What Airflow knows of a DAG and its datasets, asked of its REST API in the same process, as the user of a request.

The REST API is the public way to this, and it applies the user's rights. A dataset is where the asset of its DAG's task
``publish`` is: so pages find each dataset whose DAG Airflow knows, in whatever store, and need no settings.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import HTTPException, Request

from airflow_provider_odf.hooks.odf import ASSET_GROUP, TAG
from airflow_provider_odf.operators.links import MAIN_APP

_MOST = 100
_MOST_PAGES = 3
"""Pages of the newest tasks that are asked for."""
_FINISHED = ("success", "failed", "upstream_failed", "skipped", "removed")
_REFERENCES = ("producing_tasks", "scheduled_dags")
_CREDENTIALS = ("authorization", "cookie")


@dataclass(frozen=True)
class Neighbor:
    """A dataset that is an input of another, or computed from it: its URI, and the DAG that publishes it."""

    name: str
    dag_id: str | None


@dataclass(frozen=True)
class PublishTask:
    """The task that publishes a dataset, in one run of its DAG; times are in RFC 3339."""

    run_id: str
    state: str | None
    run_after: str

    @property
    def is_finished(self) -> bool:
        return self.state in _FINISHED


@dataclass(frozen=True)
class Publication:
    """A DAG and the dataset that it publishes; the URI is empty if it publishes none.

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
    newest_task: PublishTask | None = None
    """The newest run of the task that publishes."""

    @property
    def alias(self) -> str:
        """The alias of the dataset: the end of its URI that gives the dag_id, else its last part."""
        if not self.uri:
            return self.dag_id
        parts = self.uri.rsplit("/", 2)
        in_account = "/".join(parts[-2:])
        return in_account if in_account.replace("/", ".").lower() == self.dag_id.lower() else parts[-1]

    @property
    def store(self) -> str:
        """URI of the store."""
        return self.uri[: -len(self.alias) - 1]


@dataclass(frozen=True)
class Run:
    """A run of a DAG. Its start is in RFC 3339; what is not known yet is None."""

    run_id: str
    state: str
    start: str | None
    seconds: float | None


async def newest_runs(request: Request, dag_id: str, n: int) -> list[Run]:
    """Return the newest ``n`` runs of a DAG in the order of their starts, those that wait last; none if the user may
    not read runs."""
    found = reversed(await Api(request).runs(dag_id, n))
    runs = [Run(run["dag_run_id"], run["state"], run["start_date"], run["duration"]) for run in found]
    return sorted(runs, key=lambda run: (run.start is None, run.start))


async def publication(request: Request, dag_id: str) -> Publication:
    """Return the dataset that a DAG publishes, and the DAG's state.

    :raises HTTPException: the user may not read the DAG or its assets, or the DAG publishes no dataset.
    """
    api = Api(request)
    assets = await api.every("assets", "assets", dag_ids=dag_id)
    dag = await api.get(f"dags/{quote(dag_id, safe='')}")
    found = _publication(dag, assets, await api.last_run(dag_id))
    found = replace(found, newest_task=(await api.newest_tasks(_publishing_tasks(assets, [dag_id]))).get(dag_id))
    if not found.uri:
        raise HTTPException(404, f"DAG {dag_id} publishes no dataset of Open Data Fabric.")
    return found


async def publications(
    request: Request, *, limit: int | None, offset: int = 0, name: str, tag: str, owner: str
) -> tuple[list[Publication], int]:
    """Return some of the DAGs of manifests that the user may read, by dag_id, and the number of all. Those whose
    manifest is not valid publish nothing: their URI is empty.

    :param limit: number of DAGs, or None for all.
    :raises HTTPException: the user may not read DAGs or assets.
    """
    api = Api(request)
    wanted: dict[str, Any] = {"tags": [TAG, *([tag] if tag else [])], "tags_match_mode": "all"}
    wanted |= {"dag_id_pattern": name.replace("/", ".")} if name else {}
    wanted |= {"owners": [owner]} if owner else {}
    if limit is None:
        dags = await api.every("dags", "dags", **wanted, order_by="dag_id")
        assets, total = await api.every("assets", "assets"), len(dags)
    else:
        answer = await api.get("dags", **wanted, limit=limit, offset=offset, order_by="dag_id")
        dags, total = answer["dags"], answer["total_entries"]
        assets = await api.every("assets", "assets", dag_ids=[dag["dag_id"] for dag in dags]) if dags else []
    failed = {dag["dag_id"] for dag in await api.every("dags", "dags", **wanted, last_dag_run_state="failed")}
    of_dag = _by_dag(assets)
    runs = ({"state": "failed"} if dag["dag_id"] in failed else {} for dag in dags)
    tasks = await api.newest_tasks(_publishing_tasks(assets, [dag["dag_id"] for dag in dags]))
    every = [_publication(dag, of_dag.get(dag["dag_id"], []), run) for dag, run in zip(dags, runs, strict=True)]
    return [replace(p, newest_task=tasks.get(p.dag_id)) for p in every], total


def _publishing_tasks(assets: Sequence[Mapping[str, Any]], dag_ids: Sequence[str]) -> dict[str, str]:
    """Return dag_ids with the id of the task that publishes the dataset of each."""
    tasks = [task for asset in assets if asset["group"] == ASSET_GROUP for task in asset["producing_tasks"]]
    return {task["dag_id"]: task["task_id"] for task in tasks if task["dag_id"] in dag_ids}


def _by_dag(assets: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the assets that each DAG publishes or is scheduled by."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for asset in assets:
        for dag_id in {reference["dag_id"] for kind in _REFERENCES for reference in asset[kind]}:
            found.setdefault(dag_id, []).append(asset)
    return found


async def connected(request: Request, dag_id: str, most: int) -> list[Publication]:
    """Return the DAG, and DAGs whose datasets it is computed from or that are computed from its own, nearest first.
    Those that the user may not read are left out.

    :param most: number of DAGs after which no more are looked for.
    :raises HTTPException: the user may not read assets.
    """
    api = Api(request)
    found: dict[str, Publication] = {}
    above, below = {dag_id}, {dag_id}
    while (wanted := sorted((above | below) - found.keys())) and len(found) < most:
        dags = await api.readable(wanted)
        assets = await api.every("assets", "assets", dag_ids=[dag["dag_id"] for dag in dags]) if dags else []
        new = {dag["dag_id"]: _publication(dag, assets, {}) for dag in dags}
        found |= new
        above = {i.dag_id for p in new.values() if p.dag_id in above for i in p.inputs if i.dag_id is not None}
        below = {derivative for p in new.values() if p.dag_id in below for derivative in p.derivatives}
    return [publication for publication in found.values() if publication.uri][:most]


def _publication(dag: Mapping[str, Any], assets: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> Publication:
    dag_id = dag["dag_id"]
    published = sorted(a["uri"] for a in assets if a["group"] == ASSET_GROUP and _is_published(a, dag_id))
    uri = published[0] if published else ""
    return Publication(
        dag_id,
        uri,
        dag["is_paused"],
        dag["next_dagrun_run_after"],
        run.get("state"),
        run.get("end_date"),
        tuple(_inputs(assets, dag_id)),
        tuple(sorted(r["dag_id"] for asset in assets if asset["uri"] == uri for r in asset["scheduled_dags"])),
    )


def _is_published(asset: Mapping[str, Any], dag_id: str) -> bool:
    return any(task["dag_id"] == dag_id for task in asset["producing_tasks"])


def _inputs(assets: Sequence[Mapping[str, Any]], dag_id: str) -> Iterator[Neighbor]:
    for asset in assets:
        if any(reference["dag_id"] == dag_id for reference in asset["scheduled_dags"]):
            dags = sorted(task["dag_id"] for task in asset["producing_tasks"])
            yield Neighbor(asset["uri"].rpartition("/")[2], dags[0] if dags else None)


def runs_path(dag_id: str) -> str:
    """Return the path of the runs of a DAG in the REST API."""
    return f"dags/{quote(dag_id, safe='')}/dagRuns"


class Api:
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
            is_unknown = response.status_code == httpx.codes.NOT_FOUND
            refusal = "does not know this DAG, or has not parsed it yet" if is_unknown else "refuses the request"
            raise HTTPException(response.status_code, f"Airflow {refusal}.")
        content: dict[str, Any] = response.json()
        return content

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request that changes something.

        :raises HTTPException: Airflow refuses it, with its reason.
        """
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://airflow") as client:
            response = await client.post(f"/api/v2/{path}", json=body, headers=self._headers)
        if not response.is_success:
            is_json = response.headers.get("Content-Type", "").startswith("application/json")
            reason = response.json().get("detail") if is_json else response.reason_phrase
            raise HTTPException(response.status_code, f"Airflow refuses the request: {reason}")
        content: dict[str, Any] = response.json()
        return content

    async def every(self, path: str, of: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return all entries of a list, page by page.

        :raises HTTPException: Airflow refuses it.
        """
        entries: list[dict[str, Any]] = []
        while True:
            answer = await self.get(path, **parameters, limit=_MOST, offset=len(entries))
            entries += answer[of]
            if not answer[of] or len(entries) >= answer["total_entries"]:
                return entries

    async def readable(self, dag_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return those of some DAGs that the user may read."""
        pattern = "|".join(dag_ids)
        return [dag for dag in await self.every("dags", "dags", dag_id_pattern=pattern) if dag["dag_id"] in dag_ids]

    async def last_run(self, dag_id: str) -> Mapping[str, Any]:
        """Return the newest run of a DAG; nothing if there is none, or the user may not read runs."""
        return next(iter(await self.runs(dag_id, 1)), {})

    async def newest_tasks(self, task_ids: Mapping[str, str]) -> dict[str, PublishTask]:
        """Return the newest run of one task of each DAG, by dag_id; of DAGs whose runs are not among the newest, or
        that the user may not see, nothing.

        :param task_ids: id of the task by dag_id.
        """
        found: dict[str, PublishTask] = {}
        named = {"dag_id_pattern": "|".join(task_ids)} if len(task_ids) <= _MOST else {}
        try:
            for task_id in sorted(set(task_ids.values())):
                wanted = {dag_id for dag_id, of_dag in task_ids.items() if of_dag == task_id}
                async for entry in self._newest_tasks(task_id, wanted - found.keys(), named):
                    task = PublishTask(entry["dag_run_id"], entry["state"], entry["run_after"])
                    found.setdefault(entry["dag_id"], task)
        except HTTPException:
            return found
        return found

    async def _newest_tasks(
        self, task_id: str, dag_ids: set[str], named: Mapping[str, str]
    ) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the newest runs of a task of some DAGs, until each has one."""
        missing = set(dag_ids)
        for page in range(_MOST_PAGES):
            wanted = {**named, "task_id": task_id, "order_by": "-run_after", "limit": _MOST, "offset": page * _MOST}
            entries = (await self.get("dags/~/dagRuns/~/taskInstances", **wanted))["task_instances"]
            for entry in entries:
                if entry["dag_id"] in dag_ids:
                    missing.discard(entry["dag_id"])
                    yield entry
            if len(entries) < _MOST or not missing:
                return

    async def runs(self, dag_id: str, n: int) -> list[dict[str, Any]]:
        """Return the newest runs of a DAG, newest first; none if the user may not read runs."""
        path, runs = runs_path(dag_id), list[dict[str, Any]]()
        try:
            while len(runs) < n:
                limit = min(_MOST, n - len(runs))
                answer = await self.get(path, limit=limit, offset=len(runs), order_by="-run_after")
                runs += answer["dag_runs"]
                if len(answer["dag_runs"]) < limit:
                    break
        except HTTPException:
            return []
        return runs

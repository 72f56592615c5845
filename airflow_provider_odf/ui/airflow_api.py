"""What Airflow knows of a DAG and its datasets, asked of its REST API in the same process, as the user of a request.

The REST API is the public way to this, and it applies the user's rights. A dataset is where the asset of its DAG's task
``publish`` is: so pages find each dataset whose DAG Airflow knows, in whatever store, and need no settings.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from fastapi import HTTPException, Request

from airflow_provider_odf.cycle.xcom import NOTICES
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.hooks.odf import ASSET_GROUP, INVALID_TAG, TAG
from airflow_provider_odf.operators.links import MAIN_APP
from airflow_provider_odf.redaction import redact
from airflow_provider_odf.ui.pages import public
from airflow_provider_odf.wording import counted

_PAGE = 100
"""Entries of an answer."""
_NEWEST_TASKS = 300
"""Newest tasks among which the newest of a DAG is looked for."""
_CREDENTIALS = ("authorization", "cookie")

T = TypeVar("T", list[Any], dict[str, Any])


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


@dataclass(frozen=True)
class Publication:
    """A DAG and the dataset that it publishes; the URI is empty if it publishes none.

    Times are RFC 3339. What the user may not see is None.
    """

    dag_id: str
    uri: str
    is_paused: bool = False
    next_run: str | None = None
    run_id: str | None = None
    """Id of the newest run."""
    run_state: str | None = None
    run_end: str | None = None
    inputs: tuple[Neighbor, ...] = ()
    derivatives: tuple[str, ...] = ()
    """DAGs that an event of the dataset starts."""
    newest_task: PublishTask | None = None
    """The newest run of the task that publishes."""
    owners: tuple[str, ...] = ()
    """Those of the DAG."""
    schedule: str | None = None
    """The times of its schedule, such as ``*/5 * * * *``; None if only events or people start it."""
    has_published: bool = True
    """Whether its task has published the dataset before, as far as Airflow knows."""
    problem: str | None = None
    """The first problem of a manifest that is not valid."""

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


class ManifestNotValid(InvalidInput):
    """The manifest of a DAG is not valid, so the DAG publishes no dataset. The message has the first problem."""


@dataclass(frozen=True)
class Failure:
    """The task that failed last in a run, or waits to be tried again, and its error without secrets; None if its log
    has none, or if the user may not read it."""

    run_id: str
    task_id: str
    map_index: int
    error: str | None

    def path(self, dag_id: str) -> str:
        """Return the path of the task, with its log, on the Airflow site."""
        mapped = f"/mapped/{self.map_index}" if self.map_index >= 0 else ""
        return f"/dags/{_quoted(dag_id)}/runs/{_quoted(self.run_id)}/tasks/{_quoted(self.task_id)}{mapped}"


@dataclass(frozen=True)
class Run:
    """A run of a DAG. Its start is in RFC 3339; what is not known yet is None. ``reason`` is that of a decision."""

    run_id: str
    state: str
    start: str | None
    seconds: float | None
    user: str | None
    reason: str | None = None

    @property
    def is_active(self) -> bool:
        return self.state in ("queued", "running")


async def newest_runs(request: Request, dag_id: str, n: int, prefix: str | None = None) -> list[Run]:
    """Return the newest ``n`` runs of a DAG, newest first; none if the user may not read runs.

    :param prefix: start of their ids.
    """
    named = {"run_id_pattern": prefix} if prefix is not None else {}
    runs = await Api(request).runs(dag_id, n, **named)
    return [_run(entry) for entry in runs if entry["dag_run_id"].startswith(prefix or "")]


def _run(entry: Mapping[str, Any]) -> Run:
    decision = (entry["conf"] or {}).get("decision")
    reason = decision.get("reason") if isinstance(decision, Mapping) else None
    user, seconds = entry.get("triggering_user_name"), entry.get("duration")  # Airflow 3.0 has neither
    return Run(entry["dag_run_id"], entry["state"], entry["start_date"], seconds, user, reason)


async def newest_failure(request: Request, publication: Publication) -> Failure | None:
    """Return why the newest run of a DAG failed or is tried again; None if it is well, or if the user may not read its
    tasks."""
    if publication.run_id is None or publication.run_state == "success":
        return None
    return await failure_of(request, publication.dag_id, publication.run_id)


async def failure_of(request: Request, dag_id: str, run_id: str) -> Failure | None:
    """Return why a run failed or is tried again; None if none of its tasks did, or if the user may not read them."""
    api, path = Api(request), f"{_runs_path(dag_id)}/{_quoted(run_id)}/taskInstances"
    tasks = await _readable(api.pages(path, "task_instances", state=["failed", "up_for_retry"]))
    if not tasks:
        return None
    task = max(tasks, key=lambda entry: entry["end_date"] or "")
    log = f"{path}/{_quoted(task['task_id'])}/logs/{task['try_number']}"
    lines = await api.lines(log, map_index=task["map_index"])
    error = _error(lines)
    return Failure(run_id, task["task_id"], task["map_index"], error and public(redact(error)))


async def unresumed_task(request: Request, publication: Publication) -> str | None:
    """Return the id of a task of the newest run of a DAG that is deferred while no triggerer runs which would resume
    it; None if there is none, or if the user may not read tasks."""
    if publication.run_id is None or publication.run_state != "running":
        return None
    api = Api(request)
    triggerer = (await api.get("monitor/health")).get("triggerer") or {}
    if triggerer.get("status") == "healthy":
        return None
    path = f"{_runs_path(publication.dag_id)}/{_quoted(publication.run_id)}/taskInstances"
    deferred = await _readable(api.pages(path, "task_instances", 1, state=["deferred"]))
    return deferred[0]["task_id"] if deferred else None


@dataclass(frozen=True)
class Readers:
    """DAGs that events of a dataset start: those of manifests, others, and the number of those that Airflow does not
    show the user."""

    derivatives: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    hidden: int = 0

    @property
    def hidden_words(self) -> str:
        return f"{counted(self.hidden, 'DAG')} not shown to you" if self.hidden else ""

    @property
    def words(self) -> str:
        return ", ".join(filter(None, (*self.derivatives, *self.others, self.hidden_words)))


async def readers(request: Request, publication: Publication) -> Readers:
    """Return the DAGs that events of a dataset start.

    :raises HTTPException: the user may not read DAGs.
    """
    if not publication.derivatives:
        return Readers()
    dags = await Api(request).dags_named(publication.derivatives)
    of_manifests = {dag["dag_id"]: TAG in (tag["name"] for tag in dag["tags"]) for dag in dags}
    readable = [dag_id for dag_id in publication.derivatives if dag_id in of_manifests]
    return Readers(
        tuple(dag_id for dag_id in readable if of_manifests[dag_id]),
        tuple(dag_id for dag_id in readable if not of_manifests[dag_id]),
        len(publication.derivatives) - len(readable),
    )


def _content(value: Any, kind: type[T]) -> T:
    """Return the content of an XCom, which the database has as it is or as its JSON; nothing of one that somebody wrote
    with another type."""
    with suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    return value if isinstance(value, kind) else kind()


@dataclass(frozen=True)
class Notice:
    """What a task said that people should know: in which run, and when (RFC 3339)."""

    run_id: str
    time: str
    text: str


async def newest_notices(request: Request, dag_id: str, n: int) -> list[Notice]:
    """Return the notices of the newest ``n`` tasks of a DAG that had some, newest first, each once; none if the user
    may not read XComs."""
    api = Api(request)
    tasks = f"dags/{_quoted(dag_id)}/dagRuns/~/taskInstances/~/xcomEntries"
    listed = await _readable(api.pages(tasks, "xcom_entries", _PAGE, order_by="-timestamp", xcom_key_pattern=NOTICES))
    listed.sort(key=lambda entry: str(entry["timestamp"]), reverse=True)  # Airflow 3.1 has no order
    found: dict[str, Notice] = {}
    for entry in listed[:n]:
        path = f"{_runs_path(dag_id)}/{_quoted(entry['run_id'])}/taskInstances/{_quoted(entry['task_id'])}/xcomEntries"
        try:
            content = await api.get(f"{path}/{NOTICES}", map_index=entry["map_index"])
        except HTTPException:
            continue
        for text in _content(content["value"], list):
            found.setdefault(str(text), Notice(entry["run_id"], entry["timestamp"], str(text)))
    return list(found.values())


def _error(log: Iterable[str]) -> str | None:
    """Return the message of the last exception in the log of a task."""
    details = [json.loads(line).get("error_detail") for line in log if '"error_detail"' in line]
    return next((str(detail[0]["exc_value"]) for detail in reversed(details) if detail), None)


async def start_run(request: Request, dag_id: str, run_id: str, conf: Mapping[str, Any]) -> None:
    """Start a run of a DAG.

    :raises HTTPException: Airflow refuses it.
    """
    await Api(request).post(_runs_path(dag_id), {"dag_run_id": run_id, "logical_date": None, "conf": conf})


async def publishing_run(request: Request, dag_id: str, block_hash: str) -> str | None:
    """Return the id of the run that published a block, None if its event is not among the newest, or if the user may
    not read events."""
    events = await Api(request).events(source_dag_id=dag_id)
    return next((event["source_run_id"] for event in events if _block(event) == block_hash), None)


async def published_block(request: Request, dag_id: str, run_id: str) -> str | None:
    """Return the hash of the block that a run published, None if it published none, or if the user may not read
    events."""
    return next(filter(None, map(_block, await Api(request).events(source_dag_id=dag_id, source_run_id=run_id))), None)


async def merged_block(request: Request, dag_id: str, run_id: str) -> str | None:
    """Return the hash of the candidate that a run merged, None if it merged none, or if the user may not read XComs."""
    api, tasks = Api(request), f"{_runs_path(dag_id)}/{_quoted(run_id)}/taskInstances"
    listed = api.pages(f"{tasks}/~/xcomEntries", "xcom_entries", xcom_key_pattern="return_value")
    for entry in await _readable(listed):
        path = f"{tasks}/{_quoted(entry['task_id'])}/xcomEntries/return_value"
        found = await api.get(path, map_index=entry["map_index"])
        if candidate := _content(found["value"], dict).get("candidate"):
            return str(candidate)
    return None


async def run_state(request: Request, dag_id: str, run_id: str) -> str:
    """Return the state of a run, empty if the user may not read it."""
    try:
        return str((await Api(request).get(f"{_runs_path(dag_id)}/{_quoted(run_id)}"))["state"])
    except HTTPException:
        return ""


def _block(event: Mapping[str, Any]) -> str | None:
    return (event["extra"] or {}).get("blockHash")


async def publication(request: Request, dag_id: str) -> Publication:
    """Return the dataset that a DAG publishes, and the DAG's state.

    :raises HTTPException: the user may not read the DAG or its assets, or the DAG publishes no dataset.
    :raises ManifestNotValid: the DAG publishes none because its manifest is not valid.
    """
    api = Api(request)
    assets = await api.entries("assets", dag_ids=dag_id)
    dag = await api.get(f"dags/{_quoted(dag_id)}")
    newest = dict.fromkeys([dag_id], next(iter(await api.runs(dag_id, 1)), {}))
    [asked] = _publications([dag], assets, newest, await api.newest_tasks(assets, [dag_id]))
    if asked.problem is not None:
        raise ManifestNotValid(f"{asked.problem}\nCorrect the file. The documentation of the DAG has all problems.")
    if not asked.uri:
        raise HTTPException(404, f"DAG {dag_id} publishes no dataset of Open Data Fabric.")
    return asked


async def publications(
    request: Request, *, limit: int | None, offset: int = 0, name: str, tag: str
) -> tuple[list[Publication], int]:
    """Return some of the DAGs of manifests that the user may read, by dag_id, and the number of all. Those whose
    manifest is not valid publish nothing: their URI is empty.

    :param limit: number of DAGs, or None for all.
    :raises HTTPException: the user may not read DAGs or assets.
    """
    api = Api(request)
    wanted: dict[str, Any] = {"tags": [TAG, *([tag] if tag else [])], "tags_match_mode": "all"}
    wanted |= {"dag_id_pattern": name.replace("/", ".")} if name else {}
    if limit is None:
        dags = await api.entries("dags", **wanted, order_by="dag_id")
        assets, total = await api.entries("assets"), len(dags)
    else:
        answer = await api.get("dags", **wanted, limit=limit, offset=offset, order_by="dag_id")
        dags, total = answer["dags"], answer["total_entries"]
        assets = await api.assets_of(dags)
    failed = await api.entries("dags", **wanted, last_dag_run_state="failed")
    runs = {dag["dag_id"]: {"state": "failed"} for dag in failed}
    tasks = await api.newest_tasks(assets, [dag["dag_id"] for dag in dags])
    return list(_publications(dags, assets, runs, tasks)), total


async def connected(request: Request, dag_id: str, limit: int, levels: int | None = None) -> list[Publication]:
    """Return the DAG, and DAGs whose datasets it is computed from or that its own start, nearest first. Those that the
    user may not read are left out; those that publish no dataset have no URI.

    :param limit: number of DAGs after which no more are looked for.
    :param levels: how many datasets away a DAG may be, None for any number.
    :raises HTTPException: the user may not read assets.
    """
    api = Api(request)
    known: dict[str, Publication] = {}
    above, below, level = {dag_id}, {dag_id}, 0
    while (wanted := sorted((above | below) - known.keys())) and len(known) < limit:
        if levels is not None and level > levels:
            break
        dags = await api.dags_named(wanted)
        new = {p.dag_id: p for p in _publications(dags, await api.assets_of(dags))}
        known |= new
        above = {i.dag_id for p in new.values() if p.dag_id in above for i in p.inputs if i.dag_id is not None}
        below = {derivative for p in new.values() if p.dag_id in below for derivative in p.derivatives}
        level += 1
    return list(known.values())[:limit]


def _publications(
    dags: Iterable[Mapping[str, Any]],
    assets: Iterable[Mapping[str, Any]],
    runs: Mapping[str, Mapping[str, Any]] = {},
    tasks: Mapping[str, PublishTask] = {},
) -> Iterator[Publication]:
    """Yield the publication of each DAG, with its newest run and task by dag_id."""
    of_dag = defaultdict[str, list[Mapping[str, Any]]](list)
    for asset in assets:
        for dag_id in {*_dags(asset, "producing_tasks"), *_dags(asset, "scheduled_dags")}:
            of_dag[dag_id].append(asset)
    for dag in dags:
        dag_id, own, run = dag["dag_id"], of_dag[dag["dag_id"]], runs.get(dag["dag_id"], {})
        published = {a["uri"]: a for a in own if a["group"] == ASSET_GROUP and dag_id in _dags(a, "producing_tasks")}
        uri = min(published, default="")
        is_invalid = not uri and INVALID_TAG in (tag["name"] for tag in dag["tags"])
        yield Publication(
            dag_id,
            uri,
            dag["is_paused"],
            dag["next_dagrun_run_after"],
            run.get("dag_run_id"),
            run.get("state"),
            run.get("end_date"),
            tuple(
                Neighbor(asset["uri"].rpartition("/")[2], min(_dags(asset, "producing_tasks"), default=None))
                for asset in own
                if dag_id in _dags(asset, "scheduled_dags")
            ),
            tuple(sorted(reader for a in own if a["uri"] == uri for reader in _dags(a, "scheduled_dags"))),
            tasks.get(dag_id),
            tuple(dag["owners"]),
            _times(dag["timetable_summary"]),
            not uri or published[uri].get("last_asset_event", {"id": 0})["id"] is not None,  # Airflow 3.0 has none
            dag["description"] if is_invalid else None,
        )


def _times(timetable: str | None) -> str | None:
    return None if timetable is None or timetable.endswith("Asset") else timetable


def _dags(asset: Mapping[str, Any], references: str) -> list[str]:
    if references == "scheduled_dags" and references not in asset:  # Airflow 3.0
        references = "consuming_dags"
    return [reference["dag_id"] for reference in asset[references]]


def _quoted(part: str) -> str:
    """Return a part of a path."""
    return quote(part, safe="")


def _runs_path(dag_id: str) -> str:
    return f"dags/{_quoted(dag_id)}/dagRuns"


class Api:
    """Airflow's REST API with the credentials of a request."""

    def __init__(self, request: Request) -> None:
        self._app = request.scope[MAIN_APP]
        self._headers = {name: request.headers[name] for name in _CREDENTIALS if name in request.headers}

    async def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a request.

        :raises HTTPException: Airflow refuses it.
        """
        response = await self._send("GET", path, params=parameters)
        if response.status_code != httpx.codes.OK:
            is_unknown = response.status_code == httpx.codes.NOT_FOUND
            refusal = "does not know this DAG, or has not parsed it yet" if is_unknown else "refuses the request"
            raise HTTPException(response.status_code, f"Airflow {refusal}.")
        content: dict[str, Any] = response.json()
        return content

    async def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Send a request that changes something.

        :raises HTTPException: Airflow refuses it, with its reason.
        """
        response = await self._send("POST", path, json=body)
        if not response.is_success:
            is_json = response.headers.get("Content-Type", "").startswith("application/json")
            reason = response.json().get("detail") if is_json else response.reason_phrase
            raise HTTPException(response.status_code, f"Airflow refuses the request: {reason}")

    async def lines(self, path: str, **parameters: Any) -> Iterable[str]:
        """Return the lines of a log, each in JSON; none if Airflow refuses them."""
        response = await self._send("GET", path, params=parameters, accept="application/x-ndjson")
        return response.text.splitlines() if response.status_code == httpx.codes.OK else ()

    async def _send(self, method: str, path: str, accept: str = "*/*", **content: Any) -> httpx.Response:
        headers = {**self._headers, "accept": accept}
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://airflow") as client:
            return await client.request(method, f"/api/v2/{path}", headers=headers, **content)

    async def pages(
        self, path: str, key: str, limit: int | None = None, **parameters: Any
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the entries of a list page by page, at most ``limit`` of them.

        :raises HTTPException: Airflow refuses it.
        """
        offset = 0
        while limit is None or offset < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - offset)
            answer = await self.get(path, **parameters, limit=size, offset=offset)
            yield answer[key]
            offset += len(answer[key])
            if not answer[key] or offset >= answer["total_entries"]:
                return

    async def entries(self, path: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return all entries of a list that has the name of its path.

        :raises HTTPException: Airflow refuses it.
        """
        return [entry async for page in self.pages(path, path, **parameters) for entry in page]

    async def dags_named(self, dag_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Return DAGs by their ids, without those that the user may not read.

        :raises HTTPException: the user may not read DAGs.
        """
        wanted = set(dag_ids)
        found = [dag for dag in await self.entries("dags", dag_id_pattern="|".join(wanted)) if dag["dag_id"] in wanted]
        if found or len(wanted) == 1:
            return found
        for dag_id in sorted(wanted):  # Airflow 3.1 takes no alternatives
            with suppress(HTTPException):
                found.append(await self.get(f"dags/{_quoted(dag_id)}"))
        return found

    async def assets_of(self, dags: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the assets that DAGs publish or are scheduled by."""
        return await self.entries("assets", dag_ids=[dag["dag_id"] for dag in dags]) if dags else []

    async def runs(self, dag_id: str, n: int, **parameters: Any) -> list[dict[str, Any]]:
        """Return the runs of a DAG that were made last, newest first; none if the user may not read runs."""
        return await _readable(self.pages(_runs_path(dag_id), "dag_runs", n, order_by="-id", **parameters))

    async def events(self, **source: str) -> list[dict[str, Any]]:
        """Return the newest asset events of a source; none if the user may not read events."""
        return await _readable(self.pages("assets/events", "asset_events", _PAGE, order_by="-timestamp", **source))

    async def newest_tasks(self, assets: Iterable[Mapping[str, Any]], dag_ids: Iterable[str]) -> dict[str, PublishTask]:
        """Return the newest run of the task of each DAG that publishes its dataset, by dag_id; of DAGs whose runs are
        not among the newest, or that the user may not see, nothing."""
        tasks = [task for asset in assets if asset["group"] == ASSET_GROUP for task in asset["producing_tasks"]]
        task_ids = {task["dag_id"]: task["task_id"] for task in tasks if task["dag_id"] in set(dag_ids)}
        named = {"dag_id_pattern": "|".join(task_ids)} if len(task_ids) <= _PAGE else {}
        newest = await self._newest_tasks(task_ids, named)
        if not newest and len(task_ids) > 1 and named:  # Airflow 3.1 takes no alternatives
            newest = await self._newest_tasks(task_ids, {})
        return newest

    async def _newest_tasks(self, task_ids: Mapping[str, str], named: Mapping[str, str]) -> dict[str, PublishTask]:
        """Return the newest run of each task.

        :param task_ids: by dag_id.
        :param named: parameters that limit the DAGs.
        """
        newest: dict[str, PublishTask] = {}
        for task_id in sorted(set(task_ids.values())):
            missing = {dag_id for dag_id, of_dag in task_ids.items() if of_dag == task_id}
            parameters = {**named, "task_id": task_id, "order_by": "-run_after"}
            pages = self.pages("dags/~/dagRuns/~/taskInstances", "task_instances", _NEWEST_TASKS, **parameters)
            try:
                async for page in pages:
                    for entry in page:
                        if entry["dag_id"] in missing:
                            missing.remove(entry["dag_id"])
                            task = PublishTask(entry["dag_run_id"], entry["state"], entry["run_after"])
                            newest[entry["dag_id"]] = task
                    if not missing:
                        break
            except HTTPException:
                break
        return newest


async def _readable(pages: AsyncIterator[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the entries of pages, none if Airflow refuses them."""
    try:
        return [entry async for page in pages for entry in page]
    except HTTPException:
        return []

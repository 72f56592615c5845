"""``PollingSourceTrigger``: fires when a dataset's source has new data."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_odf import settings
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.hooks.environment import TaskEnvironment
from airflow_provider_odf.hooks.odf import OdfHook

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.cycle.poll import Position, Watch

DEFAULT_POKE_INTERVAL = 60.0

DEFAULT_OUTAGE = 3600.0

_LONGEST_DELAY = 60.0
"""Maximum random delay of the first check, so that triggers that start together do not check at once."""

_FRESH = 300.0
"""Seconds for which values of templates are cached: connections and variables need requests to Airflow's API."""


_FIRST_REMINDER, _LONGEST_PAUSE = 300.0, 3600.0
"""Seconds after which a change that was not ingested is reported again; the pauses double from first to longest."""


class ChangeFilter:
    """Selects which changes to report. A change that was not ingested is reported again with growing pauses: its run
    may have failed, or Airflow may have lost the event."""

    def __init__(self) -> None:
        self._reported: object = None
        self._due = self._pause = 0.0

    def should_report(self, version: object, now: float, *, longest: bool = False) -> bool:
        """Return whether to report a new ``version`` (None: nothing new) at time ``now`` in seconds. With ``longest``
        it is only repeated after the longest pause, for versions that do not indicate a change."""
        if version is None:
            self._reported = None
            return False
        if version != self._reported:
            self._reported, self._pause = version, _LONGEST_PAUSE if longest else _FIRST_REMINDER
        elif now < self._due:
            return False
        else:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._due = now + self._pause
        return True


class PollingSourceTrigger(BaseEventTrigger):
    """Checks a dataset's source for new data in the triggerer, without fetching it.

    It wakes a waiting task (`PollingSourceSensor`), or an asset that starts DAGs::

        AssetWatcher(name="orders", trigger=PollingSourceTrigger(manifest="/dags/orders.yaml"))

    The dataset's chain records how far the source was read. Each newer version of the source is one event: ``{"status":
    "changed"}``, or ``{"status": "error", "message"}`` if the source rejects the request or the manifest is not valid.
    If a change is not ingested, the event is repeated after five minutes and then less often, down to once an hour. If
    the source cannot be reached or does not exist, the trigger logs this once and retries; a long outage is an error.
    For a source that only a poll can compare (a container, FTP, long content without ETag and Last-Modified) it fires
    once an hour.

    The triggerer needs access to the manifest and the store with the same paths as workers.

    :param manifest: path of the file with the dataset's manifest.
    :param dataset: name of the dataset, if the file has several.
    :param store: path or URI of the store, instead of the connection's.
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param contract: path of a data contract, relative to the manifest, as the DAG's other tasks have it.
    :param poke_interval: seconds between two checks.
    :param outage: seconds without a response after which an error event is sent; None: no error event.
    """

    def __init__(
        self,
        *,
        manifest: str,
        dataset: str | None = None,
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        contract: str | None = None,
        poke_interval: float = DEFAULT_POKE_INTERVAL,
        outage: float | None = DEFAULT_OUTAGE,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.manifest = manifest
        self.dataset = dataset
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.contract = contract
        self.poke_interval = poke_interval
        self.outage = outage
        self._last_problem: str | None = None
        self._outage_start = 0.0
        self._watch: Watch | None = None
        self._environment: TaskEnvironment | None = None
        self._stale = 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        cls = type(self)
        fields = ("manifest", "dataset", "store", "odf_conn_id", "contract", "poke_interval", "outage")
        return f"{cls.__module__}.{cls.__qualname__}", {name: getattr(self, name) for name in fields}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from airflow_provider_odf.source.fetching import UNKNOWN
        from airflow_provider_odf.source.http_client import shared_client

        changes = ChangeFilter()
        await asyncio.sleep(random.uniform(0, min(self.poke_interval, _LONGEST_DELAY)))  # noqa: S311 - no secret
        async with shared_client() as shared:
            while True:
                try:
                    async with shared.turns:
                        version = await self._check(shared.client)
                    event = {"status": "changed"}
                except Exception as e:
                    version = self._message(e)
                    event = {"status": "error", "message": version}
                if changes.should_report(version, time.monotonic(), longest=version == UNKNOWN):
                    yield TriggerEvent(event)  # type: ignore[no-untyped-call]
                await asyncio.sleep(self.poke_interval)

    async def has_changed(self) -> bool:
        """Check once whether the source has new data. A source that cannot be reached has none.

        :raises OdfError: the source does not fit the manifest; a retry does not help.
        """
        return await self._check(None) is not None

    async def _check(self, client: httpx.AsyncClient | None) -> str | None:
        """Return the version of new data together with the source state, since a change of either is reported. None if
        nothing is new, or the source is unavailable now."""
        from airflow_provider_odf.source.fetchers import check
        from airflow_provider_odf.source.fetching import UNKNOWN

        position, environment = await asyncio.to_thread(self._position)
        state = position.state
        try:
            version = await check(
                position.fetch,
                base=position.base,
                state=state,
                environment=environment,
                client=client,
                options=settings.read().options,
                rejected=position.rejected,
                discarded=position.discarded,
            )
        except OdfError as e:
            if not e.is_transient or self._lasts_too_long(str(e)):
                raise
            return None
        if self._last_problem is not None:
            self.log.info("%s: the source is available again", position.dataset)
            self._last_problem = None
        return version if version in (None, UNKNOWN) or state is None else f"{state.kind} {state.value}: {version}"

    def _message(self, error: Exception) -> str:
        """Return the message of an error event. An unexpected error must not end the trigger, which would then never
        check again; its text may contain secrets and goes to the triggerer's log only."""
        if isinstance(error, OdfError | AirflowException | AirflowRuntimeError):
            return str(error)
        message = f"{self.manifest}: cannot check the source: {type(error).__name__}, see the log of the triggerer"
        if self._is_new(message):
            self.log.error("%s: cannot check the source", self.manifest, exc_info=error)
        return message

    def _lasts_too_long(self, problem: str) -> bool:
        """Return whether an outage is longer than allowed, and log a new problem."""
        if self._is_new(problem):
            self.log.warning("%s; retrying every %s s", problem, self.poke_interval)
        return self.outage is not None and time.monotonic() - self._outage_start >= self.outage

    def _is_new(self, problem: str) -> bool:
        """Return whether a problem differs from that of the last check."""
        if self._last_problem is None:
            self._outage_start = time.monotonic()
        before, self._last_problem = self._last_problem, problem
        return problem != before

    def _position(self) -> tuple[Position, TaskEnvironment]:
        """Return the source with its state, and the environment of its templates."""
        from airflow_provider_odf.cycle.poll import Watch
        from airflow_provider_odf.settings.manifests import load_one

        file = Path(self.manifest)
        if self._watch is None:
            store = OdfHook(self.odf_conn_id, store=self.store).get_conn()
            self._watch = Watch(store, file, lambda: load_one(self.manifest, self.dataset), self.contract)
        position = self._watch.position()
        if self._environment is None or self._stale < time.monotonic():
            self._environment, self._stale = TaskEnvironment.of(file, position.dataset), time.monotonic() + _FRESH
        return position, self._environment

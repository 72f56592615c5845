"""``PollingSourceTrigger``: tells when a dataset's source has something new."""

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

    from airflow_provider_odf.cycle.watch import Position, Watch

DEFAULT_POKE_INTERVAL = 60.0

DEFAULT_OUTAGE = 3600.0

_LONGEST_DELAY = 60.0
"""Seconds over which the first looks of sources that begin to wait together are spread."""

_FRESH = 300.0
"""Seconds for which values of templates are kept: connections and variables are asked of Airflow's API."""


class PollingSourceTrigger(BaseEventTrigger):
    """Looks at a dataset's source again and again, in the triggerer, without taking anything in.

    For a task that waits (`PollingSourceSensor`), and for an asset that starts DAGs::

        AssetWatcher(name="orders", trigger=PollingSourceTrigger(manifest="/dags/orders.yaml"))

    How far the source was read, the dataset's chain says. Each state of the source beyond that is one event:
    ``{"status": "changed"}``, or ``{"status": "error", "message"}`` where the source refuses, or the manifest
    is not valid, so that somebody sees it. A change that is not taken in is told again, after five minutes and then
    ever more rarely, up to once an hour. A source that cannot be reached, or is not there, is asked again: the
    triggerer's log says so once, and an outage that lasts is an error. A source that only a poll can compare (a
    container, FTP, long content without ETag and Last-Modified) is told of once an hour.

    Manifest and store must be seen by the triggerer as by workers.

    :param manifest: path of the file with the dataset's manifest.
    :param dataset: which dataset of the file, where it has several.
    :param store: path or URI of the store, in place of the connection's.
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param poke_interval: seconds between two looks.
    :param outage: seconds without an answer after which that is told as an error; None: never.
    """

    def __init__(
        self,
        *,
        manifest: str,
        dataset: str | None = None,
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        poke_interval: float = DEFAULT_POKE_INTERVAL,
        outage: float | None = DEFAULT_OUTAGE,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.manifest = manifest
        self.dataset = dataset
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.poke_interval = poke_interval
        self.outage = outage
        self._trouble: str | None = None
        self._troubled_since = 0.0
        self._watch: Watch | None = None
        self._environment: TaskEnvironment | None = None
        self._stale = 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        cls = type(self)
        fields = ("manifest", "dataset", "store", "odf_conn_id", "poke_interval", "outage")
        return f"{cls.__module__}.{cls.__qualname__}", {name: getattr(self, name) for name in fields}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from airflow_provider_odf.source import http_ask, watch

        attention = watch.Attention()
        await asyncio.sleep(random.uniform(0, min(self.poke_interval, _LONGEST_DELAY)))  # noqa: S311 - no secret
        async with http_ask.waiting() as shared:
            while True:
                try:
                    async with shared.turns:
                        seen = await self._look(shared.client)
                    event = {"status": "changed"}
                except Exception as e:
                    seen = self._said(e)
                    event = {"status": "error", "message": seen}
                if attention.is_news(seen, time.monotonic(), longest=seen == watch.UNKNOWN):
                    yield TriggerEvent(event)  # type: ignore[no-untyped-call]
                await asyncio.sleep(self.poke_interval)

    async def has_changed(self) -> bool:
        """Whether the source has something new, asked once. A source that cannot be reached has not.

        :raises OdfError: the source is not what the manifest says; asking again does not help.
        """
        return await self._look(None) is not None

    async def _look(self, client: httpx.AsyncClient | None) -> str | None:
        """What the source has beyond how far it was read, and with that, since progress makes it news. None, too, where
        it cannot be asked now.

        :raises OdfError: asking again does not help, or did not for too long.
        """
        from airflow_provider_odf.source.watch import UNKNOWN, look

        position, environment = await asyncio.to_thread(self._where)
        state = position.state
        try:
            seen = await look(
                position.fetch,
                base=position.base,
                state=state,
                environment=environment,
                client=client,
                options=settings.read().options,
            )
        except OdfError as e:
            if not e.is_transient or self._lasts_too_long(str(e)):
                raise
            return None
        if self._trouble is not None:
            self.log.info("%s: the source answers again", position.dataset)
            self._trouble = None
        return seen if seen in (None, UNKNOWN) or state is None else f"{state.kind} {state.value}: {seen}"

    def _said(self, error: Exception) -> str:
        """What an event says of an error. One that nobody foresaw is told, too, since a trigger that it ends does not
        look again; its own words may hold anything, and stay in the triggerer's log."""
        if isinstance(error, OdfError | AirflowException | AirflowRuntimeError):
            return str(error)
        said = f"{self.manifest}: cannot look at the source: {type(error).__name__}, see the log of the triggerer"
        if self._is_new(said):
            self.log.error("%s: cannot look at the source", self.manifest, exc_info=error)
        return said

    def _lasts_too_long(self, trouble: str) -> bool:
        """Whether the source has not answered for longer than it may. Logs what is new of it."""
        if self._is_new(trouble):
            self.log.warning("%s; asking again every %s s", trouble, self.poke_interval)
        return self.outage is not None and time.monotonic() - self._troubled_since >= self.outage

    def _is_new(self, trouble: str) -> bool:
        """Whether the last look had no such trouble."""
        if self._trouble is None:
            self._troubled_since = time.monotonic()
        before, self._trouble = self._trouble, trouble
        return trouble != before

    def _where(self) -> tuple[Position, TaskEnvironment]:
        """The source, how far it was read, and what its templates are filled from."""
        from airflow_provider_odf.cycle.watch import Watch
        from airflow_provider_odf.settings.manifests import load_one

        file = Path(self.manifest)
        if self._watch is None:
            store = OdfHook(self.odf_conn_id, store=self.store).get_conn()
            self._watch = Watch(store, file, lambda: load_one(self.manifest, self.dataset))
        position = self._watch.position()
        if self._environment is None or self._stale < time.monotonic():
            self._environment, self._stale = TaskEnvironment.of(file, position.dataset), time.monotonic() + _FRESH
        return position, self._environment

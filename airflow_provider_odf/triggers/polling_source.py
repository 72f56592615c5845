"""``PollingSourceTrigger``: fires when a dataset's source has new data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import settings
from airflow_provider_odf.hooks.environment import TaskEnvironment
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.threads import in_thread
from airflow_provider_odf.triggers.change import DEFAULT_OUTAGE, DEFAULT_POKE_INTERVAL, ChangeTrigger

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.cycle.poll import Position, Watch

_FRESH = 300.0
"""Seconds for which values of templates are cached: connections and variables need requests to Airflow's API."""


class PollingSourceTrigger(ChangeTrigger):
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

    fields = ("manifest", "dataset", "store", "odf_conn_id", "contract", "poke_interval", "outage")
    what = "source"

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
        super().__init__()
        self.manifest = manifest
        self.dataset = dataset
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.contract = contract
        self.poke_interval = poke_interval
        self.outage = outage
        self._watch: Watch | None = None
        self._environment: TaskEnvironment | None = None
        self._stale = 0.0

    async def has_changed(self) -> bool:
        """Check once whether the source has new data. A source that cannot be reached has none.

        :raises OdfError: the source does not fit the manifest; a retry does not help.
        """
        return await self._check(None) is not None

    @property
    def subject(self) -> str:
        return self.manifest

    async def _version(self, client: httpx.AsyncClient | None) -> str | None:
        """Return the version of new data together with the source state, since a change of either is reported."""
        from airflow_provider_odf.source.fetchers import check
        from airflow_provider_odf.source.fetching import UNKNOWN

        position, environment = await in_thread(self._position)
        state = position.state
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
        return version if version in (None, UNKNOWN) or state is None else f"{state.kind} {state.value}: {version}"

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

"""``DatasetHealthTrigger``: fires when datasets of a store are unhealthy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store

UNREADABLE = "unreadable"

DEFAULT_POKE_INTERVAL = 300.0


class DatasetHealthTrigger(BaseTrigger):
    """Compares datasets of a store with the clock and with their contracts, in the triggerer.

    It yields ``{"status": "unhealthy", "datasets": {NAME: {"health", "reason"}}}`` once a dataset has one of the words,
    or ``{"status": "healthy"}`` when the time to watch is over.

    The triggerer needs access to the store with the same path as workers.

    :param datasets: names of datasets; None for all of the store. One that does not exist has no data.
    :param alert_on: words of health that count.
    :param store: path or URI of the store, instead of the connection's.
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param poke_interval: seconds between two checks.
    :param end: seconds since 1970 at which the watch is over; None: never.
    """

    def __init__(
        self,
        *,
        datasets: Sequence[str] | None,
        alert_on: Sequence[str],
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        poke_interval: float = DEFAULT_POKE_INTERVAL,
        end: float | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.datasets = list(datasets) if datasets is not None else None
        self.alert_on = list(alert_on)
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.poke_interval = poke_interval
        self.end = end

    def serialize(self) -> tuple[str, dict[str, Any]]:
        cls = type(self)
        fields = ("datasets", "alert_on", "store", "odf_conn_id", "poke_interval", "end")
        return f"{cls.__module__}.{cls.__qualname__}", {name: getattr(self, name) for name in fields}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while True:
            unhealthy = await in_thread(self.unhealthy)
            if unhealthy:
                yield TriggerEvent({"status": "unhealthy", "datasets": unhealthy})  # type: ignore[no-untyped-call]
                return
            left = float("inf") if self.end is None else self.end - time.time()
            if left <= 0:
                yield TriggerEvent({"status": "healthy"})  # type: ignore[no-untyped-call]
                return
            await asyncio.sleep(min(self.poke_interval, left))

    def unhealthy(self) -> dict[str, dict[str, str]]:
        """Return the datasets that have one of the words now, with the word and the reason, by name.

        :raises StorageError: the store cannot be read.
        """
        store = OdfHook(self.odf_conn_id, store=self.store).get_conn()
        return {name: {"health": word, "reason": reason} for name, word, reason in self._states(store)}

    def _states(self, store: Store) -> Iterator[tuple[str, str, str]]:
        from airflow_provider_odf.chain.store import parse_alias
        from airflow_provider_odf.health.facts import Facts, read_facts
        from airflow_provider_odf.health.health import Runs, findings

        now = datetime.now(UTC)
        for name in self.datasets if self.datasets is not None else _names(store):
            try:
                dataset = store.get(name)
                if dataset is None:
                    store.check_new(parse_alias(name))
                facts = read_facts(store, dataset) if dataset is not None else Facts()
                finding = next((f for f in findings(facts, Runs(), now) if f.word in self.alert_on), None)
            except Exception as e:  # Any error: the other datasets follow.
                if UNREADABLE in self.alert_on:
                    yield name, UNREADABLE, str(as_odf_error(e))
                continue
            if finding is not None:
                yield name, finding.word, finding.reason


def _names(store: Store) -> list[str]:
    """Return the names of the datasets that a store has, and of those that it had and that are gone."""
    gone = (alias for alias in store.registry.aliases() if store.get(alias) is None)
    lost = [str(alias) for alias in gone if not store.is_forgotten(alias)]
    return [*(str(dataset.alias) for dataset in store.datasets()), *lost]

"""``PollingSourceSensor``: waits until a source has new data."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, conf
from airflow.sdk import BaseSensorOperator

from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.operators.base import airflow_errors
from airflow_provider_odf.operators.lineage import LineageMixin, sources_of
from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.lineage.events import TaskLineage


class PollingSourceSensor(LineageMixin, BaseSensorOperator):
    """Waits until a dataset's source has new data. It fetches and writes nothing. If the source cannot be reached or
    does not exist yet, it waits until its ``timeout``.

    :param manifest: path of the file with the dataset's manifest. (templated)
    :param dataset: name of the dataset, if the file has several. (templated)
    :param store: path or URI of the store, instead of the connection's. (templated)
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param contract: path of a data contract, relative to the manifest, as the DAG's other tasks have it. (templated)
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = ("dataset", "manifest", "store", "contract")
    ui_color = "#d7ecf2"

    def __init__(
        self,
        *,
        manifest: str,
        dataset: str | None = None,
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        contract: str | None = None,
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.manifest = manifest
        self.dataset = dataset
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.contract = contract
        default = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = default if deferrable is None else deferrable

    def execute(self, context: Context) -> Any:
        if not self.deferrable:
            return super().execute(context)
        if self.poke(context):
            return None
        timeout = timedelta(seconds=self.timeout) if self.timeout else None
        return self.defer(trigger=self._trigger(), method_name="execute_complete", timeout=timeout)

    def poke(self, context: Context) -> bool:
        """Return whether the source has new data."""
        with airflow_errors():
            return asyncio.run(self._trigger().has_changed())

    def execute_complete(self, context: Context, event: dict[str, Any]) -> None:
        """Finish after the trigger has fired.

        :raises AirflowFailException: the trigger reported an error.
        """
        if event["status"] != "changed":
            raise AirflowFailException(event["message"])
        self.log.info("%s: the source has new data", self.dataset or self.manifest)

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events
        from airflow_provider_odf.settings.manifests import load_one

        return events.poll(sources_of(load_one(self.manifest, self.dataset)))

    def _trigger(self) -> PollingSourceTrigger:
        return PollingSourceTrigger(
            manifest=self.manifest,
            dataset=self.dataset,
            store=self.store,
            odf_conn_id=self.odf_conn_id,
            contract=self.contract,
            poke_interval=float(self.poke_interval),
            outage=None,
        )

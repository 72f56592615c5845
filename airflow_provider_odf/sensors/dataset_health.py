"""``DatasetHealthSensor``: watches all datasets of a store, and fails once one is unhealthy."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSensorTimeout, conf
from airflow.sdk import BaseSensorOperator

from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.operators.base import airflow_errors
from airflow_provider_odf.triggers.dataset_health import UNREADABLE, DatasetHealthTrigger
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

ALERT_ON = (UNREADABLE, "rejected", "unpublished", "late")
"""Words of health that fail the sensor by default."""


class DatasetHealthSensor(BaseSensorOperator):
    """Watches the datasets of a store until its ``timeout``, and fails once one of them is unhealthy: late against its
    contract, with rejected data, or not readable. The message names them with their reasons. Nothing need arrive for
    this: the promises of contracts are compared with the clock. If all stay healthy, the task succeeds at the timeout.

    A callback of the task or DAG, such as ``on_failure_callback``, sends the alert. The XCom of a failed task is
    ``{NAME: {"health", "reason"}}`` under the key ``unhealthy``. States of runs do not count.

    :param datasets: names of datasets, by default all of the store. (templated)
    :param manifests: folder or file of manifests: their datasets are watched, also those that no run has created.
        (templated)
    :param alert_on: words of health that count, see the page about health.
    :param store: path or URI of the store, instead of the connection's. (templated)
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = ("datasets", "manifests", "store")
    ui_color = "#d7ecf2"

    def __init__(
        self,
        *,
        datasets: Sequence[str] | None = None,
        manifests: str | None = None,
        alert_on: Collection[str] = ALERT_ON,
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.datasets = datasets
        self.manifests = manifests
        self.alert_on = tuple(alert_on)
        self.store = store
        self.odf_conn_id = odf_conn_id
        default = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = default if deferrable is None else deferrable

    def execute(self, context: Context) -> Any:
        if not self.deferrable:
            try:
                return super().execute(context)
            except AirflowSensorTimeout:
                return self._end()
        self.poke(context)
        return self.defer(trigger=self._trigger(time.time() + self.timeout), method_name="execute_complete")

    def poke(self, context: Context) -> bool:
        """Return False, since the watch goes on.

        :raises AirflowFailException: a dataset is unhealthy.
        """
        with airflow_errors():
            unhealthy = self._trigger(None).unhealthy()
        if unhealthy:
            self._fail(context, unhealthy)
        return False

    def execute_complete(self, context: Context, event: dict[str, Any]) -> None:
        """Finish after the trigger has fired.

        :raises AirflowFailException: a dataset is unhealthy.
        """
        if event["status"] == "unhealthy":
            self._fail(context, event["datasets"])
        self._end()

    def _end(self) -> None:
        self.log.info("no dataset was %s while this task watched", " or ".join(self.alert_on))

    def _fail(self, context: Context, unhealthy: dict[str, dict[str, str]]) -> None:
        context["ti"].xcom_push("unhealthy", unhealthy)
        states = "; ".join(
            f"{name} is {state['health']}: {state['reason']}" for name, state in sorted(unhealthy.items())
        )
        raise AirflowFailException(f"{counted(len(unhealthy), 'dataset')} unhealthy: {states}")

    def _trigger(self, end: float | None) -> DatasetHealthTrigger:
        return DatasetHealthTrigger(
            datasets=self._names(),
            alert_on=self.alert_on,
            store=self.store,
            odf_conn_id=self.odf_conn_id,
            poke_interval=float(self.poke_interval),
            end=end,
        )

    def _names(self) -> list[str] | None:
        if self.manifests is None:
            return list(self.datasets) if self.datasets is not None else None
        from airflow_provider_odf.manifest.load import load

        declared = [str(manifest.snapshot.alias) for manifest in load([Path(self.manifests)]).manifests]
        return sorted({*declared, *(self.datasets or ())})

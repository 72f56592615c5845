"""The example DAG that watches the datasets of its folder, as Airflow runs it: deferred, with its trigger."""

import pyarrow as pa
import pytest

from airflow_provider_odf.contract.service_levels import FREQUENCY
from airflow_provider_odf.cycle.candidates import Record, save_record
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import Check
from tests.chain.conftest import Growing

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")]

DAILY = Check(
    *("/servicelevels/frequency", FREQUENCY, "often"), outcome="informational", arguments={"interval": "daily"}
)


def watch(dags):
    dag = dags.dags["watch_health"]
    dag.get_task("watch").timeout = 0.5
    (task,) = dag.test().get_task_instances()
    return str(task.state), task.xcom_pull(task_ids="watch", key="unhealthy")


def test_a_dataset_that_is_late_fails_the_task_that_watches(dags, store):
    assert watch(dags) == ("success", None)
    dataset = store.create(DatasetAlias.parse("bike-stations"))
    growing = Growing(dataset, model.MergeStrategyAppend(), [pa.field("id", pa.int64())])
    growing.add(("+A", 1))
    save_record(dataset, dataset.head(), Record("f00", 1, promises=(DAILY,)))
    state, found = watch(dags)
    assert state == "failed"
    assert {name: entry["health"] for name, entry in found.items()} == {"bike-stations": "late"}
    assert found["bike-stations"]["reason"].startswith(
        "The contract promises updates (daily): the last publication is of 2024-05-02T08:00:00Z, "
    )

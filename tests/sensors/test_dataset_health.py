import asyncio
import time

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_provider_odf import DatasetHealthSensor
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.triggers.dataset_health import DatasetHealthTrigger
from tests.manifests import appending


class Pushed:
    """A task instance that keeps its XComs."""

    def __init__(self):
        self.values = {}

    def xcom_push(self, key, value):
        self.values[key] = value


@pytest.fixture
def context():
    return {"ti": Pushed()}


def sensor(folder, **kwargs):
    return DatasetHealthSensor(task_id="watch", store=str(folder / "store"), poke_interval=0.01, **kwargs)


def test_a_folder_has_datasets_that_no_run_has_created(tmp_path, context):
    (tmp_path / "readings.yaml").write_text(appending())
    watching = sensor(tmp_path, manifests=str(tmp_path), alert_on=["no data"])
    with pytest.raises(AirflowFailException) as failed:
        watching.poke(context)
    assert str(failed.value) == "1 dataset unhealthy: readings is no data: No data was published yet."
    assert context["ti"].values == {
        "unhealthy": {"readings": {"health": "no data", "reason": "No data was published yet."}}
    }


def test_a_dataset_that_is_gone_is_not_readable(tmp_path, context):
    store = Store.open(tmp_path / "store")
    store.storage.put("x", b"")
    store.registry.remember(parse("numbers"), "did:odf:fed01")
    with pytest.raises(AirflowFailException, match=r"numbers is unreadable: .*the dataset did:odf:fed01 is missing"):
        sensor(tmp_path).poke(context)


def parse(name):
    from airflow_provider_odf.manifest.names import DatasetAlias

    return DatasetAlias.parse(name)


def test_all_healthy_until_the_end_is_a_success(tmp_path, context):
    assert sensor(tmp_path, timeout=0.05).execute(context) is None
    with pytest.raises(TaskDeferred) as deferred:
        sensor(tmp_path, deferrable=True, timeout=0.05).execute(context)
    assert (deferred.value.method_name, deferred.value.timeout) == ("execute_complete", None)

    async def first():
        return await asyncio.wait_for(anext(deferred.value.trigger.run()), 10)

    assert asyncio.run(first()).payload == {"status": "healthy"}
    assert sensor(tmp_path).execute_complete(context, {"status": "healthy"}) is None


def test_the_trigger_is_stored_as_it_is_made():
    trigger = DatasetHealthTrigger(datasets=["a"], alert_on=("late",), store="s", poke_interval=5, end=time.time())
    path, arguments = trigger.serialize()
    assert path == "airflow_provider_odf.triggers.dataset_health.DatasetHealthTrigger"
    assert DatasetHealthTrigger(**arguments).serialize() == (path, arguments)

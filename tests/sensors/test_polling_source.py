import asyncio
from datetime import timedelta

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_provider_odf import PollingSourceSensor
from tests.manifests import appending


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "readings.yaml").write_text(appending())
    (tmp_path / "in").mkdir()
    return tmp_path


def sensor(folder, **kwargs):
    manifest, store = str(folder / "readings.yaml"), str(folder / "store")
    return PollingSourceSensor(task_id="wait", manifest=manifest, store=store, poke_interval=0.01, **kwargs)


def test_pokes_until_there_is_something(folder):
    assert sensor(folder).poke({}) is False
    (folder / "in" / "1.csv").write_text("1\n")
    assert sensor(folder).poke({}) is True


def test_asking_changes_nothing(folder):
    sensor(folder).poke({})
    assert not (folder / "store").exists()


def test_goes_on_at_once_where_there_is_something(folder):
    (folder / "in" / "1.csv").write_text("1\n")
    assert sensor(folder, deferrable=True).execute({}) is None


def test_waits_in_the_triggerer(folder):
    with pytest.raises(TaskDeferred) as deferred:
        sensor(folder, deferrable=True, timeout=90).execute({})
    assert deferred.value.method_name == "execute_complete"
    assert deferred.value.timeout == timedelta(seconds=90)
    assert deferred.value.trigger.outage is None

    async def fire():
        events = deferred.value.trigger.run()
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        (folder / "in" / "1.csv").write_text("1\n")
        return (await asyncio.wait_for(waiting, 5)).payload

    event = asyncio.run(fire())
    assert event == {"status": "changed"}
    assert sensor(folder).execute_complete({}, event) is None


def test_reports_the_source_that_it_waits_for(folder):
    (source,) = sensor(folder).get_openlineage_facets_on_start().inputs
    assert (source.namespace, source.name) == ("file", f"{folder}/in")


def test_is_not_deferred_by_default(folder):
    assert sensor(folder).deferrable is False


def test_an_error_of_the_trigger_fails_the_task_for_good(folder):
    with pytest.raises(AirflowFailException, match="no such thing"):
        sensor(folder).execute_complete({}, {"status": "error", "message": "no such thing"})


def test_waits_for_objects(folder, bucket):
    (folder / "readings.yaml").write_text(appending(fetch=f"{{kind: FilesGlob, path: '{bucket.uri}/in/*.csv'}}"))
    assert sensor(folder).poke({}) is False
    with pytest.raises(TaskDeferred) as deferred:
        sensor(folder, deferrable=True, timeout=90).execute({})

    async def fire():
        waiting = asyncio.ensure_future(anext(deferred.value.trigger.run()))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        bucket.put("in/1.csv", b"1\n")
        return (await asyncio.wait_for(waiting, 5)).payload

    assert asyncio.run(fire()) == {"status": "changed"}
    assert sensor(folder).poke({}) is True
    (source,) = sensor(folder).get_openlineage_facets_on_start().inputs
    assert (source.namespace, source.name) == (bucket.uri, "in")

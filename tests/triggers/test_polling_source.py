import asyncio
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
from airflow.triggers.base import BaseEventTrigger

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger
from tests.manifests import appending

GLOB = "{kind: FilesGlob, path: '*.csv'}"
TIME = Instant.parse("2026-05-01T00:00:00Z")
CHANGED = {"status": "changed"}


@pytest.fixture
def watched(tmp_path):
    """The trigger of a dataset with a fetch step, looking as often as it can."""

    def watch(fetch=GLOB):
        (tmp_path / "readings.yaml").write_text(appending(fetch=fetch))
        return PollingSourceTrigger(
            manifest=str(tmp_path / "readings.yaml"), store=str(tmp_path / "store"), poke_interval=0.01
        )

    return watch


def take_in(trigger, kind, value):
    """What a DAG run does: the chain goes on to a state of the source."""
    store = Store.open(trigger.store)
    (manifest,) = load([trigger.manifest]).manifests
    base = apply(store, manifest, TIME)
    dataset = store.dataset("readings")
    draft = Draft(dataset, base)
    draft.append(model.AddData(new_source_state=model.SourceState(source_name="default", kind=kind, value=value)), TIME)
    dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)


class Running:
    """A trigger as the triggerer runs it."""

    def __init__(self, trigger):
        self.events = trigger.run()

    async def next(self):
        return (await asyncio.wait_for(anext(self.events), 5)).payload

    async def says_nothing(self, seconds=0.15):
        """Cancels the trigger if it keeps quiet for so long."""
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(self.events), seconds)


def running(body):
    """Run a coroutine function, and afterwards see to it that nothing is left over."""
    asyncio.run(body())


def test_survives_serialization_without_what_the_manifest_says(watched):
    trigger = watched("{kind: Url, url: 'https://me:hunter2@example.org/'}")
    path, fields = trigger.serialize()
    assert path == "airflow_provider_odf.triggers.polling_source.PollingSourceTrigger"
    assert fields == {
        "manifest": trigger.manifest,
        "dataset": None,
        "store": trigger.store,
        "odf_conn_id": "odf_default",
        "contract": None,
        "poke_interval": 0.01,
        "outage": 3600.0,
    }
    again = resolve_name(path)(**fields)
    assert again.serialize() == (path, fields)
    assert isinstance(again, BaseEventTrigger)


def test_each_new_state_of_a_folder_is_told_once(watched, tmp_path):
    (tmp_path / "1.csv").touch()
    trigger = watched()
    take_in(trigger, "odf/etag", "1.csv")

    async def body():
        run = Running(trigger)
        waiting = asyncio.create_task(run.next())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        (tmp_path / "2.csv").touch()  # empty: it is not new before it has content
        await asyncio.sleep(0.1)
        assert not waiting.done()
        (tmp_path / "2.csv").write_text("x")
        assert await waiting == CHANGED
        (tmp_path / "3.csv").write_text("x")
        assert await run.next() == CHANGED
        take_in(trigger, "odf/etag", "3.csv")
        await run.says_nothing()

    running(body)


def test_the_same_state_does_not_fire_while_a_run_takes_it_in(watched, server):
    trigger = watched(f"{{kind: Url, url: '{server.serve('/a', b'1', etag='v1')}'}}")

    async def body():
        run = Running(trigger)
        assert await run.next() == CHANGED
        server.requests.clear()
        waiting = asyncio.create_task(run.next())
        while len(server.requests) < 3 and not waiting.done():
            await asyncio.sleep(0.01)
        assert not waiting.done()

    running(body)


def test_what_changes_while_it_is_taken_in_is_told(watched, server):
    trigger = watched(f"{{kind: Url, url: '{server.serve('/a', b'1', etag='v1')}'}}")

    async def body():
        run = Running(trigger)
        assert await run.next() == CHANGED
        server.resources["/a"].etag = "v2"
        assert await run.next() == CHANGED
        take_in(trigger, "odf/etag", "v1")
        assert await run.next() == CHANGED
        take_in(trigger, "odf/etag", "v2")
        await run.says_nothing()

    running(body)


def test_a_source_without_validators_is_told_by_its_content(watched, server):
    trigger = watched(f"{{kind: Url, url: '{server.serve('/a', b'1')}'}}")

    async def body():
        run = Running(trigger)
        assert await run.next() == CHANGED
        server.resources["/a"].content = b"2"
        assert await run.next() == CHANGED
        await run.says_nothing()

    running(body)


def test_a_source_that_only_a_poll_can_compare_is_told_once_an_hour(watched):
    async def body():
        run = Running(watched("{kind: Container, image: img}"))
        assert await run.next() == CHANGED
        await run.says_nothing()

    running(body)


def test_a_source_that_is_away_is_asked_again(watched, server):
    url = server.serve("/a", b"1", etag="v1", statuses=[503, 503])

    async def body():
        assert await Running(watched(f"{{kind: Url, url: '{url}'}}")).next() == CHANGED

    running(body)
    assert server.answers == [503, 503, 200]


@pytest.fixture
def logged(watched, monkeypatch):
    """What triggers log."""
    messages = []
    monkeypatch.setattr(
        PollingSourceTrigger,
        "log",
        SimpleNamespace(
            warning=lambda message, *values: messages.append(("warning", message % values)),
            info=lambda message, *values: messages.append(("info", message % values)),
            error=lambda message, *values, exc_info: messages.append(("error", message % values)),
        ),
    )
    return messages


def test_an_outage_is_logged_once_and_told_when_it_lasts(watched, server, logged):
    trigger = watched(f"{{kind: Url, url: '{server.url}/a'}}")
    trigger.outage = 0.1

    async def body():
        run = Running(trigger)
        event = await run.next()
        assert event == {"status": "error", "message": f"{server.url}/a: not found (HTTP 404 Not Found)"}
        await run.says_nothing()

    running(body)
    assert len(server.answers) > 1
    assert logged == [("warning", f"{server.url}/a: not found (HTTP 404 Not Found); retrying every 0.01 s")]


def test_a_source_that_comes_back_is_logged(watched, server, logged):
    url = server.serve("/a", b"1", etag="v1", statuses=[503, 503])
    trigger = watched(f"{{kind: Url, url: '{url}'}}")

    async def body():
        assert await Running(trigger).next() == CHANGED

    running(body)
    assert logged == [
        ("warning", f"{url}: HTTP 503 Service Unavailable; retrying every 0.01 s"),
        ("info", f"{trigger.manifest}: the source is available again"),
    ]


def test_a_source_that_refuses_is_told_once(watched, server):
    url = server.serve("/a", b"1", etag="v1", statuses=[403, 403, 403])

    async def body():
        run = Running(watched(f"{{kind: Url, url: '{url}'}}"))
        event = await run.next()
        assert event["status"] == "error"
        assert "HTTP 403" in event["message"]
        assert await run.next() == CHANGED

    running(body)
    assert server.answers == [403, 403, 403, 200]


def test_an_edited_manifest_counts(watched, server, tmp_path):
    trigger = watched(f"{{kind: Url, url: '{server.url}/a'}}")

    async def body():
        run = Running(trigger)
        waiting = asyncio.create_task(run.next())
        while not server.requests:
            await asyncio.sleep(0.01)
        server.serve("/b", b"1", etag="v1")
        watched(f"{{kind: Url, url: '{server.url}/b'}}")
        assert await waiting == CHANGED

    running(body)
    assert {path for path, _ in server.requests} == {"/a", "/b"}


def test_a_manifest_that_became_invalid_is_told(watched):
    trigger = watched("{kind: Urll}")

    async def body():
        event = await Running(trigger).next()
        assert event["status"] == "error"
        assert "readings.yaml:9:16: " in event["message"]

    running(body)


def test_a_connection_that_is_missing_is_told(watched):
    trigger = watched()
    trigger.store, trigger.odf_conn_id = None, "odf_nowhere"

    async def body():
        event = await Running(trigger).next()
        assert event["status"] == "error"
        assert "odf_nowhere" in event["message"]

    running(body)


def test_an_error_that_nobody_foresaw_does_not_end_the_trigger(watched, tmp_path, logged):
    """There is no such port, which the HTTP library finds out by an exception of its own kind."""
    trigger = watched("{kind: Url, url: \"http://127.0.0.1:${{ env.NO_SUCH_PORT || '99999' }}/?key=hunter2\"}")

    async def body():
        run = Running(trigger)
        event = await run.next()
        assert event == {
            "status": "error",
            "message": f"{trigger.manifest}: cannot check the source: ExceptionGroup, see the log of the triggerer",
        }
        await asyncio.sleep(0.1)
        (tmp_path / "1.csv").write_text("x")
        watched()
        assert await run.next() == CHANGED

    running(body)
    assert logged == [
        ("error", f"{trigger.manifest}: cannot check the source"),
        ("info", f"{trigger.manifest}: the source is available again"),
    ]


def test_values_of_templates_are_looked_up_in_the_triggerer(watched, server, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_VAR_RATES_KEY", "hunter2-hunter2")
    (tmp_path / "odf.yaml").write_text("defaults: {env: {KEY: {variable: rates_key}}}")
    server.serve("/a", b"1", etag="v1")

    async def body():
        url = f"{server.url}/a?key=${{{{ env.KEY }}}}"
        assert await Running(watched(f"{{kind: Url, url: '{url}'}}")).next() == CHANGED

    running(body)
    assert [path for path, _ in server.requests] == ["/a?key=hunter2-hunter2"]


def test_nothing_is_written(watched, tmp_path):
    async def body():
        await Running(watched()).says_nothing()

    running(body)
    assert not Path(tmp_path / "store").exists()


def test_a_server_that_cannot_be_reached_has_nothing_new(watched):
    trigger = watched("{kind: Url, url: 'http://127.0.0.1:9/data.csv'}")
    assert asyncio.run(trigger.has_changed()) is False


@pytest.mark.parametrize(
    ("fetch", "states"),
    [
        ("{{kind: Url, url: '{uri}/in/1.csv'}}", None),
        ("{{kind: FilesGlob, path: '{uri}/in/*.csv'}}", ("1.csv", "2.csv")),
    ],
)
def test_objects_are_checked_without_being_fetched(watched, bucket, fetch, states):
    before = bucket.put("in/1.csv", b"1")
    trigger = watched(fetch.format(uri=bucket.uri))
    take_in(trigger, "odf/etag", states[0] if states else before)

    async def body():
        run = Running(trigger)
        waiting = asyncio.create_task(run.next())
        await asyncio.sleep(0.3)
        assert not waiting.done()
        after = bucket.put("in/2.csv" if states else "in/1.csv", b"2")
        assert await waiting == CHANGED
        take_in(trigger, "odf/etag", states[1] if states else after)
        await run.says_nothing()

    running(body)

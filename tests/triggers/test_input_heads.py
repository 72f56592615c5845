"""The trigger of a derivative whose inputs lie in other stores: on a web server, in an object store, in a folder."""

import asyncio
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest
from airflow.triggers.base import BaseEventTrigger

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from airflow_provider_odf.triggers.input_heads import InputHeadsTrigger
from tests.cycle.derivatives import TIME, commit, derivative, ingest, root, transform

from .test_polling_source import CHANGED, Running, running

UNREADABLE = b"f1620" + b"0" * 64
"""A head without its block."""


@pytest.fixture(params=["https", "s3", "file"])
def orders(request, tmp_path, server, bucket):
    """An input of another store, and what publishes its head to where the trigger looks: returns the location."""
    dataset = root(Store.open(tmp_path / "partner"))
    folder = Path(dataset.location)

    def publish(*events):
        commit(dataset, replay(dataset), *events) if events else ingest(dataset)
        files = [*folder.glob("blocks/*"), folder / "refs/head"]
        for name, content in ((f"odf/orders/{file.relative_to(folder)}", file.read_bytes()) for file in files):
            if request.param == "https":
                server.serve(f"/{name}", content)
            if request.param == "s3":
                bucket.put(name, content)
        places = {"https": f"{server.url}/odf/orders", "s3": f"{bucket.uri}/odf/orders", "file": dataset.uri}
        return places[request.param]

    return dataset, publish


def trigger_of(tmp_path, *inputs):
    return InputHeadsTrigger(dataset="report", inputs=inputs, store=str(tmp_path / "store"), poke_interval=0.01)


def test_each_new_head_is_told_until_the_derivative_has_read_it(orders, tmp_path):
    source, publish = orders
    trigger = trigger_of(tmp_path, publish())
    report = derivative(Store.open(tmp_path / "store"), source)

    async def body():
        run = Running(trigger)
        assert await run.next() == CHANGED  # before the first run
        transform(report, source)
        waiting = asyncio.create_task(run.next())
        await asyncio.sleep(0.2)
        assert not waiting.done()
        publish()
        assert await waiting == CHANGED
        publish()  # while a run takes in the one before
        assert await run.next() == CHANGED
        transform(report, source)
        await run.says_nothing()

    running(body)


def test_after_a_restart_only_what_was_not_read_is_told(orders, tmp_path):
    source, publish = orders
    location = publish()
    report = derivative(Store.open(tmp_path / "store"), source)
    transform(report, source)

    async def body():
        await Running(trigger_of(tmp_path, location)).says_nothing()
        publish()
        assert await Running(trigger_of(tmp_path, location)).next() == CHANGED

    running(body)


def test_only_records_and_newer_watermarks_are_told(orders, tmp_path):
    """A run on other blocks would find the derivative up to date, and leave its position where it was."""
    source, publish = orders
    location = publish(model.SetInfo(description="no records yet"))
    report = derivative(Store.open(tmp_path / "store"), source)

    def unread(offset, watermark, state):
        source_state = model.SourceState(source_name="default", kind="odf/etag", value=state)
        return model.AddData(prev_offset=offset, new_watermark=watermark, new_source_state=source_state)

    async def body():
        await Running(trigger_of(tmp_path, location)).says_nothing()
        publish()
        assert await Running(trigger_of(tmp_path, location)).next() == CHANGED
        transform(report, source)
        run = Running(trigger_of(tmp_path, location))
        waiting = asyncio.create_task(run.next())
        for quiet in (model.SetInfo(description="orders"), unread(0, TIME, "a"), model.SetInfo(description="more")):
            publish(quiet)
            await asyncio.sleep(0.1)
        assert not waiting.done()
        publish()
        publish(model.SetInfo(description="after records"))
        assert await waiting == CHANGED
        transform(report, source)
        publish(unread(1, TIME.plus_ns(10**9), "b"))
        assert await run.next() == CHANGED

    running(body)


def test_a_chain_that_cannot_be_read_is_told(tmp_path, server):
    server.serve("/orders/refs/head", UNREADABLE)

    async def body():
        assert await Running(trigger_of(tmp_path, f"{server.url}/orders")).next() == CHANGED

    running(body)


def test_an_input_that_does_not_exist_yet_is_not_new(tmp_path, server, bucket):
    inputs = (f"{server.url}/nothing", f"{bucket.uri}/nothing", f"{tmp_path.as_uri()}/nothing")

    async def body():
        await Running(trigger_of(tmp_path, *inputs)).says_nothing()

    running(body)
    assert not Path(tmp_path / "store").exists()


def test_a_server_that_refuses_is_told_when_it_lasts(tmp_path, server):
    server.serve("/orders/refs/head", b"", statuses=[403] * 1000)
    trigger = trigger_of(tmp_path, f"{server.url}/orders")
    trigger.outage = 0.1

    async def body():
        event = await Running(trigger).next()
        assert event["status"] == "error"
        assert f"{server.url}/orders/refs/head: HTTP 403 Forbidden" in event["message"]

    running(body)
    assert len(server.answers) > 1


def test_servers_that_do_not_answer_hold_up_nothing(tmp_path, server):
    """More of them than threads, turns and connections to share: neither other triggers wait, nor the process's end."""
    good = server.serve("/orders/refs/head", UNREADABLE).removesuffix("/refs/head")
    program = tmp_path / "triggerer.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tmp_path / "store"), good]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1 {'status': 'changed'}\n", done.stderr


PROGRAM = """
import asyncio, random, socket, sys
from airflow_provider_odf.triggers.input_heads import InputHeadsTrigger
store, good = sys.argv[1:]
random.uniform = lambda *_: 0
silent = socket.create_server(("127.0.0.1", 0), backlog=500)

async def event(location):
    trigger = InputHeadsTrigger(dataset="report", inputs=[location], store=store, poke_interval=1)
    return (await anext(trigger.run())).payload

async def main():
    slow = [asyncio.create_task(event(f"http://127.0.0.1:{silent.getsockname()[1]}/{n}")) for n in range(110)]
    await asyncio.sleep(2)
    print(await asyncio.to_thread(lambda: 1), await asyncio.wait_for(event(good), 20))
    assert not any(task.done() for task in slow)

asyncio.run(main())
"""


def test_survives_serialization():
    trigger = InputHeadsTrigger(dataset="report", inputs=("https://example.org/odf/orders",))
    path, fields = trigger.serialize()
    assert path == "airflow_provider_odf.triggers.input_heads.InputHeadsTrigger"
    assert fields == {
        "dataset": "report",
        "inputs": ["https://example.org/odf/orders"],
        "store": None,
        "odf_conn_id": "odf_default",
        "poke_interval": 60.0,
        "outage": 3600.0,
    }
    assert resolve_name(path)(**fields).serialize() == (path, fields)
    assert isinstance(trigger, BaseEventTrigger)

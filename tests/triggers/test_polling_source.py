import asyncio
import http.server
import threading
from pathlib import Path

import pytest
from airflow.sdk.module_loading import import_string

from airflow_provider_odf.cycle.watch import Position
from airflow_provider_odf.manifest import model
from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger

GLOB = model.FetchStepFilesGlob(path="*.csv")
STATE = model.SourceState(source_name="default", kind="odf/etag", value="1.csv")


def first_event(trigger):
    async def first():
        return (await asyncio.wait_for(anext(trigger.run()), 5)).payload

    return asyncio.run(first())


def test_survives_serialization(tmp_path):
    path, fields = PollingSourceTrigger.of(Position(GLOB, tmp_path, STATE), 5).serialize()
    assert path == "airflow_provider_odf.triggers.polling_source.PollingSourceTrigger"
    assert fields == {
        "fetch": {"kind": "FilesGlob", "path": "*.csv"},
        "base": str(tmp_path),
        "state": {"sourceName": "default", "kind": "odf/etag", "value": "1.csv"},
        "poke_interval": 5,
    }
    assert import_string(path)(**fields).serialize() == (path, fields)


def test_fires_when_there_is_a_file_beyond_the_state(tmp_path):
    (tmp_path / "1.csv").touch()
    trigger = PollingSourceTrigger.of(Position(GLOB, tmp_path, STATE), 0.01)
    assert asyncio.run(trigger.has_changed()) is False
    (tmp_path / "2.csv").touch()
    assert first_event(trigger) == {"status": "changed"}


class Answers(http.server.BaseHTTPRequestHandler):
    """One status after the other."""

    statuses: list[int]

    def do_GET(self):
        self.send_response(self.statuses.pop(0))
        self.send_header("ETag", '"2"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - as http.server calls it

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/data.csv"
        server.shutdown()
        thread.join()


def http_trigger(url):
    return PollingSourceTrigger.of(Position(model.FetchStepUrl(url=url), Path("/"), STATE), 0.01)


def test_asks_again_while_the_source_is_away(server):
    Answers.statuses = [304, 304, 200]
    assert first_event(http_trigger(server)) == {"status": "changed"}
    assert Answers.statuses == []


def test_a_source_that_refuses_is_an_error(server):
    Answers.statuses = [403]
    event = first_event(http_trigger(server))
    assert event["status"] == "error"
    assert "403" in event["message"]


def test_a_server_that_cannot_be_reached_is_asked_again():
    trigger = http_trigger("http://127.0.0.1:9/data.csv")
    assert asyncio.run(trigger.has_changed()) is False

"""A derivative whose input no task of this Airflow publishes: a trigger looks at the input's head."""

import subprocess
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from tests.examples.scheduler import fire_triggers, runs, schedule
from tests.manifests import derived

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.long,
    # Airflow's own.
    pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The HMAC key"),
]

LOADER = "# airflow dag\nfrom airflow_provider_odf import build_dags\n\nglobals().update(build_dags(__file__))\n"
ORDERS = """\
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: in/*.csv}
      read: {kind: Csv, schema: [event_time TIMESTAMP, amount BIGINT]}
      merge: {kind: Append}
"""
QUERY = "\n        kind: Sql\n        engine: spark\n        query: SELECT event_time, amount FROM orders"


class _Web(SimpleHTTPRequestHandler):
    """A web server over a folder."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def partner(tmp_path):
    """Another store with orders, which only a web server shows: its URL, and what publishes a file of orders there."""
    with (
        tempfile.TemporaryDirectory() as place,
        ThreadingHTTPServer(("127.0.0.1", 0), partial(_Web, directory=place)) as web,
    ):
        Thread(target=web.serve_forever, args=(0.01,)).start()
        (Path(place) / "in").mkdir()
        (Path(place) / "orders.yaml").write_text(ORDERS)

        def publish(name, row):
            (Path(place) / "in" / name).write_text(f"{row}\n")
            command = [Path(sys.executable).with_name("odf"), "run", "orders.yaml", "--store", "odf"]
            subprocess.run(command, cwd=place, check=True)

        yield f"http://127.0.0.1:{web.server_address[1]}/odf/orders", publish
        web.shutdown()


def test_a_head_on_a_web_server_wakes_a_derivative(database, store, one_jvm, partner, tmp_path, read_again):
    url, publish = partner
    publish("1.csv", "2026-05-01T09:10:00Z,25")
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "odf.py").write_text(LOADER)
    (folder / "odf.yaml").write_text("defaults: {poke_interval: 1}\n")
    (folder / "amounts.yaml").write_text(derived("amounts", f"{{datasetRef: '{url}'}}", QUERY))
    schedule(read_again(folder))
    assert runs("amounts") == []
    for name, row in (("2.csv", "2026-05-01T11:30:00Z,40"), ("3.csv", "2026-05-02T11:30:00Z,12")):
        publish(name, row)
        dags = read_again(folder)  # Airflow has the triggers of DAGs that are not paused
        fire_triggers()
        schedule(dags)
    done = {"transform": "success", "publish": "success"}
    assert runs("amounts") == [("amounts", "asset_triggered", done)] * 2
    rows = [(row["op"], row["amount"]) for row in tail_rows(store.dataset("amounts"), 10)]
    assert rows == [("+A", 25), ("+A", 40), ("+A", 12)]

"""The DAGs of the page about operators of other providers, run on real servers."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from docs.pages import DOCS
from tests.spark_servers import free_ports

from .test_examples import run

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.slow,
    # Airflow's own.
    pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"),
]

PAGE = (DOCS / "how-to/fetch-with-operators.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
DONE = dict.fromkeys(("push", "merge", "publish"), "success")
NOTHING_NEW = {"push": "success", "merge": "skipped", "publish": "skipped"}


@pytest.fixture
def load(database, store, tmp_path, monkeypatch, read_again):
    """Writes a DAG of the page and a manifest, with folders of the test, and has Airflow read them."""

    def load(dag: str, manifest: str):
        folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
        shutil.rmtree(folder, ignore_errors=True)
        for place in (folder, tmp_path / "in", tmp_path / "manifests"):
            place.mkdir(exist_ok=True)
        (folder / dag).write_text(FILES[dag].replace("/data/", f"{tmp_path}/"))
        (tmp_path / "manifests" / manifest).write_text(FILES[manifest])
        return read_again(folder)

    yield load
    shutil.rmtree(Path(os.environ["AIRFLOW_HOME"]) / "dags", ignore_errors=True)


def rows(store, name, *columns):
    return [tuple(row[column] for column in columns) for row in tail_rows(store.dataset(name), 100)]


@pytest.mark.long
def test_sql(load, store, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps({"conn_type": "sqlite", "host": f"{tmp_path}/shop.db"}))
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, customer TEXT, cents INTEGER)")
        shop.execute("INSERT INTO orders VALUES (1, 'Ada', 1250), (2, 'Bob', NULL)")
        shop.commit()
        dags = load("sql_orders.py", "orders.yaml")
        assert run(dags, "sql_orders") == {"query": "success", **DONE}
        shop.execute("UPDATE orders SET cents = 990 WHERE id = 2")
        shop.execute("DELETE FROM orders WHERE id = 1")
        shop.commit()
        assert run(dags, "sql_orders") == {"query": "success", **DONE}
    assert run(dags, "sql_orders") == {"query": "success", **NOTHING_NEW}
    assert rows(store, "orders", "op", "id", "customer", "cents") == [
        ("+A", 1, "Ada", 1250),
        ("+A", 2, "Bob", None),
        ("-R", 1, "Ada", 1250),
        ("-C", 2, "Bob", None),
        ("+C", 2, "Bob", 990),
    ]


@contextlib.contextmanager
def sftp_server(folder: Path):
    """A server of the files in a folder for the user ``me``; yields its port."""
    import asyncssh

    class Users(asyncssh.SSHServer):
        def begin_auth(self, username: str) -> bool:
            return True

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == ("me", "pa55")

    async def listen():
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=Users,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=str(folder)),
        )

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    try:
        yield server.get_port()
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(server.wait_closed(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.long
def test_sftp(load, store, tmp_path, monkeypatch):
    out = tmp_path / "partner" / "out"
    out.mkdir(parents=True)
    (out / "prices.csv").write_text("event_time,sku,cents\n2026-05-01T00:00:00Z,pen,120\n")
    with sftp_server(out.parent) as port:
        monkeypatch.setenv("AIRFLOW_CONN_PARTNER", f"sftp://me:pa55@127.0.0.1:{port}/?no_host_key_check=true")
        dags = load("sftp_prices.py", "prices.yaml")
        assert run(dags, "sftp_prices") == {"download": "success", **DONE}
        with (out / "prices.csv").open("a") as file:
            file.write("2026-05-02T00:00:00Z,pen,125\n")
        assert run(dags, "sftp_prices") == {"download": "success", **DONE}
    assert rows(store, "prices", "event_time", "sku", "cents") == [
        ("2026-05-01T00:00:00Z", "pen", 120),
        ("2026-05-02T00:00:00Z", "pen", 125),
    ]


@contextlib.contextmanager
def kafka(folder: Path):
    """A broker in KRaft mode; yields its address. `make test-kafka` gets its jars from Maven."""
    java = ["java", "-Xmx512m", "-cp", f"{os.environ['ODF_KAFKA_JARS']}/*"]
    broker, controller = (f"127.0.0.1:{port}" for port in free_ports(2))
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "log.dirs": folder / "logs",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1,
        "group.initial.rebalance.delay.ms": 0,
    }
    (folder / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    identity = ["-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", folder / "server.properties"]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", *identity], check=True, capture_output=True)
    with (folder / "output").open("wb") as output:
        server = subprocess.Popen([*java, "kafka.Kafka", folder / "server.properties"], stdout=output, stderr=output)
    try:
        yield broker
    finally:
        server.terminate()
        server.wait()


@pytest.mark.kafka
def test_kafka(load, store, tmp_path, monkeypatch):
    from confluent_kafka import Producer

    (tmp_path / "kafka").mkdir()
    with kafka(tmp_path / "kafka") as broker:
        consumer = {"bootstrap.servers": broker, "group.id": "odf", "auto.offset.reset": "earliest"}
        connection = {"conn_type": "kafka", "extra": {**consumer, "enable.auto.commit": "false"}}
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(connection))
        producer = Producer({"bootstrap.servers": broker})

        def send(*pages):
            for page in pages:
                producer.produce("clicks", json.dumps({"event_time": "2026-05-01T00:00:00Z", "page": page}))
            assert producer.flush(60) == 0

        send("a", "b")
        dags = load("kafka_clicks.py", "clicks.yaml")
        assert run(dags, "kafka_clicks") == {"consume": "success", "has_messages": "success", **DONE}
        skipped = dict.fromkeys(DONE, "skipped")
        assert run(dags, "kafka_clicks") == {"consume": "success", "has_messages": "success", **skipped}
        send("c")
        assert run(dags, "kafka_clicks") == {"consume": "success", "has_messages": "success", **DONE}
    assert rows(store, "clicks", "page", "partition", "position") == [("a", 0, 0), ("b", 0, 1), ("c", 0, 2)]


def test_what_is_not_run_is_python():
    shown = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert [ast.parse(block) and "GoogleSheets" in block for block in shown] == [False, False, False, True]

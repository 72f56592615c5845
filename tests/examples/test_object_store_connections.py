"""A DAG on a store in a bucket, with credentials in a connection of Airflow's database alone."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from tests.manifests import polled
from tests.s3 import guarded_s3, use

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.long]

MANIFEST = polled(
    "prices",
    '{kind: Url, url: "s3://bucket/in/prices.csv"}',
    "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}",
    "{kind: Snapshot, primaryKey: [sku]}",
    preprocess='{kind: Sql, engine: spark, query: "SELECT upper(sku) AS sku, price FROM input"}',
)
WRONG = "wr0ngSecret"


class Airflow:
    """The command, with a home of its own and no variables of object stores."""

    def __init__(self, home: Path, **variables: str) -> None:
        self.home, self.said = home, ""
        own = {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__FERNET_KEY": "",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "DEBUG",
            "AIRFLOW__ODF__STORE": "s3://bucket/odf",
            "AIRFLOW__ODF__OBJECT_STORE_CONNECTIONS": "s3=lake",
            "AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD": "True",
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
                {"type": "file", "log_file_path": str(home / "lineage.jsonl"), "append": True}
            ),
            "ODF_CACHE_DIR": str(home / "cache"),
            "TMPDIR": str(home),
        }
        self.variables = {name: v for name, v in os.environ.items() if not name.startswith(("AWS_", "ODF_"))}
        self.variables |= own | variables

    def __call__(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "airflow", *arguments]
        done = subprocess.run(command, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.stdout

    def connect(self, server, secret: str) -> None:
        extra = json.dumps({"endpoint_url": server.endpoint, "region_name": "us-east-1"})
        options = ["--conn-type", "aws", "--conn-login", server.key, "--conn-password", secret, "--conn-extra", extra]
        assert "Successfully added" in self("connections", "add", "lake", *options)

    def run(self, dag: str) -> str:
        said = self("dags", "test", dag)
        self.said += said
        return said

    def texts(self) -> dict[str, str]:
        """All that Airflow and the package have written, but for the connections of the database."""
        files = [f for f in self.home.rglob("*") if f.is_file() and not f.name.startswith("airflow.db")]
        with closing(sqlite3.connect(self.home / "airflow.db")) as database:
            rows = [line for line in database.iterdump() if not line.startswith('INSERT INTO "connection"')]
        written = {str(file): file.read_bytes().decode(errors="replace") for file in files}
        return {"output": self.said, "database": "\n".join(rows), **written}


def test_a_dag_shows_the_secret_of_its_connection_nowhere(tmp_path: Path, monkeypatch):
    airflow = Airflow(tmp_path)
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "prices.yaml").write_text(MANIFEST)
    (tmp_path / "dags" / "odf.yaml").write_text("defaults: {retries: 0}\n")
    shutil.copy(Path(__file__).parents[2] / "dags" / "odf.py", tmp_path / "dags")
    airflow("db", "migrate")
    with guarded_s3() as server:
        use(server.endpoint, monkeypatch)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
        object_stores.client("s3://bucket").put("in/prices.csv", b"sku,price\na,1\n")

        airflow.connect(server, WRONG)
        refused = airflow.run("prices")
        assert "(check the credentials of connection 'lake' and their rights to this bucket)" in refused
        airflow("connections", "delete", "lake")
        airflow.connect(server, server.secret)
        airflow.run("prices")
        rows = state_rows(Store.open("s3://bucket/odf", tmp_path / "copies").dataset("prices"))
        assert [(row["sku"], row["price"]) for row in rows] == [("A", 1)]

        client = object_stores.client("s3://bucket")
        keys = [meta["path"] for page in client.list() for meta in page]
        texts = airflow.texts() | {k: bytes(client.get(k).bytes()).decode(errors="replace") for k in keys}
        assert all("prices" in texts[place] for place in ("output", "database", str(tmp_path / "lineage.jsonl")))
        assert [place for place, text in texts.items() if server.secret in text or WRONG in text] == []

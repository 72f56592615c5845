"""``odf contract test --server`` against a real PostgreSQL, read by its JDBC driver from Maven."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dialect.risingwave.postgres import Postgres, programs, running

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

DRIVER = "org.postgresql:postgresql:42.7.7"
CONTRACT = """\
dataContractSpecification: 1.1.0
id: urn:shop
info: {title: Shop, version: 1.0.0}
servers:
  production: {type: postgres, host: 127.0.0.1, port: PORT, database: postgres, schema: shop}
  closed: {type: postgres, host: 127.0.0.1, port: 1, database: postgres}
  odd: {type: postgres, host: 'h/?socketFactory=x', database: postgres}
  lake: {type: kafka, host: broker, topic: orders}
models:
  orders:
    fields:
      id: {type: int, primaryKey: true}
      total: {type: decimal, precision: 6, scale: 2, minimum: 0}
      placed: {type: timestamp, required: true}
      customer: {type: text, references: customers.id}
  customers:
    fields:
      id: {type: text, unique: true, format: uuid}
"""
DATA = """
CREATE ROLE reader LOGIN PASSWORD 'secret';
CREATE SCHEMA shop;
CREATE TABLE shop.customers (id uuid);
INSERT INTO shop.customers VALUES ('243c25e5-a081-43a9-aeab-6d5d5b6cb5e2');
CREATE TABLE shop.orders (id int, total numeric(8, 2), placed timestamptz, customer uuid);
INSERT INTO shop.orders VALUES (1, 10.5, now(), '243c25e5-a081-43a9-aeab-6d5d5b6cb5e2'), (2, -1, null, null),
  (2, 12345.67, now(), '00000000-0000-0000-0000-000000000000');
GRANT USAGE ON SCHEMA shop TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO reader;
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[tuple[Postgres, int]]:
    if (folder := programs()) is None:
        pytest.skip("no PostgreSQL is installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(folder, f"-c listen_addresses=127.0.0.1 -p {port}") as server:
        server.run("psql", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-U", "tests", "-q", text=DATA)
        yield server, port


def test_a_database(postgres: tuple[Postgres, int], tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONTRACT.replace("PORT", str(postgres[1])))

    def report(server: str, packages: str = DRIVER) -> tuple[int, dict]:
        command = [str(Path(sys.executable).with_name("odf")), "contract", "test", "c.yaml", "--format", "json"]
        connection = {"AIRFLOW_CONN_PRODUCTION": "postgres://reader:secret@unused/"}
        environment = {**os.environ, **connection, "ODF_SPARK_PACKAGES": packages}
        done = subprocess.run(
            [*command, "--server", server], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert "secret" not in done.stdout + done.stderr
        return done.returncode, json.loads(done.stdout)

    code, tested = report("production")
    failed = {c["path"]: (c["outcome"], c["failedRows"]) for c in tested["checks"] if c["outcome"] != "pass"}
    assert (code, failed) == (
        1,
        {
            "/models/orders/fields/id/primaryKey": ("fail", 2),
            "/models/orders/fields/total/precision": ("fail", 1),
            "/models/orders/fields/total/minimum": ("fail", 1),
            "/models/orders/fields/placed/required": ("fail", 1),
            "/models/orders/fields/customer/references": ("fail", 1),
        },
    )
    reasons = {}
    for server, packages in (
        ("production", ""),
        ("closed", DRIVER),
        ("odd", ""),
        ("lake", ""),
    ):
        code, tested = report(server, packages)
        assert {c["outcome"] for c in tested["checks"]} == {"error"}
        reasons[server] = (code, tested["checks"][0]["reason"])
    codes = {server: code for server, (code, _) in reasons.items()}
    assert codes == {"production": 3, "closed": 3, "odd": 3, "lake": 3}
    assert f"Spark lacks the library to read this: set ODF_SPARK_PACKAGES={DRIVER}" in reasons["production"][1]
    assert "Connection refused" in reasons["closed"][1]
    assert reasons["odd"][1].startswith("server odd: host 'h/?socketFactory=x' is not the name or address of a host")
    assert "type kafka (Spark needs org.apache.spark:spark-sql-kafka" in reasons["lake"][1]

"""``odf contract test`` on objects: the reports are those of the same files in a folder, and Spark has no connector."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from airflow_provider_odf import object_stores
from airflow_provider_odf.cli import app
from airflow_provider_odf.owned_folders import TemporaryDirectory
from tests.object_servers import ObjectServer
from tests.s3 import use

pytestmark = pytest.mark.spark

CONTRACT = """\
dataContractSpecification: 1.1.0
id: urn:shop
info: {title: Shop, version: 1.0.0}
servers:
  lake: {type: TYPE, location: 'LOCATION', FORMAT}
models:
  orders:
    fields:
      id: {type: long, primaryKey: true}
      total: {type: decimal, minimum: 0}
      day: {type: date, required: true}
  customers:
    fields:
      id: {type: long, unique: true}
"""

FILES: dict[str, bytes] = {
    "orders/a.csv": b"id,total,day\n1,10.5,2026-05-01\n2,-1,2026-05-02\n",
    "orders/b.csv": b"id,total,day\n2,x,\n",
    "orders/_SUCCESS": b"",
    "orders/.hidden.csv": b"id\n1\n",
    "customers/c.csv": b'id,name\n1,"a\nb"\n1,c\n',
}
JSON = {
    "orders/a.json": b'[{"id": 1, "total": 3, "day": "2026-05-01"}, {"id": 1, "total": -3}]',
    "orders/b2.json": b'[{"id": 9, "total": 1, "day": "yesterday"}]',
    "orders/other.txt": b"no json",
    "customers/a.json": b'[{"id": 7}, {"id": "x"}]',
}


def parquet(folder: Path) -> dict[str, bytes]:
    """Folders of partitions, with files of different columns, and one that is not Parquet."""
    files = {"orders/day=2026-05-03/broken.parquet": b"nothing", "customers/day=2026-05-01/c.parquet": b""}
    for number, columns in enumerate(({"id": [1, 2]}, {"id": [2], "total": [-5]})):
        pq.write_table(pa.table(columns), folder / "part")
        files[f"orders/day=2026-05-0{number + 1}/part {number}.parquet"] = (folder / "part").read_bytes()
        files["customers/day=2026-05-01/c.parquet"] = (folder / "part").read_bytes()
    return files


@pytest.mark.parametrize(
    ("name", "location", "format_"),
    [
        pytest.param("csv", "{model}", "format: csv", marks=pytest.mark.long),
        pytest.param("json", "{model}/{a,b}*.json", "format: json, delimiter: array", marks=pytest.mark.long),
        ("parquet", "{model}/", "format: parquet"),
    ],
)
def test_reports_are_those_of_files(
    object_server: ObjectServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    location: str,
    format_: str,
):
    if object_server.bucket.startswith(("gs", "az")):
        pytest.skip("contracts have no servers of this type")
    object_server.use(monkeypatch)
    monkeypatch.delenv("ODF_SPARK_PACKAGES", raising=False)
    files = {"csv": FILES, "json": JSON, "parquet": parquet(tmp_path)}[name]
    kind = "s3" if object_server.bucket.startswith("s3") else "azure"
    for key, content in files.items():
        (tmp_path / "data" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / key).write_bytes(content)
        obstore.put(object_stores.client(object_server.bucket), f"contracts {name}/{key}", content)
    here, there = f"file:{tmp_path}/data", f"{object_server.bucket}/contracts {name}"
    remote = report(tmp_path, kind, f"{there}/{location}", format_)
    local = report(tmp_path, "local", f"{tmp_path}/data/{location}", format_)
    assert remote == [check | {"reason": check["reason"].replace(here, there)} for check in local]
    assert {check["outcome"] for check in remote} >= {"pass", "fail"}


def write_contract(folder: Path, kind: str, location: str, format_: str) -> str:
    text = CONTRACT.replace("TYPE", kind).replace("LOCATION", location).replace("FORMAT", format_)
    if kind == "local":
        text = text.replace("location:", "path:")
    (folder / "c.yaml").write_text(text)
    return str(folder / "c.yaml")


def report(folder: Path, kind: str, location: str, format_: str) -> list[dict[str, Any]]:
    """The results of the clauses."""
    contract = write_contract(folder, kind, location, format_)
    result = CliRunner().invoke(app, ["contract", "test", contract, "--format", "json"])
    assert result.exit_code in (1, 3), result.output
    assert ("copying " in result.stderr) == (kind != "local" and "nothing" not in location)
    return json.loads(result.stdout)["checks"]


MAIN = "from airflow_provider_odf.cli import main; main()"


def test_copies_of_a_killed_process_go_at_the_next_start(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    use(s3, monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    obstore.put(object_stores.client("s3://bucket"), "killed/orders/a.csv", FILES["orders/a.csv"])
    contract = write_contract(tmp_path, "s3", "s3://bucket/killed/{model}", "format: csv")
    command = [sys.executable, "-c", MAIN, "contract", "test", contract]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "copying 1 object of s3://bucket/killed/orders" in process.stderr.readline()
        copies = list[Path]()
        while process.poll() is None and not copies:
            copies = [*tmp_path.glob("temporary/*/s3/bucket/killed/orders/a.csv")]
            time.sleep(0.05)
        process.kill()
    assert copies[0].exists()
    TemporaryDirectory("another").remove()
    assert not copies[0].exists()


def test_a_name_that_spark_cannot_read_is_named(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    use(s3, monkeypatch)
    content = FILES["orders/a.csv"]
    for key in ("orders/2026-05-01T00:00.csv", "orders/ts=07/a.csv", "customers/ts=08:00/a.csv"):
        obstore.put(object_stores.client("s3://bucket"), f"colons/{key}", content)

    def reasons(location: str) -> dict[str, set[str]]:
        found = report(tmp_path, "s3", f"s3://bucket/colons/{location}", "format: csv")
        errors = [check for check in found if check["outcome"] == "error"]
        return {model: {c["reason"] for c in errors if c["model"] == model} for model in ("orders", "customers")}

    refused = "Spark cannot read a name with a colon: rename the object"
    orders = {f"s3://bucket/colons/orders/2026-05-01T00:00.csv: {refused}"}
    customers = {f"s3://bucket/colons/customers/ts=08:00/a.csv: {refused}"}
    assert reasons("{model}*/") == {"orders": orders, "customers": set()}
    assert reasons("{model}/ts*/") == {"orders": set(), "customers": customers}


def test_what_cannot_be_read_is_an_error_of_each_clause(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The endpoint is that of the server, and variables have the credentials."""
    for variable, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    found = report(tmp_path, "s3", "s3://bucket/nothing/{model}*.csv", f"endpointUrl: '{s3}'")
    assert {(check["outcome"], check["reason"]) for check in found if check["model"] == "orders"} == {
        ("error", "no file matches s3://bucket/nothing/orders*.csv")
    }
    monkeypatch.setattr(object_stores, "_access_of", object_stores._inherited)
    object_stores._client.cache_clear()

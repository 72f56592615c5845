"""Secrets in each place where a run may have one: it leaves them nowhere but there, however it ends."""

import base64
import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.manifests import polled

from .test_object_store_connections import Airflow

pytestmark = [pytest.mark.airflow, pytest.mark.long]

READ, MERGE = "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}", "{kind: Snapshot, primaryKey: [sku]}"
ADDRESS = (
    "http://${{ env.LOGIN }}:${{ env.PASSWORD }}@127.0.0.1:${{ env.PORT }}/orders.csv?year=2024&q=${{ env.QUERY }}"
)
FILTER = "address = X'ae78736cd615f374d3085123a210448e74fc6393' and block_number > 13325304"
FETCHES = {
    "orders": f"""
        kind: Url
        url: "{ADDRESS}"
        headers:
        - {{name: X-Api-Key, value: "${{{{ env.HEADER }}}}"}}
        - {{name: X-Other, value: "${{{{ env.EXTRA }}}}"}}""",
    "messages": """
        kind: Mqtt
        host: 127.0.0.1
        port: 9
        username: me
        password: "${{ env.MQTT_PASSWORD }}"
        topics: [{path: a}]""",
    "logs": f"{{kind: EthereumLogs, chainId: 1, filter: {json.dumps(FILTER)}, signature: Transfer(uint256 amount)}}",
    "objects": "{kind: Url, url: 's3://bucket/a.csv'}",
}
PIPE = '[{kind: Pipe, command: [sh, -c, "env >&2; test ! -e $MARK || exit 3; cat"]}]'
INVALID = polled("invalid", "{kind: Url, url: 'http://me:SECRET@h/a', headers: {X-Api-Key: SECRET}}", READ) + "  - [\n"
SETTINGS = """\
defaults:
  retries: 0
  env:
    PASSWORD: {connection: api}
    EXTRA: {connection: api, field: extra.token}
    HEADER: {variable: api_key}
"""
CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:orders
info: {title: Orders, version: 1.0.0}
models: {orders: {fields: {price: {type: long, minimum: 0}}}}
"""
NAMES = ("PASSWORD", "EXTRA", "HEADER", "QUERY", "MQTT", "NODE", "AWS", "PIPE", "WRITTEN")
SECRETS = {name: f"zqCanary{number}/+{name.lower()}" for number, name in enumerate(NAMES)}


def leaks(texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return the name of each text that has a secret in any spelling, with the name of the secret."""
    forms = {
        (name, form)
        for name, value in SECRETS.items()
        for form in (
            value,
            quote(value, safe=""),
            base64.b64encode(value.encode()).decode(),
            base64.b64encode(f"me:{value}".encode()).decode(),
            value.replace("/", "\\/"),
            f"Canary{value[8:]}",
        )
    }
    return sorted({(place, name) for place, text in texts.items() for name, form in forms if form in text})


@pytest.fixture
def dags(tmp_path):
    folder = tmp_path / "dags"
    folder.mkdir()
    for name, fetch in FETCHES.items():
        read, prepare = ("{kind: Parquet}", "") if name == "logs" else (READ, PIPE if name == "orders" else "")
        (folder / f"{name}.yaml").write_text(
            polled(name, fetch, read, MERGE if name == "orders" else "{kind: Append}", prepare)
        )
    (folder / "odf.yaml").write_text(SETTINGS)
    (folder / "orders.datacontract.yaml").write_text(CONTRACT)
    (folder / "invalid.yaml").write_text(INVALID.replace("SECRET", SECRETS["WRITTEN"]))
    shutil.copy(Path(__file__).parents[2] / "dags" / "odf.py", folder)
    return folder


@pytest.fixture
def environment(server, tmp_path):
    """The variables of a worker that both Airflow and `odf` have."""
    return {
        "LOGIN": "me",
        "QUERY": SECRETS["QUERY"],
        "MQTT_PASSWORD": SECRETS["MQTT"],
        "PORT": server.url.rpartition(":")[2],
        "DB_PASSWORD": SECRETS["PIPE"],
        "MARK": str(tmp_path / "mark"),
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": SECRETS["AWS"],
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture
def ends(server, tmp_path):
    """A function that makes runs of `orders` end in each way, and yields what the output then says."""

    def echo(resource) -> None:
        path, headers = server.requests[-1]
        resource.status_body = f"bad: {path} {json.dumps(headers)} {' '.join(SECRETS.values())}".encode()

    def each(variables: dict[str, str]):
        server.serve("/orders.csv", b"sku,price\na,1\n", on_request=echo)
        resource = server.resources["/orders.csv"]
        yield "published 1 record"
        resource.content = b"sku,price\na,2\n"
        for status in (401, 500):
            resource.statuses = [status] * 9
            yield f"HTTP {status}"
        resource.statuses = []
        (tmp_path / "mark").touch()
        yield "exit code 3"
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            variables["PORT"] = str(closed.getsockname()[1])
            yield "orders.csv"

    return each


def was_sent(server) -> bool:
    requests = json.dumps(server.requests)
    basic = base64.b64encode(f"me:{SECRETS['PASSWORD']}".encode()).decode()
    return all(text in requests for text in ("&q=zqCanary3", SECRETS["HEADER"], SECRETS["EXTRA"], basic))


def test_dags_leave_no_secret(server, tmp_path, environment, dags, ends):
    connection = {
        "conn_type": "http",
        "password": SECRETS["PASSWORD"],
        "extra": json.dumps({"token": SECRETS["EXTRA"]}),
    }
    airflow = Airflow(
        tmp_path,
        **environment,
        AIRFLOW__ODF__STORE=str(tmp_path / "store"),
        AIRFLOW__ODF__OBJECT_STORE_CONNECTIONS="",
        AIRFLOW__ODF__DATAHUB_FILE=str(tmp_path / "datahub"),
        AIRFLOW__ODF__ETHEREUM_NODES=f"1={server.url}/{SECRETS['NODE']}?key={SECRETS['NODE']}",
        AIRFLOW_CONN_API=json.dumps(connection),
        AIRFLOW_VAR_API_KEY=SECRETS["HEADER"],
    )
    (tmp_path / "datahub").mkdir()
    airflow("db", "migrate")
    for expected in ends(airflow.variables):
        assert expected in airflow.run("orders")
    for name in ("messages", "logs", "objects"):
        assert "poll" in airflow.run(name)
    assert was_sent(server)
    # At level DEBUG, Airflow logs each value that it is asked to mask.
    airflow.said = "\n".join(line for line in airflow.said.splitlines() if "msg=MaskSecret(" not in line)
    texts = airflow.texts()
    assert all(any(part in place for place in texts) for part in ("/lineage.jsonl", "/datahub/", "/store/", "/logs/"))
    assert leaks(texts) == [(str(dags / "invalid.yaml"), "WRITTEN")]


def test_the_command_leaves_no_secret(server, tmp_path, environment, dags, ends):
    variables = environment | {
        **{name: SECRETS[name] for name in ("PASSWORD", "EXTRA", "HEADER")},
        "ODF_ETHEREUM_NODES": f"1={server.url}/{SECRETS['NODE']}?key={SECRETS['NODE']}",
        "ODF_CACHE_DIR": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    said = list[str]()

    def odf(*arguments: str) -> str:
        command = [Path(sys.executable).with_name("odf"), *arguments]
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said.append(done.stdout)
        return done.stdout

    store = ["--store", str(tmp_path / "store")]
    for expected in ends(variables):
        assert expected in odf("run", "-v", str(dags / "orders.yaml"), *store)
    for name in ("run", "plan"):
        assert "invalid.yaml" in odf(name, str(dags), *store)
    for name in ("messages", "logs", "objects"):
        assert name in odf("run", "-v", str(dags / f"{name}.yaml"), *store)
    odf("validate", str(dags))
    odf("log", "orders", *store)
    assert was_sent(server)
    files = {str(f): f.read_bytes().decode(errors="replace") for f in tmp_path.rglob("*") if f.is_file()}
    assert leaks({"output": "\n".join(said), **files}) == [(str(dags / "invalid.yaml"), "WRITTEN")]

"""A report of each kind of clause, and a server that speaks DataHub's ingest endpoints."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from airflow_provider_odf.datahub.proposals import Assertions, Batch, Options, Run
from airflow_provider_odf.lineage.dataset import Subject
from airflow_provider_odf.lineage.naming import stores
from airflow_provider_odf.protocol import Check, CheckResult, Column, Contract, ContractReport

SUBJECT = Subject(
    names=stores.s3("lake", "acme/orders"),
    store="s3://lake/",
    alias="acme/orders",
    id="did:odf:fed0126262ba1",
    columns=(
        Column("offset", "BIGINT", False),
        Column("id", "STRING", False),
        Column("total", "DECIMAL(12,2)"),
        Column("lines", "ARRAY<STRUCT<sku: STRING, amount: INT>>"),
    ),
    description="All orders",
)
DATASET = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/acme/orders,PROD)"
FIELDS = "/models/orders/fields"
SKU = "[version=2.0].[type=struct].[type=array].[type=struct].lines.[type=string].sku"


def clause(path: str, kind: str, outcome: str = "pass", **properties: Any) -> tuple[Check, CheckResult]:
    of_result = {"expected", "observed", "rows", "failed_rows", "reason"}
    own = {name: properties.pop(name) for name in of_result & {*properties}}
    properties["outcome"] = properties.pop("outcome_of_check", "")
    check = Check(path, kind, f"clause {kind}", model="orders", line=7, **properties)
    common = {"field": check.field, "severity": check.severity, "model": "orders", "line": 7}
    return check, CheckResult(path, kind, outcome, check.description, **common, **own)


def made(*clauses: tuple[Check, CheckResult], **properties: Any) -> Assertions:
    """The assertions of a run over these clauses."""
    checks, results = zip(*clauses, strict=True)
    contract = Contract("urn:datacontract:orders", "orders", "d1", checks, "1.0.0", specification="DCS 1.1.0")
    report = ContractReport(contract.id, "d1", "orders", results, tested_rows=50)
    batch = Batch("f1620aa", "SELECT * FROM `acme/orders` WHERE offset BETWEEN 100 AND 149", (100, 149))
    context = {"dag_id": "acme.orders", "task_id": "contract_test"}
    run = Run("01941f29-7c00-7087-8906-40e512c257bd", 1767225600000, batch, "https://airflow/odf/reports/x", context)
    return Assertions(contract, report, SUBJECT, run, properties.pop("options", Options()))


@dataclass
class DataHub:
    """A server's URL, the proposals that it took, the paths of all requests, and the aspects that it has."""

    url: str = ""
    proposals: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    aspects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    status: int = 200

    def values(self, aspect: str) -> dict[str, Any]:
        """The last value of an aspect for each URN."""
        return {p["entityUrn"]: json.loads(p["aspect"]["value"]) for p in self.proposals if p["aspectName"] == aspect}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: DataHub

    def do_GET(self) -> None:
        self._note()
        url = urlsplit(self.path)
        if url.path == "/config":
            self._answer(200, {"noCode": "true", "versions": {"acryldata/datahub": {"version": "v1.4.0"}}})
            return
        aspect = self.state.aspects.get((unquote(url.path.removeprefix("/aspects/")), parse_qs(url.query)["aspect"][0]))
        self._answer(200, {"aspect": aspect}) if aspect else self._answer(404, {"message": "not found"})

    def do_POST(self) -> None:
        self._note()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.state.status != 200 or "?action=ingestProposal" not in self.path:
            self._answer(max(self.state.status, 400), {"message": "refused"})
            return
        self.state.proposals += body.get("proposals") or [body["proposal"]]
        self._answer(200, {"value": "ok"})

    def _note(self) -> None:
        self.state.requests.append(self.path)
        self.state.tokens.add(self.headers.get("Authorization"))

    def _answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def datahub() -> Iterator[DataHub]:
    """A DataHub server without any metadata."""
    state = DataHub()
    handler = type("Handler", (_Handler,), {"state": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield state
        server.shutdown()
        thread.join()

"""Pages for the links of tasks: blocks and contract reports as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import PlainTextResponse

from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.ui.ticket import Ticket

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.protocol import CheckResult, ContractReport


def create_app() -> FastAPI:
    """Return the pages. Airflow shows them to users who may read the DAG that links to them."""
    app = FastAPI(title="Open Data Fabric", docs_url=None, redoc_url=None, openapi_url=None)
    guard = [Depends(requires_access_dag("GET"))]
    app.get("/blocks/{dag_id}/{ticket}", dependencies=guard)(block)
    app.get("/reports/{dag_id}/{ticket}", dependencies=guard)(report)
    return app


def block(dag_id: str, ticket: str) -> PlainTextResponse:
    """Return a metadata block in the manifest's spelling. Literal secrets are masked: readers of a DAG may be others
    than its author."""
    from airflow_provider_odf.manifest.public import dump
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    with _open(dag_id, ticket) as (dataset, block_hash):
        content = dump_yaml(dump(dataset.block(block_hash)))
    return _text(f"# {dataset.alias}, block {block_hash}\n{content}")


def report(dag_id: str, ticket: str) -> PlainTextResponse:
    """Return why the candidate that ends in a block was held back, and its contract report."""
    from airflow_provider_odf.cycle.rejected import load

    with _open(dag_id, ticket) as (dataset, block_hash):
        record = load(dataset, block_hash)
    if record is None:
        raise HTTPException(404, f"block {block_hash} of {dataset.alias} has no contract report")
    lines = [f"input of {dataset.alias} held back: {reason}" for reason in record.held]
    if record.report is not None:
        lines += _report_lines(str(dataset.alias), block_hash, record.report)
    return _text("\n".join(lines) + "\n")


@contextmanager
def _open(dag_id: str, text: str) -> Iterator[tuple[Dataset, str]]:
    """Yield the dataset and the block of a link. Errors become 404, because their messages may have paths of the
    server."""
    from airflow_provider_odf.chain.store import Store

    try:
        ticket = Ticket.read(text, dag_id)
        yield Store.open(ticket.store).dataset(ticket.dataset), ticket.block_hash
    except OdfError as e:
        raise HTTPException(404, "the link is not valid, or its block no longer exists") from e


def _report_lines(dataset: str, block_hash: str, report: ContractReport) -> Iterator[str]:
    yield f"contract {report.contract} on {dataset}: {report.result}"
    yield f"block {block_hash}, {report.tested_rows} rows tested"
    yield ""
    yield from (_result_line(result) for result in report.results)


def _result_line(result: CheckResult) -> str:
    """Return a line such as ``fail  price: at least 0 (1 row: -1 at offset 3)``."""
    actual = f" ({result.reason})" if result.reason and result.outcome != "pass" else ""
    severity = "" if result.severity == "error" else f" [{result.severity}]"
    return f"{result.outcome:<13} {result.description}{severity}{actual}"


def _text(content: str) -> PlainTextResponse:
    return PlainTextResponse(content, headers={"X-Content-Type-Options": "nosniff"})

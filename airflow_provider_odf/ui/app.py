"""Blocks and contract reports as text, for the links of tasks."""

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
    """The pages. Who reads them is logged in and may read the DAG that the page was linked from."""
    app = FastAPI(title="Open Data Fabric", docs_url=None, redoc_url=None, openapi_url=None)
    guard = [Depends(requires_access_dag("GET"))]
    app.get("/blocks/{dag_id}/{ticket}", dependencies=guard)(block)
    app.get("/reports/{dag_id}/{ticket}", dependencies=guard)(report)
    return app


def block(dag_id: str, ticket: str) -> PlainTextResponse:
    """A metadata block in the manifest's spelling, without literal secrets: who may read a DAG is not always its
    author."""
    from airflow_provider_odf.manifest.public import dump
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    with _opened(dag_id, ticket) as (dataset, block_hash):
        found = dataset.block(block_hash)
    return _text(f"# {dataset.alias}, block {block_hash}\n{dump_yaml(dump(found))}")


def report(dag_id: str, ticket: str) -> PlainTextResponse:
    """Why the candidate that ends in a block was held back, and what the data contract said of it."""
    from airflow_provider_odf.cycle.rejected import load

    with _opened(dag_id, ticket) as (dataset, block_hash):
        record = load(dataset, block_hash)
    if record is None:
        raise HTTPException(404, f"no contract was tested on block {block_hash} of {dataset.alias}")
    lines = [f"input of {dataset.alias} held back: {reason}" for reason in record.held]
    if record.report is not None:
        lines += _report_lines(str(dataset.alias), block_hash, record.report)
    return _text("\n".join(lines) + "\n")


@contextmanager
def _opened(dag_id: str, text: str) -> Iterator[tuple[Dataset, str]]:
    """The dataset and the block that a link is for. An error is a page that is not there; its own words may hold
    paths of the server."""
    from airflow_provider_odf.chain.store import Store

    try:
        ticket = Ticket.read(text, dag_id)
        yield Store.open(ticket.store).dataset(ticket.dataset), ticket.block_hash
    except OdfError as e:
        raise HTTPException(404, "there is nothing at this link, or no longer") from e


def _report_lines(dataset: str, block_hash: str, report: ContractReport) -> Iterator[str]:
    yield f"contract {report.contract} on {dataset}: {report.result}"
    yield f"block {block_hash}, {report.tested_rows} rows tested"
    yield ""
    yield from (_result_line(result) for result in report.results)


def _result_line(result: CheckResult) -> str:
    """``fail  price: at least 0 (found 1 row: -1 at offset 3)``."""
    found = f" (found {result.actual})" if result.actual and result.outcome != "pass" else ""
    severity = "" if result.severity == "error" else f" [{result.severity}]"
    return f"{result.outcome:<13} {result.description}{severity}{found}"


def _text(content: str) -> PlainTextResponse:
    return PlainTextResponse(content, headers={"X-Content-Type-Options": "nosniff"})

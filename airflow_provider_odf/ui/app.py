"""Pages for the links of tasks: blocks as YAML, and contract reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, PlainTextResponse

from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.ui.signed_link import Ticket

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # The pages have values of data, and neither scripts nor anything from other places.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


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
    from airflow_provider_odf.manifest.public_source import dump
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    with _open(dag_id, ticket) as (dataset, block_hash):
        content = dump_yaml(dump(dataset.block(block_hash)))
    return _text(f"# {dataset.alias}, block {block_hash}\n{content}")


def report(dag_id: str, ticket: str) -> HTMLResponse:
    """Return why the candidate that ends in a block was held back, and its contract report."""
    from airflow_provider_odf.cycle.rejected import load
    from airflow_provider_odf.ui.report_page import page

    with _open(dag_id, ticket) as (dataset, block_hash):
        record = load(dataset, block_hash)
    if record is None:
        raise HTTPException(404, f"block {block_hash} of {dataset.alias} has no contract report")
    return HTMLResponse(page(str(dataset.alias), block_hash, record), headers=_HEADERS)


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


def _text(content: str) -> PlainTextResponse:
    return PlainTextResponse(content, headers=_HEADERS)

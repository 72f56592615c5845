"""The pages about datasets, and those that links of tasks lead to.

Each page is behind Airflow's login, and asks for the right to read the DAG of its dataset.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse

from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.ui import dataset_pages, pages
from airflow_provider_odf.ui.catalog_page import catalog
from airflow_provider_odf.ui.data_page import data, download
from airflow_provider_odf.ui.lineage_page import all_lineage, lineage
from airflow_provider_odf.ui.problem_page import problem
from airflow_provider_odf.ui.signed_link import Ticket
from airflow_provider_odf.ui.trends_page import trends

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset

log = logging.getLogger(__name__)

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # The pages have values of data, and neither scripts nor anything from other places.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}

_PAGES: Mapping[str, Callable[..., HTMLResponse]] = {
    **dataset_pages.PAGES,
    "/data": data,
    "/trends": trends,
    "/lineage": lineage,
}
"""Path after that of the DAG -> page."""


def create_app() -> FastAPI:
    """Return the pages. Airflow shows them to users who may read the DAG that they are about."""
    app = FastAPI(title="Open Data Fabric", docs_url=None, redoc_url=None, openapi_url=None)
    guard = [Depends(requires_access_dag("GET"))]
    app.get("/blocks/{dag_id}/{ticket}", dependencies=guard)(block)
    app.get("/reports/{dag_id}/{ticket}", dependencies=guard)(report)
    app.get("/pages.css")(pages.stylesheet)
    app.get("/datasets", dependencies=guard, response_class=HTMLResponse)(catalog)
    app.get("/lineage", dependencies=guard, response_class=HTMLResponse)(all_lineage)
    app.get("/datasets/{dag_id}/reports/{block_hash}", dependencies=guard)(report_of_block)
    app.get("/datasets/{dag_id}/data/download", dependencies=guard)(download)
    for path, page in _PAGES.items():
        app.get(f"/datasets/{{dag_id}}{path}", dependencies=guard, response_class=HTMLResponse)(page)
    for error in (HTTPException, RequestValidationError, OdfError, OSError, Exception):
        app.exception_handler(error)(_problem)
    return app


async def _problem(request: Request, error: Exception) -> HTMLResponse:
    """Return the page of an error. One that nobody foresaw is logged."""
    if not isinstance(error, HTTPException | RequestValidationError | OdfError | OSError):
        log.error("page %s failed", request.url.path, exc_info=error)
    return problem(error, request.path_params.get("dag_id"))


def block(dag_id: str, ticket: str) -> PlainTextResponse:
    """Return a metadata block in the manifest's spelling. Literal secrets are masked: readers of a DAG may be others
    than its author."""
    with _open(dag_id, ticket) as (dataset, block_hash):
        content = dataset_pages.block_text(dataset, block_hash)
    return PlainTextResponse(f"# {dataset.alias}, block {block_hash}\n{content}", headers=_HEADERS)


def report(dag_id: str, ticket: str) -> HTMLResponse:
    """Return why the candidate that ends in a block was held back, and its contract report."""
    with _open(dag_id, ticket) as (dataset, block_hash):
        return _report(dataset, block_hash)


def report_of_block(subject: dataset_pages.SubjectOf, block_hash: str) -> HTMLResponse:
    """Return the page of `report` for a block of the dataset of a DAG."""
    if not is_hash(block_hash):
        raise InvalidInput(f"{block_hash!r} is not the hash of a block")
    return _report(subject.dataset, block_hash)


def _report(dataset: Dataset, block_hash: str) -> HTMLResponse:
    from airflow_provider_odf.cycle.rejected import load
    from airflow_provider_odf.ui.report_page import page

    if (record := load(dataset, block_hash)) is None:
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

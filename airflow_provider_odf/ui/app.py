"""The pages about datasets, and those that links of tasks lead to.

Each page is behind Airflow's login, and asks for the right to read the DAG of its dataset.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.ui import contract_page, dataset_pages, decision_pages, pages, task_pages, verification_page
from airflow_provider_odf.ui.catalog_page import catalog
from airflow_provider_odf.ui.data_page import data, download
from airflow_provider_odf.ui.lineage_page import all_lineage, lineage
from airflow_provider_odf.ui.problem_page import problem
from airflow_provider_odf.ui.publications_page import publications_page
from airflow_provider_odf.ui.trends_page import trends

log = logging.getLogger(__name__)

_PAGES: Mapping[str, Callable[..., Any]] = {
    **dataset_pages.PAGES,
    "/data": data,
    **contract_page.PAGES,
    "/publications": publications_page,
    "/trends": trends,
    "/lineage": lineage,
}
"""Path after that of the DAG -> page."""


def create_app() -> FastAPI:
    """Return the pages. Airflow shows them to users who may read the DAG that they are about."""
    app = FastAPI(title="Open Data Fabric", docs_url=None, redoc_url=None, openapi_url=None)
    guard = [Depends(requires_access_dag("GET"))]
    app.get("/blocks/{dag_id}/{ticket}", dependencies=guard, response_class=HTMLResponse)(task_pages.block)
    app.get("/reports/{dag_id}/{ticket}", dependencies=guard, response_class=HTMLResponse)(task_pages.report)
    app.get("/pages.css")(pages.stylesheet)
    app.get("/datasets", dependencies=guard, response_class=HTMLResponse)(catalog)
    app.get("/lineage", dependencies=guard, response_class=HTMLResponse)(all_lineage)
    app.get("/datasets/{dag_id}/data/download", dependencies=guard)(download)
    for path, page in _PAGES.items():
        app.get(f"/datasets/{{dag_id}}{path}", dependencies=guard, response_class=HTMLResponse)(page)
    decision_pages.register(app, guard)
    verification_page.register(app, guard)
    for error in (HTTPException, RequestValidationError, OdfError, OSError, Exception):
        app.exception_handler(error)(_problem)
    return app


async def _problem(request: Request, error: Exception) -> HTMLResponse:
    """Return the page of an error. One that nobody foresaw is logged."""
    if not isinstance(error, HTTPException | RequestValidationError | OdfError | OSError):
        log.error("page %s failed", request.url.path, exc_info=error)
    return problem(error, request.path_params.get("dag_id"), is_action=request.method == "POST")

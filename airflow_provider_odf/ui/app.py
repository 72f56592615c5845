"""The pages about datasets, those that links of tasks lead to, and errors as pages: what is wrong and what to do.

Each page is behind Airflow's login, and asks for the right to read the DAG of its dataset; each form asks for the right
to trigger it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.api_fastapi.logging.decorators import action_logging
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from airflow_provider_odf.errors import DatasetGone, DatasetNotFound, InvalidInput, OdfError, StorageError
from airflow_provider_odf.operators.links import airflow_path
from airflow_provider_odf.ui import block_pages, contract_pages, rejected_pages, verification
from airflow_provider_odf.ui.airflow_api import ManifestNotValid
from airflow_provider_odf.ui.all_lineage_page import all_lineage
from airflow_provider_odf.ui.catalog_page import catalog, waiting
from airflow_provider_odf.ui.columns_page import columns
from airflow_provider_odf.ui.completeness_page import completeness
from airflow_provider_odf.ui.data_page import data, download
from airflow_provider_odf.ui.forms import require_right, require_token
from airflow_provider_odf.ui.lineage_page import lineage
from airflow_provider_odf.ui.overview import overview
from airflow_provider_odf.ui.pages import public, render, stylesheet
from airflow_provider_odf.ui.trends_page import trends

log = logging.getLogger(__name__)

_PAGES: Mapping[str, Callable[..., Any]] = {
    "/datasets": catalog,
    "/candidates": waiting,
    "/lineage": all_lineage,
    "/blocks/{dag_id}/{ticket}": block_pages.linked_block,
    "/reports/{dag_id}/{ticket}": contract_pages.linked_report,
    "/datasets/{dag_id}": overview,
    "/datasets/{dag_id}/columns": columns,
    "/datasets/{dag_id}/blocks": block_pages.blocks,
    "/datasets/{dag_id}/blocks/{block_hash}": block_pages.block,
    "/datasets/{dag_id}/runs/{run_id:path}": block_pages.run,
    "/datasets/{dag_id}/data": data,
    "/datasets/{dag_id}/data/download": download,
    "/datasets/{dag_id}/publications": contract_pages.publications,
    "/datasets/{dag_id}/contract": contract_pages.contract,
    "/datasets/{dag_id}/contract/{block_hash}": contract_pages.report,
    "/datasets/{dag_id}/rejected": rejected_pages.candidates,
    "/datasets/{dag_id}/rejected/{block_hash}": rejected_pages.candidate,
    "/datasets/{dag_id}/completeness": completeness,
    "/datasets/{dag_id}/trends": trends,
    "/datasets/{dag_id}/lineage": lineage,
    "/datasets/{dag_id}/verification": verification.verification_page,
}
"""Path -> page."""

_FORMS: Mapping[str, tuple[Callable[..., Any], str]] = {
    # Airflow logs a run that a user triggers. There is no REST API to log anything else.
    "/rejected/{block_hash}/publish": (rejected_pages.publish, ""),
    "/rejected/{block_hash}/retest": (rejected_pages.retest, ""),
    "/rejected/{block_hash}/discard": (rejected_pages.discard, "discard_rejected_candidate"),
    "/verification": (verification.verify_now, "verify_dataset"),
}
"""Path after that of the dataset -> what the form does, and its name in Airflow's log."""

_UNKNOWN = "The address leads to no page. The catalog of datasets has links to all pages."
"""Message instead of those of the framework, ``Not Found`` and ``Method Not Allowed``, which do not say what to do."""
_ADMINISTRATOR = "Ask an administrator of Airflow for the right to"
_HTTP = {
    401: ("You are not logged in", "Log in to Airflow, then open the page again."),
    403: ("You may not see this page", f"{_ADMINISTRATOR} read this DAG and its assets."),
    404: ("This page does not exist", ""),
    405: ("This page does not exist", ""),
    409: ("This was decided before", ""),
}
"""Status -> title of its page, and its message, empty where the error says more."""
_ERRORS: Mapping[type[Exception], tuple[int, str]] = {
    ManifestNotValid: (409, "The manifest is not valid"),
    DatasetNotFound: (404, "This was not found"),
    InvalidInput: (400, "This cannot be shown"),
    DatasetGone: (410, "The dataset is gone"),
    StorageError: (503, "The store cannot be read"),
    OSError: (503, "The store cannot be read"),
    OdfError: (500, "The dataset cannot be read"),
    Exception: (500, "This page failed"),
}
"""Error -> status and title of its page; the first that fits counts."""
_LOGIN = "/api/v2/auth/login"
_NOTHING_DECIDED = "Nothing was decided"


def create_app() -> FastAPI:
    """Return the pages. Airflow shows them to users who may read the DAG that they are about."""
    app = FastAPI(title="Open Data Fabric", docs_url=None, redoc_url=None, openapi_url=None)
    guard = [Depends(requires_access_dag("GET"))]
    app.get("/pages.css")(stylesheet)
    for path, page in _PAGES.items():
        app.get(path, dependencies=guard, response_class=HTMLResponse)(page)
    for path, (action, logged) in _FORMS.items():
        form = [*guard, Depends(require_right), Depends(require_token)]
        form += [Depends(action_logging(logged))] if logged else []
        app.post(f"/datasets/{{dag_id}}{path}", dependencies=form)(action)
    for error in (HTTPException, RequestValidationError, OdfError, OSError, Exception):
        app.exception_handler(error)(_problem)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    """Return the page of an error, and log one that nobody foresaw. A browser without a login is led to it and back."""
    dag_id, is_action = request.path_params.get("dag_id"), request.method == "POST"
    if isinstance(error, HTTPException) and error.status_code == 401 and _is_opened_in_a_browser(request):
        return RedirectResponse(f"{airflow_path(_LOGIN)}?{urlencode({'next': str(request.url)})}")
    back = request.url.path.rpartition("/")[0] if is_action else None
    if isinstance(error, HTTPException):
        status, title, message = _http_words(error, is_action)
        about = {"title": title, "message": message, "dag_id": dag_id if status == 404 else None, "back": back}
        return render("problem.html", status, **about)
    status, title, message = _words(error)
    if title == "This page failed":
        log.error("page %s failed", request.url.path, exc_info=error)
    title = _NOTHING_DECIDED if is_action else title
    return render("problem.html", status, title=title, message=message, dag_id=dag_id, back=back)


def _is_opened_in_a_browser(request: Request) -> bool:
    return request.method == "GET" and "text/html" in request.headers.get("Accept", "")


def _http_words(error: HTTPException, is_action: bool) -> tuple[int, str, str]:
    status = error.status_code
    if is_action and status == 403:
        return 403, "You may not do this", f"{_ADMINISTRATOR} trigger this DAG."
    title, message = _HTTP.get(status, (_NOTHING_DECIDED if is_action else "The page cannot be shown", ""))
    is_unnamed = status in (404, 405) and error.detail == HTTPStatus(status).phrase
    return status, title, _UNKNOWN if is_unnamed else message or error.detail


def _words(error: Exception) -> tuple[int, str, str]:
    """Return status, title and message of an error that is not HTTP's."""
    if isinstance(error, RequestValidationError):
        # A parameter that a page and its dependencies share is reported by each of them.
        wrong = "; ".join(dict.fromkeys(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors()))
        return 422, "This cannot be shown", f"The address has parameters that are not valid: {wrong}"
    status, title = next(words for kind, words in _ERRORS.items() if isinstance(error, kind))
    if status == 503:
        reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else public(error)
        return status, title, f"{reason}. Check that the API server can read the store, then reload."
    if isinstance(error, OdfError):
        return status, title, public(error)
    return status, title, "This is a bug: the log of the API server has the details. Please report it."

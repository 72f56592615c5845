"""Errors as pages: what is wrong and what to do, without paths of the server."""

from __future__ import annotations

import re
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from airflow_provider_odf.errors import DatasetGone, DatasetNotFound, InvalidInput, OdfError, StorageError
from airflow_provider_odf.ui.pages import render

_FOLDERS = re.compile(r"(?:file:/+|(?<![\w.…:/])/+)(?:[^\s/:;,'\"`()]+/)+")
_STORE_OPTION = re.compile(r"--store ('[^']*'|[^\s`]+)")

_TITLES = {
    401: "You are not logged in",
    403: "You may not see this page",
    404: "This page does not exist",
    405: "This page does not exist",
    409: "This was decided before",
}
_ADVICE = {
    401: "Log in to Airflow, then open the page again.",
    403: "Ask an administrator of Airflow for the right to read this DAG and its assets.",
}
_UNKNOWN = "The address leads to no page. The catalog of datasets has links to all pages."
"""Message instead of those of the framework, ``Not Found`` and ``Method Not Allowed``, which do not say what to do."""

_NOTHING_DECIDED = "Nothing was decided"
_NO_ACTION = ("You may not do this", "Ask an administrator of Airflow for the right to trigger this DAG.")


def problem(error: Exception, dag_id: str | None, *, is_action: bool = False) -> HTMLResponse:
    """Return the page of an error; ``is_action`` says that the request was to change something."""
    if isinstance(error, HTTPException):
        if is_action and error.status_code == 403:
            return _page(403, *_NO_ACTION, None)
        status = error.status_code
        is_unnamed = error.detail == HTTPStatus(status).phrase and status in (404, 405)
        message = _UNKNOWN if is_unnamed else _ADVICE.get(status, error.detail)
        title = _TITLES.get(status, _NOTHING_DECIDED if is_action else "The page cannot be shown")
        return _page(status, title, message, dag_id if status == 404 else None)
    status, title, message = _words(error)
    return _page(status, _NOTHING_DECIDED if is_action else title, message, dag_id)


def _page(status: int, title: str, message: str, dag_id: str | None) -> HTMLResponse:
    return render("problem.html", status, title=title, message=message, dag_id=dag_id)


def _words(error: Exception) -> tuple[int, str, str]:
    """Return status, title and message of an error that is not HTTP's."""
    if isinstance(error, DatasetNotFound):
        return 404, "This was not found", public(str(error))
    if isinstance(error, RequestValidationError):
        # A parameter that a page and its dependencies share is reported by each of them.
        wrong = "; ".join(dict.fromkeys(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors()))
        return 422, "This cannot be shown", f"The address has parameters that are not valid: {wrong}"
    if isinstance(error, InvalidInput):
        return 400, "This cannot be shown", public(str(error))
    if isinstance(error, DatasetGone):
        return 410, "The dataset is gone", public(str(error))
    if isinstance(error, StorageError | OSError):
        reason = public(str(error)) if isinstance(error, StorageError) else error.strerror or type(error).__name__
        return 503, "The store cannot be read", f"{reason}. Check that the API server can read the store, then reload."
    if isinstance(error, OdfError):
        return 500, "The dataset cannot be read", public(str(error))
    return 500, "This page failed", "This is a bug: the log of the API server has the details. Please report it."


def public(message: str) -> str:
    """Return a message without the folders in it, and without the store of a command: they are of no use to readers."""
    return _FOLDERS.sub("…/", _STORE_OPTION.sub("--store STORE", message))

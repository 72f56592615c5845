"""The page about the verification of a dataset, and the form that starts one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.api_fastapi.logging.decorators import action_logging
from fastapi import Depends, FastAPI, status
from fastapi.responses import HTMLResponse, RedirectResponse

from airflow_provider_odf.ui import verification
from airflow_provider_odf.ui.dataset_pages import SubjectOf
from airflow_provider_odf.ui.decision_form import TokenOf, require_right, require_token
from airflow_provider_odf.ui.problem_page import public

_PAGE = "/verification"


def register(app: FastAPI, guard: Sequence[Any]) -> None:
    """Add the page and the form to an app; ``guard`` has the dependencies of all pages."""
    path = f"/datasets/{{dag_id}}{_PAGE}"
    app.get(path, dependencies=guard, response_class=HTMLResponse)(verification_page)
    form = [*guard, Depends(require_right), Depends(require_token), Depends(action_logging("verify_dataset"))]
    app.post(path, dependencies=form)(verify_now)


def verification_page(subject: SubjectOf, token: TokenOf) -> HTMLResponse:
    """Return how far the newest verification is, or what it found. The page reloads itself while one runs."""
    newest = verification.newest(subject.pages_folder)
    problem = public(newest.problem) if newest is not None else ""
    return subject.render(
        "verification.html", "", verification=newest, problem=problem, token=token, head=subject.entry.head
    )


def verify_now(subject: SubjectOf, user: GetUserDep) -> RedirectResponse:
    """Start a verification, unless one runs."""
    verification.start(subject.dataset, subject.store.work_area, subject.pages_folder, user.get_name())
    return RedirectResponse(subject.path(_PAGE), status.HTTP_303_SEE_OTHER)

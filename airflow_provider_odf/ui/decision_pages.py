"""Pages about rejected candidates, and the forms that decide on them.

To publish a candidate or to test it again, a page starts a run of the dataset's DAG with the decision in its conf: see
`operators.decision`. Only discarding is done by the API server, since it changes nothing but the candidate's record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.api_fastapi.logging.decorators import action_logging
from fastapi import Depends, FastAPI, HTTPException, Request, status
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_odf.author import Author
from airflow_provider_odf.cycle import decisions, rejected, tested
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, StorageError
from airflow_provider_odf.ui.candidate_view import CandidateView, candidate_view
from airflow_provider_odf.ui.dataset_pages import SubjectOf
from airflow_provider_odf.ui.decision_form import ReasonOf, TokenOf, require_right, require_token
from airflow_provider_odf.ui.decision_runs import DecisionRun, decision_runs, start_run

_DECIDED = {
    tested.DISCARDED: "Somebody has discarded this candidate.",
    tested.ACCEPTED: "Somebody has decided to publish this candidate: the next run that merges the same input does.",
    tested.LOST: "The report of this candidate is missing or damaged: trigger the DAG to merge its input again.",
}

RunsOf = Annotated[list[DecisionRun], Depends(decision_runs)]


def register(app: FastAPI, guard: Sequence[Any]) -> None:
    """Add the pages and the forms to an app; ``guard`` has the dependencies of all pages."""
    path = "/datasets/{dag_id}/rejected"
    app.get(path, dependencies=guard, response_class=HTMLResponse)(candidates)
    app.get(f"{path}/{{block_hash}}", dependencies=guard, response_class=HTMLResponse)(candidate)
    form = [*guard, Depends(require_right), Depends(require_token)]
    app.post(f"{path}/{{block_hash}}/publish", dependencies=form)(publish)
    app.post(f"{path}/{{block_hash}}/retest", dependencies=form)(retest)
    # Airflow logs a run that a user triggers. There is no REST API to log anything else.
    logged = [*form, Depends(action_logging("discard_rejected_candidate"))]
    app.post(f"{path}/{{block_hash}}/discard", dependencies=logged)(discard)


def candidates(subject: SubjectOf) -> HTMLResponse:
    """Return the rejected candidates of a dataset, those that wait for a decision first."""
    head = subject.history.state.head
    entries = [
        (rejection, tested.status(subject.dataset, rejection, head))
        for rejection in reversed(list(rejected.rejections(subject.dataset)))
    ]
    entries.sort(key=lambda entry: entry[1] != tested.WAITING)
    return subject.render("candidates.html", "/rejected", entries=entries)


def candidate(subject: SubjectOf, block_hash: str, token: TokenOf, runs: RunsOf) -> Response:
    """Return a rejected candidate; that of a published one leads to its report."""
    try:
        view = candidate_view(subject, block_hash)
    except DatasetNotFound:
        if rejected.load(subject.dataset, block_hash) is None:
            raise
        return RedirectResponse(subject.path(f"/contract/{block_hash}"), status.HTTP_303_SEE_OTHER)
    return subject.render("candidate.html", "/rejected", view=view, token=token, runs=runs)


def _waiting(subject: SubjectOf, block_hash: str, runs: RunsOf) -> CandidateView:
    """Return the candidate of a form.

    :raises HTTPException: it is published, or somebody decided on it.
    """
    try:
        view = candidate_view(subject, block_hash)
    except DatasetNotFound as e:
        if rejected.load(subject.dataset, block_hash) is None:
            raise
        raise HTTPException(409, "This candidate is published: nothing is left to decide.") from e
    if view.status in _DECIDED:
        raise HTTPException(409, _DECIDED[view.status])
    if (run := next((r for r in runs if r.is_active), None)) is not None:
        raise HTTPException(409, f"{run.user or 'Somebody'} has decided: run {run.run_id} is {run.state}.")
    return view


WaitingOf = Annotated[CandidateView, Depends(_waiting)]


async def publish(request: Request, view: WaitingOf, reason: ReasonOf) -> RedirectResponse:
    """Start the run that publishes a candidate."""
    await start_run(request, view.subject, decisions.PUBLISH, view.block_hash, reason)
    return _page_of(view)


async def retest(request: Request, view: WaitingOf, reason: ReasonOf) -> RedirectResponse:
    """Start the run that tests a candidate again."""
    decisions.to_test_again(view.subject.dataset, view.rejection)
    await start_run(request, view.subject, decisions.RETEST, view.block_hash, reason)
    return _page_of(view)


def discard(view: WaitingOf, reason: ReasonOf, user: GetUserDep) -> RedirectResponse:
    """Discard a candidate."""
    dataset, rejection = view.subject.dataset, view.rejection
    if view.status == tested.SUPERSEDED:
        raise InvalidInput(f"{rejection.ref} is superseded: the head has moved since, so no decision is needed")
    try:
        decisions.discard(dataset, rejection, Author(user.get_name(), reason))
    except (OSError, StorageError) as e:
        command = f"odf rejected discard {dataset.alias} {rejection.ref} --store STORE"
        raise HTTPException(
            503, f"The API server cannot write to the store. Where that is allowed, run: {command}"
        ) from e
    return _page_of(view)


def _page_of(view: CandidateView) -> RedirectResponse:
    return RedirectResponse(view.subject.path(f"/rejected/{view.block_hash}"), status.HTTP_303_SEE_OTHER)

"""Forms that change something: who may send them, and the token that only a page of this Airflow can have made."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.providers.common.compat.sdk import conf
from fastapi import Depends, Form, HTTPException, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer

from airflow_provider_odf.author import checked_reason
from airflow_provider_odf.errors import InvalidInput

_HOURS = 12

require_right = requires_access_dag("POST", DagAccessEntity.RUN)
"""Dependency: the right to trigger the DAG of the path."""


def _token(request: Request, dag_id: str, user: GetUserDep) -> str | None:
    """Return the token for forms of a user about a DAG, or None if the user may not trigger it."""
    try:
        require_right(request, user)
    except HTTPException:
        return None
    token = _serializer().dumps([str(user.get_id()), dag_id])
    return token if isinstance(token, str) else token.decode()


def require_token(dag_id: str, user: GetUserDep, token: Annotated[str, Form()] = "") -> None:
    """Check the token of a form.

    :raises HTTPException: it was not made for this user and this DAG, or long ago.
    """
    try:
        content = _serializer().loads(token, max_age=_HOURS * 3600)
    except BadSignature:
        content = None
    if content != [str(user.get_id()), dag_id]:
        raise HTTPException(400, "The form is too old, or was not made for you: open the page again, then decide.")


def _reason(reason: Annotated[str, Form()] = "", confirmed: Annotated[str, Form()] = "") -> str:
    """Return the reason of a decision.

    :raises InvalidInput: there is none, it is too long, or the decision is not confirmed.
    """
    if (checked := checked_reason(reason)) is None:
        raise InvalidInput("a decision needs a reason: write why, for those who look later")
    if confirmed != "yes":
        raise InvalidInput("the decision is not confirmed: check the box beside its button")
    return checked


TokenOf = Annotated[str | None, Depends(_token)]
ReasonOf = Annotated[str, Depends(_reason)]


def _serializer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(conf.get("api", "secret_key"), salt="airflow-provider-odf-decision")

"""Messages as lines of JSON, with their names and the protocol version. Standard library only."""

from __future__ import annotations

import json
import typing
from typing import Any

from airflow_provider_odf.protocol.json_values import from_json, to_json
from airflow_provider_odf.protocol.messages import OPERATIONS, InternalError, InvalidQuery, Progress, Request, Response

VERSION = 1
"""Protocol version. It increases if a change would make an older engine misread a message."""


def dumps_request(request: Request) -> str:
    """Return one line of JSON: ``{"protocolVersion": 1, "message": "MergeRequest", "content": {...}}``."""
    return _envelope(type(request).__name__, request)


def loads_request(text: str) -> Request:
    """Return the request in a line of JSON.

    :raises ValueError: the text is not a request of this protocol version.
    """
    message, content = _open(text)
    requests = {request.__name__: request for request, _ in OPERATIONS.values()}
    if message not in requests:
        raise ValueError(f"unknown request {message!r}")
    return typing.cast(Request, from_json(requests[message], content))


def dumps_response(operation: str, response: Response) -> str:
    """Return one line of JSON. Messages are named as in the specification: ``RawQueryResponse::Success``."""
    outcome = "Success" if isinstance(response, OPERATIONS[operation][1]) else type(response).__name__
    return _envelope(f"{operation}Response::{outcome}", response)


def loads_response(text: str) -> Response:
    """Return the response in a line of JSON.

    :raises ValueError: the text is not a response of this protocol version.
    """
    message, content = _open(text)
    of, _, outcome = message.partition("Response::")
    outcomes: dict[str, type[Any]] = {}
    if of in OPERATIONS:
        outcomes = {c.__name__: c for c in (Progress, InvalidQuery, InternalError)} | {"Success": OPERATIONS[of][1]}
    if outcome not in outcomes:
        raise ValueError(f"unknown response {message!r}")
    return typing.cast(Response, from_json(outcomes[outcome], content))


def _envelope(message: str, content: object) -> str:
    return json.dumps({"protocolVersion": VERSION, "message": message, "content": to_json(content)}, ensure_ascii=False)


def _open(text: str) -> tuple[str, Any]:
    try:
        envelope = json.loads(text)
    except RecursionError:
        raise ValueError("a message is nested too deeply") from None
    if not isinstance(envelope, dict):
        raise ValueError(f"a message must be an object, not {type(envelope).__name__}")
    if envelope.get("protocolVersion") != VERSION:
        raise ValueError(
            f"protocol version {envelope.get('protocolVersion')} does not match {VERSION}: "
            "install the same release of the provider on Airflow workers and on Spark"
        )
    message = envelope.get("message")
    if not isinstance(message, str):
        raise ValueError(f"unknown message {message!r}")
    return message, envelope.get("content")

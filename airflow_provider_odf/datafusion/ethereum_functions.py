"""Functions of the reference implementation for logs of Ethereum, in DataFusion.

``eth_event_selector(signature)`` is the first topic of an event's logs. ``eth_decode_event(signature, topic0, topic1,
topic2, topic3, data)`` is a decoded log as a JSON object, ``eth_try_decode_event`` null for a log of another event.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_odf.ethereum_events import Event, as_json

if TYPE_CHECKING:
    from datafusion import SessionContext


def register(context: SessionContext) -> None:
    """Register the functions in a session."""
    from datafusion import udf

    log = [pa.string(), *[pa.binary()] * 5]
    context.register_udf(udf(_selectors, [pa.string()], pa.binary(), "immutable", "eth_event_selector"))
    context.register_udf(udf(_decoded, log, pa.string(), "immutable", "eth_decode_event"))
    context.register_udf(udf(_decoded_or_null, log, pa.string(), "immutable", "eth_try_decode_event"))


def _selectors(signatures: pa.Array) -> pa.Array:
    return pa.array([s and Event.parse(s).selector for s in signatures.to_pylist()], pa.binary())


def _decoded(*columns: pa.Array) -> pa.Array:
    return pa.array([_json(*row) for row in zip(*(c.to_pylist() for c in columns), strict=True)], pa.string())


def _decoded_or_null(*columns: pa.Array) -> pa.Array:
    def value(signature: str, *parts: bytes | None) -> str | None:
        Event.parse(signature)  # an invalid signature is an error
        try:
            return _json(signature, *parts)
        except ValueError:
            return None

    return pa.array([value(*row) for row in zip(*(c.to_pylist() for c in columns), strict=True)], pa.string())


def _json(signature: str, *parts: bytes | None) -> str:
    *topics, data = parts
    event = Event.parse(signature)
    values = event.decode([topic for topic in topics if topic is not None], data or b"")
    content = {"name": event.name, **{p.name: values[p.name] for p in event.parameters}}
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, default=as_json)

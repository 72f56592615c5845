"""A Spark session that need not exist: some requests are answered without, and Spark takes seconds to start."""

from __future__ import annotations

from typing import TypeVar

from airflow_provider_odf.protocol import MergeRequest

Value = TypeVar("Value")


class NeedsSpark(Exception):
    """The request cannot be answered without Spark."""


def may_use_arrow(request: MergeRequest) -> bool:
    """Whether Arrow may read the inputs of a merge. The columns and values of each decide."""
    return request.spark != "always" and request.preprocess is None and request.read.format.columnar is not None


def required(value: Value | None) -> Value:
    """Return a session, or a result that can only be had without one.

    :raises NeedsSpark: there is none.
    """
    if value is None:
        raise NeedsSpark
    return value

"""A Spark session that need not exist: some requests are answered without, and Spark takes seconds to start."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


class NeedsSpark(Exception):
    """The request cannot be answered without Spark."""


def required(value: Value | None) -> Value:
    """Return a session, or a result that can only be had without one.

    :raises NeedsSpark: there is none.
    """
    if value is None:
        raise NeedsSpark
    return value

"""Mask values of columns that a contract classifies as sensitive."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

MASKED = "***"
"""What is shown in place of a value of a sensitive column."""


def masked(row: Mapping[str, Any], sensitive: Collection[str]) -> dict[str, Any]:
    """Return a row with the values of sensitive columns masked; nulls stay.

    :param sensitive: names of columns in lower case.

    >>> masked({"id": 1, "Mail": "a@b.org", "phone": None}, {"mail", "phone"})
    {'id': 1, 'Mail': '***', 'phone': None}
    """
    if not sensitive:
        return dict(row)
    return {n: MASKED if value is not None and n.lower() in sensitive else value for n, value in row.items()}

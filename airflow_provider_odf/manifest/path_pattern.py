"""Pattern of ``eventTime: FromPath``: a regular expression for a time in the path of a file."""

from __future__ import annotations

from typing import Any, TypeAlias

Pattern: TypeAlias = Any
"""Pattern of the ``regex`` package, which has no types."""


def compiled(pattern: str) -> Pattern:
    """Return the regular expression of a pattern. Groups may also be named as in Java and ECMAScript.

    :raises ValueError: the pattern is not a regular expression.
    """
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as e:
        raise ValueError(str(e)) from None

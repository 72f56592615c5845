"""Patterns of dates and times: Java's (``yyyy-MM-dd``), or strftime's where there is a ``%``, as Java's."""

from __future__ import annotations

import re

RFC3339 = "rfc3339"
"""The one format that the specification names."""

_DIRECTIVE = re.compile(r"%(\.?[369]?f|:?z|#z|[A-Za-z%+])|([A-Za-z'\[\]{}#]+)")
_JAVA = {
    "Y": "yyyy",
    "y": "yy",
    "m": "MM",
    "d": "dd",
    "b": "MMM",
    "h": "MMM",
    "B": "MMMM",
    "a": "EEE",
    "A": "EEEE",
    "j": "DDD",
    "H": "HH",
    "I": "hh",
    "M": "mm",
    "S": "ss",
    "p": "a",
    "f": "SSSSSS",
    "3f": "SSS",
    "6f": "SSSSSS",
    "9f": "SSSSSSSSS",
    ".f": "[.SSSSSSSSS][.SSSSSS][.SSS]",
    ".3f": ".SSS",
    ".6f": ".SSSSSS",
    ".9f": ".SSSSSSSSS",
    "z": "xx",
    ":z": "xxx",
    "#z": "[xxx][xx][x]",
    "F": "yyyy-MM-dd",
    "T": "HH:mm:ss",
    "R": "HH:mm",
    "D": "MM/dd/yy",
    "%": "%",
    "n": "\n",
    "t": "\t",
}


def java_pattern(pattern: str) -> str:
    """The Java pattern of a pattern in either notation; ``rfc3339`` stays.

    >>> java_pattern("%d.%m.%Y at %H:%M")
    "dd.MM.yyyy 'at' HH:mm"

    :raises ValueError: a strftime directive that Java has no letters for.
    """
    if pattern.lower() == RFC3339 or pattern == "%+":
        return RFC3339
    return _DIRECTIVE.sub(_java, pattern) if "%" in pattern else pattern


def _java(match: re.Match[str]) -> str:
    directive, literal = match.groups()
    if directive is None:
        return "'" + literal.replace("'", "''") + "'"
    if directive not in _JAVA:
        raise ValueError(f"%{directive} has no counterpart in Java's patterns")
    return _JAVA[directive]

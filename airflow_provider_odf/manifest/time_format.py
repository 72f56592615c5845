"""Patterns of dates and times: Java's (``yyyy-MM-dd``), or strftime's where there is a ``%``, as Java's.

``%y`` stays as it is: Java has no letters for a year of two digits from 1969 to 2068. Its ``yy`` is 2000 to 2099.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

RFC3339 = "rfc3339"
"""The one format that the specification names."""

_DIRECTIVE = re.compile(r"%(\.?[369]?f|:?z|#z|[A-Za-z%+])|([A-Za-z'\[\]{}#]+)")
_PART = re.compile(r"'(?:[^']|'')*'|%y(?!y)|([A-Za-z])\1*|['{}#\[\]]")
COMPOSITES = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%h": "%b", "%n": "\n", "%t": "\t"}
"""Directives that stand for others."""
_COMPOSITE = re.compile("%%|" + "|".join(COMPOSITES))
_BEFORE = re.compile(r"(?:\d|%[.:#]?[369]?[A-Za-z])\Z")
_SHORT = "mdHIMS"
"""Directives of two digits that read one as well, where no digit can stand beside them."""
_COUNTS = {
    **dict.fromkeys("dHhKkms", range(1, 3)),
    **dict.fromkeys("GMLz", range(1, 5)),
    **dict.fromkeys("XxZ", range(1, 6)),
    **dict.fromkeys("Ov", (1, 4)),
    "y": range(1, 7),
    "D": range(1, 4),
    "S": range(1, 10),
    "g": range(1, 20),
    "a": (1,),
    "V": (2,),
}
"""The letters that Spark reads, and how many of them in a row."""
_JAVA = {
    "Y": "yyyy",
    "y": "%y",
    "m": "MM",
    "d": "dd",
    "b": "MMM",
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
    "%": "%",
}


def java_pattern(pattern: str) -> str:
    """The Java pattern of a pattern in either notation; ``rfc3339`` stays.

    >>> java_pattern("%d.%m.%Y at %H:%M")
    "dd.MM.yyyy 'at' HH:mm"

    :raises ValueError: a strftime directive that Java has no letters for, or a pattern that Spark does not read.
    """
    if pattern.lower() == RFC3339 or pattern == "%+":
        return RFC3339
    java = _DIRECTIVE.sub(_java, plain(pattern)) if "%" in pattern else pattern
    for reason in _mistakes(java):
        raise ValueError(f"{pattern!r} is not a format of times: {reason}")
    return java


def plain(pattern: str) -> str:
    """A strftime pattern with its composite directives written out."""
    return _COMPOSITE.sub(lambda match: COMPOSITES.get(match.group(), match.group()), pattern)


def _mistakes(java: str) -> Iterator[str]:
    """Why Spark does not read times by a Java pattern."""
    runs = [match.group() for match in _PART.finditer(java)]
    letters = {run[0] for run in runs}
    if "Y" in letters:
        yield "Y is the year of a week, which Spark does not read; the year is y"
    if {"D", "M"} <= letters:
        yield "D is the day of the year; the day of the month is d"
    for run in runs:
        if run in ("{", "}", "#"):
            yield f"{run} must be in quotes: '{run}'"
        elif run == "'":
            yield "a quote is never closed"
        elif run[0].isalpha() and len(run) not in _COUNTS.get(run[0], ()):
            known = run[0] in _COUNTS
            yield f"{run} has too many letters or too few" if known else f"Spark does not read {run[0]}"
    if runs.count("]") > runs.count("["):
        yield "a ] without its ["


def _java(match: re.Match[str]) -> str:
    directive, literal = match.groups()
    if directive is None:
        return "'" + literal.replace("'", "''") + "'"
    if directive not in _JAVA:
        raise ValueError(f"%{directive} has no counterpart in Java's patterns")
    touches = _BEFORE.search(match.string[: match.start()]) or re.match(r"\d|%(?!%)", match.string[match.end() :])
    is_short = directive in _SHORT and not touches
    return _JAVA[directive][0] if is_short else _JAVA[directive]

"""Patterns of dates and times: Java's (``yyyy-MM-dd``), and strftime's (``%Y-%m-%d``) as Java's.

``%y`` is not translated: Java has no letters for a two-digit year from 1969 to 2068. Its ``yy`` is 2000 to 2099.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_odf.read_steps import POSIX_YEAR, RFC3339

_DIRECTIVE = re.compile(r"%(\.?[369]?f|:?z|#z|[A-Za-z%+])|([A-Za-z'\[\]{}#]+)")
_PART = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>(?P<letter>[A-Za-z])(?P=letter)*)|(?P<sign>.)", re.DOTALL)
COMPOSITES = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%h": "%b", "%n": "\n", "%t": "\t"}
"""Directives that are short for others."""
_COMPOSITE = re.compile("%%|" + "|".join(COMPOSITES))
_BEFORE = re.compile(r"(?:\d|%[.:#]?[369]?[A-Za-z])\Z")
_SHORT = "mdHIMS"
"""Two-digit directives that also accept one digit, if no digit can precede or follow them."""
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
"""Letters that Spark reads, with their allowed numbers of repetitions."""
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
    """Return the Java pattern of a pattern in either notation; ``rfc3339`` stays.

    >>> java_pattern("%d.%m.%Y at %H:%M")
    "dd.MM.yyyy 'at' HH:mm"

    :raises ValueError: Java has no letters for a strftime directive, or Spark cannot read the pattern.
    """
    if pattern.lower() == RFC3339 or pattern == "%+":
        return RFC3339
    java = _DIRECTIVE.sub(_java, plain(pattern)) if "%" in pattern else pattern
    for reason in _mistakes(java):
        raise ValueError(f"{pattern!r} is not a time format: {reason}")
    return java


def plain(pattern: str) -> str:
    """Return a strftime pattern with its composite directives written out."""
    return _COMPOSITE.sub(lambda match: COMPOSITES.get(match.group(), match.group()), pattern)


@dataclass(frozen=True)
class Part:
    """Part of a Java pattern: a run of one letter, a text in quotes, or a sign."""

    letters: str = ""
    quoted: str | None = None
    sign: str = ""

    @property
    def text(self) -> str:
        """Return the text that a part without letters matches; two quotes are one."""
        return self.sign if self.quoted is None else self.quoted.replace("''", "'") or "'"


def parts(java: str) -> Iterator[Part]:
    """Yield the parts of a Java pattern. The sign ``'`` is a quote that is never closed."""
    for match in _PART.finditer(java):
        yield Part(match["letters"] or "", match["quoted"], match["sign"] or "")


def _mistakes(java: str) -> Iterator[str]:
    """Yield the reasons why Spark cannot read times by a Java pattern."""
    all_parts = list(parts(POSIX_YEAR.sub("", java)))
    letters = {part.letters[:1] for part in all_parts}
    signs = [part.sign for part in all_parts]
    if "Y" in letters:
        yield "Y is the year of a week, which Spark does not read; the year is y"
    if {"D", "M"} <= letters:
        yield "D is the day of the year; the day of the month is d"
    for part in all_parts:
        yield from _mistake(part)
    if signs.count("]") > signs.count("["):
        yield "`]` without `[`"


def _mistake(part: Part) -> Iterator[str]:
    run = part.letters
    if part.sign and part.sign in "{}#":
        yield f"{part.sign} must be in quotes: '{part.sign}'"
    elif part.sign == "'":
        yield "a quote is never closed"
    elif run and len(run) not in _COUNTS.get(run[0], ()):
        yield f"{run} has too many letters or too few" if run[0] in _COUNTS else f"Spark does not read {run[0]}"


def _java(match: re.Match[str]) -> str:
    directive, literal = match.groups()
    if directive is None:
        return "'" + literal.replace("'", "''") + "'"
    if directive not in _JAVA:
        raise ValueError(f"%{directive} has no counterpart in Java's patterns")
    touches = _BEFORE.search(match.string[: match.start()]) or re.match(r"\d|%(?!%)", match.string[match.end() :])
    is_short = directive in _SHORT and not touches
    return _JAVA[directive][0] if is_short else _JAVA[directive]

"""Times in texts by a pattern: Java's (``yyyy-MM-dd HH:mm``), strftime's (``%Y-%m-%d``) or the word ``rfc3339``.

`java_pattern` is what Spark gets, and `parse` reads times here. Java patterns have the common meaning of
``java.time.format.DateTimeFormatter`` and ``java.text.SimpleDateFormat``, with English names. ``%y`` is not translated:
Java has no letters for a two-digit year from 1969 to 2068. Its ``yy`` is 2000 to 2099. A time without a zone is in UTC.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.read_steps import POSIX_YEAR, RFC3339

DEFAULT_PATTERN = "yyyy-MM-dd"
"""Pattern of times in paths."""

Pattern: TypeAlias = Any
"""Pattern of the ``regex`` package, which has no types."""

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
    "Y": "yyyy", "y": "%y", "m": "MM", "d": "dd", "b": "MMM", "B": "MMMM", "a": "EEE", "A": "EEEE", "j": "DDD",
    "H": "HH", "I": "hh", "M": "mm", "S": "ss", "p": "a", "f": "SSSSSS", "3f": "SSS", "6f": "SSSSSS", "9f": "SSSSSSSSS",
    ".f": "[.SSSSSSSSS][.SSSSSS][.SSS]", ".3f": ".SSS", ".6f": ".SSSSSS", ".9f": ".SSSSSSSSS",
    "z": "xx", ":z": "xxx", "#z": "[xxx][xx][x]", "%": "%",
}  # fmt: skip
"""Directives of strftime in Java's letters."""
_MONTHS = [name.lower() for name in calendar.month_abbr]
_FULL_MONTHS = [name.lower() for name in calendar.month_name]
_LONGEST = {"y": 4, "u": 4, "M": 2, "L": 2, "d": 2, "D": 3, "H": 2, "h": 2, "m": 2, "s": 2}
_WORDS = {"a": r"[AaPp][Mm]", **dict.fromkeys("XxZz", r"(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)")}


def java_pattern(pattern: str) -> str:
    """Return the Java pattern of a pattern in either notation; ``rfc3339`` stays.

    >>> java_pattern("%d.%m.%Y at %H:%M")
    "d.M.yyyy 'at' H:m"

    :raises ValueError: Java has no letters for a strftime directive, or Spark cannot read the pattern.
    """
    if pattern.lower() in (RFC3339, "%+"):
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


# --- reading times ----------------------------------------------------------------------------------------------


def parse(text: str, pattern: str = DEFAULT_PATTERN) -> Instant:
    """Return the time in a text by a pattern.

    >>> str(parse("2 May 2024", "d MMM yyyy"))
    '2024-05-02T00:00:00Z'

    :raises ValueError: the text does not match the pattern, or the pattern is not valid.
    """
    if pattern.lower() in (RFC3339, "%+"):
        return Instant.parse(text)
    try:
        if "%" not in pattern:
            return _by_letters(text, pattern)
        moment = datetime.strptime(text, plain(pattern))  # noqa: DTZ007 - what has no zone is in UTC
        return Instant.from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except OverflowError:
        raise ValueError(f"{text!r} is not within the years 1 to 9999") from None


def _by_letters(text: str, pattern: str) -> Instant:
    tokens = list(_tokens(pattern))
    match = re.fullmatch("".join(regex for regex, _ in tokens), text)
    if match is None:
        raise ValueError(f"{text!r} does not have the form {pattern}")
    letters = [letter for _, letter in tokens if letter]
    return _assemble(dict(zip(letters, match.groups(), strict=True)))


def regex(pattern: str) -> str:
    """Return a regular expression for the texts that have the form of a Java pattern.

    :raises ValueError: the pattern has unsupported letters.
    """
    return "".join(part for part, _ in _tokens(pattern))


def check(pattern: str) -> None:
    """Check a pattern.

    :raises ValueError: the pattern has unsupported letters.
    """
    if pattern.lower() in (RFC3339, "%+"):
        return
    if "%" not in pattern:
        list(_tokens(pattern))
        return
    try:
        datetime.strptime("", plain(pattern))  # noqa: DTZ007 - only the pattern matters
    except ValueError as e:
        if "format" in (message := str(e)) and "time data" not in message:
            raise


def _tokens(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield the regular expression of each part of a pattern, and its letter where it is a field."""
    for part in parts(pattern):
        if part.letters:
            yield f"({_field(part.letters, pattern)})", part.letters[0].replace("u", "y").replace("L", "M")
        else:
            yield re.escape(part.text), ""


def _field(letters: str, pattern: str) -> str:
    letter, count = letters[0], len(letters)
    if letter == "E" or (letter in "ML" and count > 2):
        return r"[A-Za-z]+" if count > 3 else r"[A-Za-z]{3}"
    if letter in _LONGEST:
        return rf"\d{{1,{_LONGEST[letter]}}}" if count == 1 else rf"\d{{{count}}}"
    if letter in "Sn":
        return rf"\d{{{count}}}"
    if letter in _WORDS:
        return _WORDS[letter]
    hint = " (the year is y; Y is the year of a week)" if letter == "Y" else ""
    raise ValueError(f"{pattern!r} is not a time format: {letters!r} is not supported{hint}")


def _assemble(fields: dict[str, str]) -> Instant:
    year, month, day = fields.get("y", "1970"), _month(fields.get("M", "1")), int(fields.get("d", "1"))
    years = int(year) + (2000 if len(year) == 2 else 0)
    moment = datetime(years, month, day, _hour(fields), int(fields.get("m", 0)), int(fields.get("s", 0)), tzinfo=UTC)
    if "D" in fields:
        moment = _day_of_year(moment, int(fields["D"]))
    fraction = int(fields.get("S", "0")[:9].ljust(9, "0")) + int(fields.get("n", "0"))
    return Instant.from_datetime(moment - _offset(fields)).plus_ns(fraction)


def _day_of_year(moment: datetime, day: int) -> datetime:
    if not 1 <= day <= 365 + calendar.isleap(moment.year):
        raise ValueError(f"{day} is not a day of the year {moment.year}")
    return moment.replace(month=1, day=1) + timedelta(days=day - 1)


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    for names in (_MONTHS, _FULL_MONTHS):
        if text.lower() in names:
            return names.index(text.lower())
    raise ValueError(f"{text!r} is not a month")


def _hour(fields: dict[str, str]) -> int:
    hour = int(fields.get("H", fields.get("h", "0")))
    if "a" not in fields:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"{hour} is not an hour of {fields['a']}")
    return hour % 12 + (12 if fields["a"].lower() == "pm" else 0)


def _offset(fields: dict[str, str]) -> timedelta:
    text = next((fields[letter] for letter in "XxZz" if letter in fields), "Z")
    if text[0] not in "+-":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return offset if text[0] == "+" else -offset


def path_pattern(pattern: str) -> Pattern:
    """Return the regular expression for a time in the path of a file. Groups may have names as in Java.

    :raises ValueError: the pattern is not a regular expression.
    """
    import regex as expressions

    try:
        return expressions.compile(pattern)
    except expressions.error as e:
        raise ValueError(str(e)) from None

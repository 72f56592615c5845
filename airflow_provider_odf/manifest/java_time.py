"""Times in texts by a pattern: Java's (``yyyy-MM-dd HH:mm``), strftime's (``%Y-%m-%d``) or the word ``rfc3339``.

Java patterns have the common meaning of ``java.time.format.DateTimeFormatter`` and ``java.text.SimpleDateFormat``, with
English names. A time without a zone is in UTC.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.time_format import parts, plain

DEFAULT_PATTERN = "yyyy-MM-dd"

_MONTHS = [name.lower() for name in calendar.month_abbr]
_FULL_MONTHS = [name.lower() for name in calendar.month_name]
_LONGEST = {"y": 4, "u": 4, "M": 2, "L": 2, "d": 2, "D": 3, "H": 2, "h": 2, "m": 2, "s": 2}
_WORDS = {"a": r"[AaPp][Mm]", **dict.fromkeys("XxZz", r"(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)")}


def parse(text: str, pattern: str = DEFAULT_PATTERN) -> Instant:
    """Return the time in a text by a pattern.

    >>> str(parse("2 May 2024", "d MMM yyyy"))
    '2024-05-02T00:00:00Z'

    :raises ValueError: the text does not match the pattern, or the pattern is not valid.
    """
    if pattern.lower() == "rfc3339":
        return Instant.parse(text)
    try:
        return _by_strftime(text, pattern) if "%" in pattern else _by_letters(text, pattern)
    except OverflowError:
        raise ValueError(f"{text!r} is not within the years 1 to 9999") from None


def _by_strftime(text: str, pattern: str) -> Instant:
    if pattern == "%+":
        return Instant.parse(text)
    moment = datetime.strptime(text, plain(pattern))  # noqa: DTZ007 - what has no zone is in UTC
    return Instant.from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc))


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
    if "%" in pattern:
        _check_strftime(pattern)
    elif pattern.lower() != "rfc3339":
        list(_tokens(pattern))


def _check_strftime(pattern: str) -> None:
    try:
        if pattern != "%+":
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
    year, month, day = _year(fields.get("y", "1970")), _month(fields.get("M", "1")), int(fields.get("d", "1"))
    moment = datetime(
        year, month, day, _hour(fields), int(fields.get("m", 0)), int(fields.get("s", 0)), tzinfo=timezone.utc
    )
    if "D" in fields:
        moment = _day_of_year(moment, int(fields["D"]))
    fraction = int(fields.get("S", "0")[:9].ljust(9, "0")) + int(fields.get("n", "0"))
    return Instant.from_datetime(moment - _offset(fields)).plus_ns(fraction)


def _day_of_year(moment: datetime, day: int) -> datetime:
    if not 1 <= day <= 365 + calendar.isleap(moment.year):
        raise ValueError(f"{day} is not a day of the year {moment.year}")
    return moment.replace(month=1, day=1) + timedelta(days=day - 1)


def _year(text: str) -> int:
    return 2000 + int(text) if len(text) == 2 else int(text)


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

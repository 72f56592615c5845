"""Texts for people: numbers, suggestions and lengths in messages, and tables in logs and pipes."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

LONGEST = 2000
"""Maximum length of a message in characters."""

_LISTED = 20
_GAP = " " * 3


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 record``, ``1,200 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Return a text with its control and direction characters escaped.

    >>> printable("a\u202eb")
    'a\\u202eb'
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def bounded(text: str) -> str:
    """Return the text, without its middle if it is longer than `LONGEST`."""
    if len(text) <= LONGEST:
        return text
    start, end = LONGEST * 3 // 4, LONGEST // 4
    return f"{text[:start]} … ({counted(len(text) - start - end, 'character')} left out) … {text[-end:]}"


_VERBS = {"+A": "added", "-R": "retracted", "+C": "corrected"}
"""Operation -> what it does to a row; ``-C`` is the other half of ``+C``."""


def changed(counts: Mapping[str, int]) -> str:
    """Return numbers of records by operation in words: ``3 rows added, 1 row corrected``."""
    words = [f"{counted(counts[sign], 'row')} {verb}" for sign, verb in _VERBS.items() if counts.get(sign)]
    return ", ".join(words) or "no rows changed"


def listed(names: Sequence[str]) -> str:
    """Return names for a message: ``a, b, c and 980 more``, or ``none``."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}" or "none"


def nearest(word: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word that is most similar, ignoring case, ``_`` and ``-``; with ``cutoff`` 1 only an equal
    one."""
    folded = {_fold(k): k for k in known}
    matches = difflib.get_close_matches(_fold(str(word)), folded, n=1, cutoff=cutoff)
    return folded[matches[0]] if matches else None


def suggestion(word: object, known: Sequence[str]) -> str:
    """Return ``did you mean …?``, or the known words if none is similar."""
    near = nearest(word, known)
    return f"did you mean `{near}`?" if near else f"known: {listed(known)}"


def _fold(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


def table(names: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; a cell may have several lines, and is not cut."""
    widths = [max(map(_width, column)) for column in zip(names, *cells, strict=True)]
    yield from _table_lines(names, widths)
    yield "─" * (sum(widths) + len(_GAP) * max(0, len(widths) - 1))
    for row in cells:
        yield from _table_lines(row, widths)


def _table_lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row, as many as its longest cell has."""
    for parts in zip_longest(*(_split(cell) for cell in row), fillvalue=""):
        yield _GAP.join(part + " " * (width - _width(part)) for part, width in zip(parts, widths, strict=True)).rstrip()


def _split(cell: str) -> list[str]:
    return [cell] if cell.isprintable() else cell.expandtabs().splitlines()


def _width(cell: str) -> int:
    """Return the width of a cell on a terminal."""
    if cell.isascii() and cell.isprintable():
        return len(cell)
    from rich.cells import cell_len

    return max(map(cell_len, _split(cell)), default=0)


def cell(value: object) -> str:
    """Return a JSON value as the text of a cell in a table or a CSV file; null is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if type(value) in (int, float) else json.dumps(value, ensure_ascii=False)

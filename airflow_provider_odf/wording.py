"""Numbers, suggestions and lengths in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LONGEST = 2000
"""Maximum length of a message in characters."""

_LISTED = 20


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

"""The words of a query with their positions. A quoted text or a comment is one word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<sign>->>|->|::|<=|>=|<>|!=|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Word:
    """A word of a query.

    ``kind`` is text, quoted, name, number or sign. ``start`` and ``end`` are positions in the query.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str | None:
        """The identifier without quotes; None for other words."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text if self.kind == "name" else None

    def is_word(self, *words: str) -> bool:
        """Whether the word is one of these keywords, in upper case, or signs."""
        return self.kind in ("name", "sign") and self.text.upper() in words


def words(query: str) -> Iterator[Word]:
    """Yield the words of a query in order, without white space and comments."""
    for match in _WORD.finditer(query):
        if match.lastgroup and match.lastgroup != "space":
            yield Word(match.lastgroup, match[0], match.start(), match.end())


def find(query: str, name: str) -> int | None:
    """Return the position of an identifier in a query, or None. ``name`` may be `table.column`."""
    parts = [word.name or word.text for word in words(name) if word.text != "."]
    last = parts[-1] if parts else name
    same = [word for word in words(query) if word.name is not None and word.name.lower() == last.lower()]
    exact = [word for word in same if word.name == last]
    return next((word.start for word in exact or same), None)


def line_and_column(query: str, position: int) -> tuple[int, int]:
    """Return the line and the column of a position in a query, both from 1."""
    before = query[:position]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

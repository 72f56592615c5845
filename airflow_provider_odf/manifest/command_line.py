"""Command lines as lists in a manifest, which no shell reads."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable

_PLAIN = re.compile(r"\.|-{0,2}(?:\.{0,2}/)?[A-Za-z_/][\w./=+-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
"""Texts that YAML reads as another type."""

_OF_A_SHELL = frozenset("();<>|&")


def listed(line: str) -> str:
    """Return a command line as a YAML list with one item per word; a command that needs a shell becomes an argument of
    one.

    >>> listed("jq -c ."), listed("grep -v '^#' | head -n 5")
    ('[jq, -c, .]', '[sh, -c, "grep -v \'^#\' | head -n 5"]')
    """
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:  # a quote is not closed
        words = line.split()
    if any(_OF_A_SHELL.issuperset(word) for word in words if word):
        words = ["sh", "-c", line]
    return f"[{', '.join(_items(words))}]"


def _items(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        is_plain = _PLAIN.fullmatch(word) and word.lower() not in _WORDS
        yield word if is_plain else json.dumps(word, ensure_ascii=False)

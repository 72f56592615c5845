"""Convert the ECMA-262 regular expressions of contracts to the Java ones of Spark.

Only syntax that both dialects accept with different meanings is rewritten. Two differences remain: in Java, ``\\s`` is
ASCII only, and ``.`` also stops at U+0085.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPE = r"\\[pPu]\{[^}]*\}|\\."
_GROUP = r"\(\?(?:<?[=!]|<\w+>|[a-z-]*:|[a-z-]+\))"  # flags exist only in Java
_QUANTIFIER = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??"
_OUTSIDE = re.compile(rf"{_ESCAPE}|\[\^\]|\[\]|\[\^?|\$|{_GROUP}|{_QUANTIFIER}|.", re.DOTALL)
_INSIDE = re.compile(rf"{_ESCAPE}|\]|\[|&&|.", re.DOTALL)
_ESCAPES = {r"\0": r"\x00", r"\v": r"\x0B"}
_JAVA_OUTSIDE = _ESCAPES | {"$": r"\z", "[^]": r"[\s\S]", "[]": "(?!)", "{": r"\{"}
_JAVA_INSIDE = _ESCAPES | {"[": r"\[", "&&": r"&\&"}
_ASSERTIONS = ("^", "$", r"\b", r"\B")
_CLOSING = {"(": ")", "[": "]"}


class _Token(NamedTuple):
    text: str
    at: int
    in_class: bool
    """Whether the token is inside the brackets of a class. The opening bracket is not."""

    @property
    def is_quantifier(self) -> bool:
        return not self.in_class and (self.text[0] in "*+?" or (self.text[0] == "{" and len(self.text) > 1))


def to_java(pattern: str) -> str:
    r"""Return the Java pattern with the matches of the ECMA-262 one.

    >>> to_java(r"^[[a&&]$")
    '^[\\[a&\\&]\\z'
    """
    return "".join((_JAVA_INSIDE if t.in_class else _JAVA_OUTSIDE).get(t.text, t.text) for t in _tokens(pattern))


def check(pattern: str) -> None:
    """Check the syntax of a pattern.

    :raises ValueError: an unmatched bracket, or nothing before a quantifier, with the place.
    """
    can_repeat = False
    for token in _tokens(pattern):
        if token.text == "\\":
            raise ValueError(f"it ends with a backslash: {_shown(pattern, token.at)}")
        if token.is_quantifier and not can_repeat:
            raise ValueError(f"nothing to repeat: {_shown(pattern, token.at)}")
        is_atom = token.in_class or not (token.text[0] in "(|" or token.text in _ASSERTIONS)
        can_repeat = is_atom and not token.is_quantifier
    _check_brackets(pattern)


def _check_brackets(pattern: str) -> None:
    opened: list[_Token] = []
    for token in _tokens(pattern):
        if token.in_class:
            if token.text == "]":
                opened.pop()
        elif token.text in ("[", "[^") or (token.text[0] == "(" and token.text[-1] != ")"):
            opened.append(token)
        elif token.text == ")":
            if not opened:
                raise ValueError(f"a ) without its (: {_shown(pattern, token.at)}")
            opened.pop()
    if opened:
        bracket = opened[-1].text[0]
        raise ValueError(f"a {bracket} without its {_CLOSING[bracket]}: {_shown(pattern, opened[-1].at)}")


def _tokens(pattern: str) -> Iterator[_Token]:
    in_class, at = False, 0
    while match := (_INSIDE if in_class else _OUTSIDE).match(pattern, at):
        text = match.group()
        yield _Token(text, at, in_class)
        at = match.end()
        in_class = text != "]" if in_class else text in ("[", "[^")


def _shown(pattern: str, at: int) -> str:
    return f"character {at + 1} of {pattern}"

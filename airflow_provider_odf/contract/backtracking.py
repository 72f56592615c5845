"""The time that matching a regular expression by backtracking could take, in every dialect that Java resembles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPE = r"\\[pPu]\{[^}]*\}|\\."
_GROUP = r"\(\?(?:<?[=!]|<\w+>|>|[a-zA-Z-]*:|[a-zA-Z-]+\))"
_QUANTIFIER = r"(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?"
_OUTSIDE = re.compile(rf"{_ESCAPE}|\[\^\]|\[\]|\[\^?|{_GROUP}|{_QUANTIFIER}|.", re.DOTALL)
_INSIDE = re.compile(rf"{_ESCAPE}|\]|.", re.DOTALL)


TOO_SLOW = (
    "matching this pattern could take exponential time: remove nested repetitions, such as (a+)+, or remove "
    "look-around and references to groups"
)


class _Token(NamedTuple):
    text: str
    in_class: bool
    """Whether the token is inside the brackets of a class. The opening bracket is not."""

    @property
    def is_quantifier(self) -> bool:
        return not self.in_class and (self.text[0] in "*+?" or (self.text[0] == "{" and len(self.text) > 1))


def needs_linear_time(pattern: str) -> bool:
    """Whether backtracking could take a time that is exponential in the length of a text.

    It could if a group is repeated that contains a repetition or alternatives: ``(a+)+``, ``(a|ab)*``.
    """
    branches: list[bool] = [False]
    repeats = False
    for token in _tokens(pattern):
        if token.in_class:
            repeats = repeats and token.text != "]"
        elif token.text[0] == "(" and token.text[-1] != ")":
            branches.append(False)
            repeats = False
        elif token.text == ")":
            repeats = branches.pop() if len(branches) > 1 else False
            branches[-1] = branches[-1] or repeats
        elif token.is_quantifier:
            is_many = token.text[0] in "*+" or bool(re.match(r"\{\d+,\d*\}|\{\d{2,}", token.text))
            if repeats and is_many:
                return True
            branches[-1] = branches[-1] or is_many
            repeats = False
        else:
            branches[-1] = branches[-1] or token.text == "|"
            repeats = False
    return False


def _tokens(pattern: str) -> Iterator[_Token]:
    in_class, at = False, 0
    while match := (_INSIDE if in_class else _OUTSIDE).match(pattern, at):
        text = match.group()
        yield _Token(text, in_class)
        at = match.end()
        in_class = text != "]" if in_class else text in ("[", "[^")
